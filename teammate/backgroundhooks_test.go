//go:build unix

package teammate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// wakingInbox is an inbox that hooks in the background write to, as the
// orchestrator's mailbox is: it ends when nobody can write any more.
type wakingInbox struct {
	*fakeInbox
	mu      sync.Mutex
	calls   []agent.Input
	pending int // hooks that may wake yet
	more    chan struct{}
}

func newWakingInbox(base *fakeInbox) *wakingInbox {
	return &wakingInbox{fakeInbox: base, more: make(chan struct{}, 100)}
}

// behind is the Options.OnBackgroundHook of its member.
func (b *wakingInbox) behind(p hooks.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case p.Result == nil && p.Background.Rewake:
		b.pending++
	case p.Result != nil:
		if p.Background.Wakes {
			kind := agent.FromContext
			if p.Background.Feedback {
				kind = agent.FromHook
			}
			b.calls = append(b.calls, agent.Input{Kind: kind, Text: strings.Join(p.Background.Messages,
				"\n"), MessageID: p.Background.ID})
		}
		if p.Background.Rewake {
			b.pending--
		}
	}
	b.more <- struct{}{}
}

func (b *wakingInbox) Next(ctx context.Context) (Work, error) {
	for {
		b.mu.Lock()
		calls, pending := b.calls, b.pending
		b.calls = nil
		b.mu.Unlock()
		if len(calls) > 0 {
			return Work{Cause: events.ByHook, Inputs: calls}, nil
		}
		if pending == 0 || len(b.work) > 0 {
			return b.fakeInbox.Next(ctx)
		}
		<-b.more
	}
}

// The recorded host's hook with asyncRewake, through a whole member: the same is
// said to the model, and the turn that it causes goes on from the one before.
func TestConformanceAsyncRewake(t *testing.T) {
	const handler = `{"type":"command","asyncRewake":true,"command":"REC s '{\"seq\": [{\"exit\": 2, \"stderr\": \"rewake text\"}]}'"}`
	r := newRig(t, say{text: "first answer"}, say{text: "second answer"})
	r.inbox.work = []Work{{Cause: events.ByGoal, Inputs: []agent.Input{person("SCRIPT:a please", "goal")}}}
	inbox := newWakingInbox(r.inbox)
	r.opts.Lead, r.opts.Inbox, r.opts.OnBackgroundHook = true, inbox, inbox.behind
	r.opts.Hooks = goldenRunner(t, goldenCase{Name: "rewake",
		Hooks: []byte(`{"Stop":[{"hooks":[` + handler + `]}]}`)})
	r.mustRun(t)
	equal(t, "model", strings.Join(r.agent.seen, "\n"), strings.Join([]string{"user: SCRIPT:a please",
		"assistant: first answer",
		`user: Stop hook feedback:` + "\n" + `[REC s '{"seq": [{"exit": 2, "stderr": "rewake text"}]}']: rewake text`,
		"assistant: second answer"}, "\n"))
	finished := all[events.HookFinished](r.journal)
	if len(finished) != 2 || finished[0].Outcome != "blocking" || finished[1].Outcome != "success" {
		t.Errorf("hooks %+v", finished)
	}
	if heard := one[events.HookFeedback](t, r.journal); heard.Path != "turn_end" ||
		heard.ToolUseID != finished[0].ToolUseID {
		t.Errorf("feedback %+v", heard)
	}
}

// What a turn end's hook says late sets stop_hook_active, and counts on; whatever
// comes along with it starts the count again.
func TestLateRefusals(t *testing.T) {
	found := agent.Input{Kind: agent.FromContext, Text: "<task-notification>", MessageID: "n"} // by a hook of another event
	late := func(id string) agent.Input {
		return agent.Input{Kind: agent.FromHook, Text: "Stop hook feedback:\nno", MessageID: id}
	}
	mail := agent.Input{Kind: agent.FromMail, Text: "hello", MessageID: "m"}
	for _, test := range []struct {
		name   string
		work   [][]agent.Input
		script []say
		active []bool // of each Stop run
		passes int
		end    string // what needs attention; empty: nothing
	}{
		{"one", [][]agent.Input{{mail}, {late("1")}}, nil, []bool{false, true}, 2, ""},
		{"a hook of another event", [][]agent.Input{{mail}, {found}, {{Kind: agent.FromMail, Text: "x",
			MessageID: "x"}}}, nil, []bool{false, true, false}, 3, ""},
		{"which is no refusal", [][]agent.Input{{mail}, {late("1")}, {late("2")}, {found}, {late("3")}}, nil,
			[]bool{false, true, true, true, true}, 5, ""},
		{"as many as may be", [][]agent.Input{{mail}, {late("1")}, {late("2")}}, nil, []bool{false, true,
			true}, 3, ""},
		{"one too many", [][]agent.Input{{mail}, {late("1")}, {late("2")}, {late("3")}}, nil, []bool{false,
			true, true}, 3,
			"the gates refused its turn end 3 times in a row"},
		{"mail between", [][]agent.Input{{mail}, {late("1")}, {late("2")}, {{Kind: agent.FromMail,
			Text: "x", MessageID: "x"}}, {late("3")}},
			nil, []bool{false, true, true, false, true}, 5, ""},
		{"mail along with it", [][]agent.Input{{mail}, {late("1")}, {late("2")}, {late("3"),
			{Kind: agent.FromMail, Text: "x", MessageID: "x"}}},
			nil, []bool{false, true, true, true}, 4, ""},
		{"a tool call between", [][]agent.Input{{mail}, {late("1")}, {late("2")}, {late("3")}},
			[]say{{text: "a"}, {text: "b"}, {calls: []agent.ToolCall{{ID: "c", Name: "Bash",
				Input: []byte(`{}`)}}}, {text: "c"}},
			[]bool{false, true, true, true}, 5, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			script := test.script
			for range 6 {
				script = append(script, say{text: "done"})
			}
			r := newRig(t, script...)
			r.inbox.work = nil
			for _, inputs := range test.work {
				cause := events.ByMessage
				if inputs[0].Kind != agent.FromMail {
					cause = events.ByHook
				}
				r.inbox.work = append(r.inbox.work, Work{Cause: cause, Inputs: inputs})
			}
			r.opts.Limits.StopBlockCap = 2
			r.mustRun(t)
			var active []bool
			for _, in := range r.runner.of(hooks.Stop) {
				active = append(active, in.Payload.(hooks.StopInput).StopHookActive)
			}
			equal(t, "active", fmt.Sprint(active), fmt.Sprint(test.active))
			equal(t, "passes", len(all[events.PassStarted](r.journal)), test.passes)
			attention := all[events.NeedsAttention](r.journal)
			if (len(attention) > 0) != (test.end != "") || test.end != "" && attention[0].Reason != test.end {
				t.Errorf("attention %+v, want %q", attention, test.end)
			}
		})
	}
}

// slowRunner has a hook in the background that does not end by itself.
type slowRunner struct {
	*fakeRunner
	settled []time.Duration // how long each Drain waited
	until   time.Time       // when the hook ends by itself
}

func (s *slowRunner) Drain(ctx context.Context, session string) {
	began := time.Now()
	timer := time.NewTimer(time.Until(s.until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	if session != "s" {
		panic("another session")
	}
	s.settled = append(s.settled, time.Since(began))
}

// A member's end waits for its hooks for five seconds, before its SessionEnd and
// after it; one that is told to stop waits for none.
func TestMemberSettles(t *testing.T) {
	for _, test := range []struct {
		name   string
		takes  time.Duration
		cancel bool
		want   string
	}{
		{"ends by itself", 3 * time.Second, false, "[3s 0s]"},
		{"never ends", time.Hour, false, "[5s 5s]"},
		{"told to stop", time.Hour, true, "[0s 0s]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, say{text: "done"})
			synctest.Test(t, func(t *testing.T) {
				slow := &slowRunner{fakeRunner: r.runner, until: time.Now().Add(test.takes)}
				r.opts.Hooks = slow
				r.inbox.hold = test.cancel
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.cancel {
					r.inbox.work = nil
					time.AfterFunc(time.Second, cancel)
				}
				if err := r.member(t).Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				equal(t, "settled", fmt.Sprint(slow.settled), test.want)
			})
		})
	}
}

// What hooks had for a member that ended meanwhile stands in its transcript, and
// at the head of its next prompt.
func TestLateContextOutlivesItsMember(t *testing.T) {
	r := newRig(t, say{text: "done"})
	m := r.member(t)
	m.later.Add(agent.Input{Kind: agent.FromContext, Text: "late"})
	r.inbox.work = nil
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.opts.Transcript.Close(); err != nil {
		t.Fatal(err)
	}
	transcript, history, err := transcript.Open(r.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { transcript.Close() })
	if len(history.Kept) != 1 || history.Kept[0].Text != "late" {
		t.Errorf("kept %+v", history.Kept)
	}
}

// Without anybody who could wake it, what a hook finds waits for the next turn.
func TestNobodyToWakeTheMember(t *testing.T) {
	r := newRig(t, say{text: "one"}, say{text: "two"})
	m := r.member(t)
	u := &turn{t: m, at: m.hookContext(1, "")}
	u.at.onBackgroundHook(hooks.StopInput{}, hooks.Progress{Event: hooks.Stop, Result: &hooks.Result{},
		Background: &hooks.Background{
			Wakes: true, Feedback: true, Messages: []string{"Stop hook feedback:\nno"}, SystemMessages: []string{"for people"},
		}})
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seen := strings.Join(r.agent.seen, "\n"); !strings.Contains(seen, "Stop hook feedback:\nno") {
		t.Errorf("the model saw %q", seen)
	}
	if w := all[events.Warning](r.journal); len(w) != 1 || w[0].Text != "Stop says: for people" {
		t.Errorf("people saw %+v", w)
	}
}
