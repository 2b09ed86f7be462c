//go:build unix

package builtin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/transcript"
)

// copyTo copies the member's transcripts in their current state, which is the state
// after a kill.
func (m *member) copyTo(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(m.path)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	folder := strings.TrimSuffix(m.path, ".jsonl")
	if _, missing := os.Stat(folder); err == nil && missing == nil {
		err = os.CopyFS(strings.TrimSuffix(path, ".jsonl"), os.DirFS(folder))
	}
	if err != nil {
		t.Error(err)
	}
}

// After a crash during a helper, at any event, the call is reported as interrupted, the
// helper does not start again, and the tokens it has used count.
func TestHelperKilledAtAnyMoment(t *testing.T) {
	text := asks(doIt, `{call: [{tool: Bash, input: {command: echo x >>made}}]}, {say: done}`)
	whole := newMember(t, text)
	whole.run(t, "go")
	total := len(whole.events)
	if total < 15 {
		t.Fatalf("only %d events", total)
	}
	interrupted := 0
	for kill := 1; kill <= total; kill++ {
		m := newMember(t, text)
		left := filepath.Join(m.dir, "left", "s1.jsonl")
		ctx, cancel := context.WithCancel(t.Context())
		n, begun := 0, false
		m.watch = func(e events.Event) {
			_, started := e.Data.(events.HelperStarted)
			if n++; n <= kill {
				begun = begun || started
			}
			if n == kill {
				m.copyTo(t, left)
				cancel()
			}
		}
		if err := m.live(t, ctx, "go"); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		cancel()
		m.path, m.watch, m.events, m.seen = left, nil, nil, map[string][]string{}
		if err := m.live(t, t.Context(), ""); err != nil {
			t.Fatalf("killed at event %d: %v", kill, err)
		}
		made, err := os.ReadFile(filepath.Join(m.dir, "made"))
		if err != nil && !errors.Is(err, os.ErrNotExist) || strings.Count(string(made), "x") > 1 {
			t.Errorf("killed at event %d: the helper's command ran %d times, %v", kill,
				strings.Count(string(made), "x"), err)
		}
		if begun && len(all[events.HelperStarted](m)) > 0 {
			t.Errorf("killed at event %d: the helper worked again", kill)
		}
		for _, r := range all[events.ToolReturned](m) {
			if r.Name == "Agent" && strings.HasPrefix(r.Content, "interrupted: ") {
				interrupted++
			}
		}
		file, history, err := transcript.Open(left)
		if err != nil {
			t.Fatalf("killed at event %d: %v", kill, err)
		}
		file.Close()
		if history.Cut != nil {
			t.Errorf("killed at event %d: a turn is still open", kill)
		}
	}
	if interrupted < 5 {
		t.Errorf("only %d crashes hit the helper", interrupted)
	}
}

const besideIt = `{description: long work, prompt: do it, run_in_background: true}`

// A helper in the background continues after the turn; its result is the member's next
// prompt.
func TestHelperBeside(t *testing.T) {
	m := newMember(t, asks(besideIt, `{say: "tell </result> and </task-notification>", delay: 50ms}`))
	m.run(t, "go")
	turns := all[events.TurnStarted](m)
	if len(turns) != 2 {
		t.Fatalf("%d turns", len(turns))
	}
	prompt := turns[1].Prompt
	for _, want := range []string{"<task-notification>\n<task-id>a", "<status>completed</status>",
		`<summary>Agent "long work" finished</summary>`, "<result>tell &lt;/result> and",
		"<subagent_tokens>110</subagent_tokens>"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("%s is not in\n%s", want, prompt)
		}
	}
	if n := strings.Count(prompt, "</task-notification>"); n != 1 {
		t.Errorf("the frame ends %d times", n)
	}
	// The first turn ended before the helper, so the second reports its tokens.
	ends := all[events.TurnEnded](m)
	if got := ends[0].Usage.InputTokens + ends[1].Usage.InputTokens; got != 400 {
		t.Errorf("%d tokens in %+v", got, ends)
	}
	if m.mate.Helpers() != 0 {
		t.Error("a helper is left")
	}
}

// A member that is stopped stops its helpers. After a restart it gets one report about
// them.
func TestHelperBesideCutOff(t *testing.T) {
	m := newMember(t, asks(besideIt, `{call: [{tool: Bash, input: {command: sleep 100}}]}, {say: never}`))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m.watch = func(e events.Event) {
		if _, ok := e.Data.(events.Idle); ok {
			cancel()
		}
	}
	if err := m.live(t, ctx, "go"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	m.watch = nil
	for life, want := range []int{2, 2} {
		if err := m.live(t, t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		turns := all[events.TurnStarted](m)
		if len(turns) != want {
			t.Fatalf("life %d: %d turns in all, want %d", life+2, len(turns), want)
		}
		if text := turns[len(turns)-1].Prompt; !strings.Contains(text, "was interrupted when covey stopped") {
			t.Errorf("life %d: %s", life+2, text)
		}
	}
}

// An unreachable mailbox and an internal error of a helper are reported to the operator;
// the member continues.
func TestHelperBesideTrouble(t *testing.T) {
	m := newMember(t, asks(besideIt, `{say: hi}`))
	m.cut = func(o *teammate.Options) {
		o.PostNotice = func(context.Context, string, string) error { return errors.New("the store is closed") }
	}
	m.run(t, "go")
	if w := all[events.Warning](m); len(w) != 1 || !strings.Contains(w[0].Text, "the store is closed") {
		t.Errorf("warnings %v", w)
	}
}
