package teammate

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// TestResting: a member whose inbox does not wait for work has one session over all calls
// of Run, and each goes on where the one before it was.
func TestResting(t *testing.T) {
	r := newRig(t)
	r.inbox.rests = true
	m := r.member(t)
	for _, text := range []string{"hello", "again"} {
		r.inbox.work = []Work{{Cause: events.ByMessage, Inputs: []agent.Input{mailed(text, text)}}}
		if err := m.Run(t.Context()); !errors.Is(err, ErrResting) {
			t.Fatalf("Run: %v", err)
		}
	}
	if err := m.Run(t.Context()); !errors.Is(err, ErrResting) { // roused for nothing
		t.Fatalf("Run: %v", err)
	}
	equal(t, "model", r.agent.seen, []string{"user: hello", "assistant: end 1", "user: again", "assistant: end 3"})
	equal(t, "fired", len(r.runner.of(hooks.SessionStart)), 1)
	equal(t, "fired at rest", len(r.runner.of(hooks.SessionEnd)), 0)
	r.inbox.rests = false
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "fired", len(r.runner.of(hooks.SessionStart))+len(r.runner.of(hooks.SessionEnd)), 2)
	equal(t, "started", len(all[events.MemberStarted](r.journal)), 1)
	equal(t, "ended", one[events.MemberEnded](t, r.journal).Reason, "done")
	if err := m.Run(t.Context()); err == nil || errors.Is(err, ErrResting) {
		t.Errorf("Run after the end: %v", err)
	}
}

// TestRestingAfterACut: the turn that a crash cut off is resumed by the first Run alone.
func TestRestingAfterACut(t *testing.T) {
	r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", "Bash", `{}`)}})
	stop, cancel := context.WithCancel(t.Context())
	r.opts.Tools = []agent.Tool{fakeTool{spec: agent.Spec{Name: "Bash"}, run: func(ctx context.Context,
		_ agent.ToolCall) agent.ToolResult {
		return agent.ToolResult{Content: "ran"}
	}}}
	r.agent.script = append(r.agent.script, say{do: func(context.Context) { r.opts.Transcript.Close(); cancel() }})
	_ = r.member(t).Run(stop)
	r.reopen(t)
	if r.opts.History.Cut == nil {
		t.Fatal("no turn counts as cut off")
	}
	r.inbox.rests = true
	m := r.member(t)
	for range 2 {
		if err := m.Run(t.Context()); !errors.Is(err, ErrResting) {
			t.Fatalf("Run: %v", err)
		}
	}
	equal(t, "resumed", len(all[events.TurnStarted](r.journal)), 1)
}

// TestRestingEnds: a member at rest ends by a ctx that is over, with its session.
func TestRestingEnds(t *testing.T) {
	r := newRig(t)
	r.inbox.rests = true
	m := r.member(t)
	over := errors.New("the team ends")
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := m.Run(ctx); !errors.Is(err, ErrResting) {
		t.Fatal(err)
	}
	cancel(over)
	if err := m.Run(ctx); !errors.Is(err, over) {
		t.Errorf("Run: %v", err)
	}
	equal(t, "fired", len(r.runner.of(hooks.SessionEnd)), 1)
	equal(t, "ended", one[events.MemberEnded](t, r.journal).Reason, "stopped")
}

// TestChangesAtRootAfterCd: a member that has gone to another folder hears of changes of a
// name there, and of the one in its root as before.
func TestChangesAtRootAfterCd(t *testing.T) {
	r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", "Bash", `{}`)}}, say{text: "there"})
	root := r.opts.Workdir.Root()
	sub := filepath.Join(root, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	r.opts.Tools = []agent.Tool{fakeTool{spec: agent.Spec{Name: "Bash"}, run: func(context.Context,
		agent.ToolCall) agent.ToolResult {
		r.opts.Workdir.Move(sub)
		return agent.ToolResult{Content: "moved"}
	}}}
	r.inbox.rests = true
	files := workspace.NewWatcher()
	t.Cleanup(func() { _ = files.Close() })
	fired := make(chan string, 8)
	r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
		if p, ok := in.Payload.(hooks.FileChangedInput); ok {
			fired <- p.FilePath + " " + p.Change
		}
		return hooks.Outcome{}, nil
	}
	r.opts.Files = FileWatch{files, func() []string { return []string{".env"} }}
	m := r.member(t)
	if err := m.Run(t.Context()); !errors.Is(err, ErrResting) {
		t.Fatal(err)
	}
	equal(t, "cwd", r.opts.Workdir.Dir(), sub)
	for _, path := range []string{filepath.Join(root, ".env"), filepath.Join(sub, ".env")} {
		put(t, path, "A=1")
		select {
		case got := <-fired:
			equal(t, "heard", got, path+" add")
		case <-time.After(2 * time.Minute):
			t.Fatalf("nobody heard of %s", path)
		}
	}
	r.inbox.rests = false
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestRestingHearsOfFiles: FileChanged hooks fire for a member that rests, and none after
// its end.
func TestRestingHearsOfFiles(t *testing.T) {
	r := newRig(t)
	r.inbox.rests = true
	files := workspace.NewWatcher()
	t.Cleanup(func() { _ = files.Close() })
	fired := make(chan string, 8)
	r.runner.answer = func(_ context.Context, in hooks.Input) (hooks.Outcome, error) {
		if p, ok := in.Payload.(hooks.FileChangedInput); ok {
			fired <- filepath.Base(p.FilePath) + " " + p.Change
		}
		return hooks.Outcome{}, nil
	}
	r.opts.Files.Watcher = files
	r.opts.Files.Names = func() []string { return []string{".env"} }
	m := r.member(t)
	if err := m.Run(t.Context()); !errors.Is(err, ErrResting) {
		t.Fatal(err)
	}
	path := filepath.Join(r.opts.Workdir.Root(), ".env")
	if err := os.WriteFile(path, []byte("A=1"), 0o600); err != nil {
		t.Fatal(err)
	}
	equal(t, "heard", <-fired, ".env add")
	r.inbox.rests = false
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	late := map[string]json.RawMessage{"watchPaths": json.RawMessage(`[".env"]`)}
	m.outside().watchPaths(hooks.Outcome{Output: late})
	if len(fired) > 0 {
		t.Errorf("after its end it heard of %d", len(fired))
	}
}
