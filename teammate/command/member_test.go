//go:build unix

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/transcript"
	"github.com/coveyteam/covey/teammate/workspace"
)

// gates is a hook runner that refuses each gate once.
type gates struct {
	mu    sync.Mutex
	asked map[hooks.Event]int
}

func (g *gates) Run(ctx context.Context, in hooks.Input, _ func(hooks.Progress)) (hooks.Outcome, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	event := in.Payload.Event()
	out := hooks.Outcome{Event: event, Decision: hooks.Pass}
	g.asked[event]++
	switch event {
	case hooks.Stop, hooks.TaskCompleted, hooks.TeammateIdle:
		if g.asked[event] == 1 {
			text := "not yet, says " + string(event)
			out.Decision, out.Feedback, out.Messages = hooks.Block, []string{text}, []string{text}
		}
	}
	return out, ctx.Err()
}

// office is the inbox, the task list and the journal of one member.
type office struct {
	turns int // still to be given

	mu     sync.Mutex
	events []events.Data
}

func (o *office) Next(ctx context.Context) (teammate.Work, error) {
	if o.turns--; o.turns < 0 {
		return teammate.Work{}, io.EOF
	}
	in := agent.Input{Kind: agent.FromMail, Text: "work", MessageID: fmt.Sprint("m", o.turns)}
	return teammate.Work{Cause: events.ByMessage, Inputs: []agent.Input{in}}, ctx.Err()
}

func (o *office) Waiting(context.Context) ([]agent.Input, error) { return nil, nil }
func (o *office) Taken(context.Context, []string) error          { return nil }

func (o *office) InProgress(context.Context, string) ([]tasks.Task, error) {
	return []tasks.Task{{ID: "1", Subject: "s", Status: tasks.InProgress}}, nil
}

func (o *office) sink(e events.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, e.Data)
}

// member makes a real member of the rig's agent.
func (r *rig) member(tb testing.TB, g *gates, o *office) *teammate.Teammate {
	tb.Helper()
	file, history, err := transcript.Open(filepath.Join(r.dir, "t.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { file.Close() })
	r.opts.History = history
	m, err := teammate.New(teammate.Options{
		Name: "api", Team: "crew", Kind: "command", Agent: r.start(tb), Hooks: g, Tasks: o, Inbox: o, Sink: o.sink,
		SessionID: "api", Transcript: file, History: &history, Workdir: workspace.NewWorkdir(r.dir),
		Rights: permission.NewRights(permission.Policy{Mode: "default"}, nil), Limits: teammate.Limits{StopBlockCap: 8},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// A member with a command agent passes three gates, each of which refuses once:
// each refusal is a run of the program, in its session.
func TestMemberPassesGates(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{"read", "file " + testdata(t, "codex.jsonl")})
	r.opts.Resume = []string{"resume", "{session}"}
	g, o := &gates{asked: map[hooks.Event]int{}}, &office{turns: 1}
	if err := r.member(t, g, o).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var prompts []string
	for _, s := range r.starts(t) {
		prompts = append(prompts, s.Stdin)
	}
	// A refusal of Stop skips the two others, which come together then.
	if len(prompts) != 3 || prompts[0] != "work" || !strings.Contains(prompts[1], "not yet, says Stop") ||
		!strings.Contains(prompts[2], "says TaskCompleted") || !strings.Contains(prompts[2], "says TeammateIdle") {
		t.Errorf("prompts %q", prompts)
	}
	if g.asked[hooks.PostToolUse] != 9 || g.asked[hooks.PostToolUseFailure] != 6 {
		t.Errorf("asked %v", g.asked)
	}
	counts := map[string]int{}
	for _, e := range o.events {
		counts[e.Type()]++
	}
	if counts["call_detected"] != 15 || counts["turn_ended"] != 1 {
		t.Errorf("events %v", counts)
	}
}

// A member whose covey was told to stop in mid-turn goes on with the turn, also
// if the program had just said something.
func TestMemberGoesOn(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"in a call":    `{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"make"}}`,
		"behind words": `{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"I begin."}}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, life{`print {"type":"thread.started","thread_id":"t1"}`, "print " + line,
				"mark ready", "hang"},
				life{"read", "print done"})
			r.opts.Resume = []string{"resume", "{session}"}
			r.opts.OnSession = func(id string) error { r.opts.Session = id; return nil }
			g := &gates{asked: map[hooks.Event]int{hooks.Stop: 1, hooks.TaskCompleted: 1, hooks.TeammateIdle: 1}}
			ctx, cancel := context.WithCancel(t.Context())
			m := r.member(t, g, &office{turns: 1})
			done := make(chan error, 1)
			go func() { done <- m.Run(ctx) }()
			r.waitFile(t, "ready")
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			r.Agent = nil
			if err := r.member(t, g, &office{}).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			starts := r.starts(t)
			if len(starts) != 2 || starts[1].Args[1] != "t1" || !strings.HasPrefix(starts[1].Stdin,
				transcript.CutNotice) {
				t.Errorf("started with %q", starts)
			}
		})
	}
}

// What was said before a person interrupted the turn stays in the transcript.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	r := newRig(t, life{`print {"type":"thread.started","thread_id":"t1"}`,
		`print {"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"I begin."}}`, "mark ready", "hang"})
	r.start(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { _, err := r.Run(ctx, goPrompt(), r.host); done <- err }()
	r.waitFile(t, "ready")
	cancel(fmt.Errorf("%w: enough", agent.ErrInterrupted))
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	r.host.wants("assistant: I begin.")
}
