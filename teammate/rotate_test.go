package teammate

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// rotatingInbox is a fakeInbox whose next work is for a new session.
type rotatingInbox struct {
	*fakeInbox
	dir   string // of transcripts
	err   error  // of Rotate
	given []transcript.Handover
	work  []Work
}

func (b *rotatingInbox) Rotates(Work) bool { return true }

func (b *rotatingInbox) Facts(context.Context) string { return "the facts" }

func (b *rotatingInbox) Rotate(_ context.Context, h transcript.Handover, w Work) error {
	if b.err != nil {
		return b.err
	}
	b.given, b.work = append(b.given, h), append(b.work, w)
	return transcript.Succeed(filepath.Join(b.dir, h.Next+".jsonl"), filepath.Join(b.dir, "s.jsonl"), h)
}

// rotating returns a rig whose next work, the mail hello, is for a new session.
func rotating(t *testing.T, script ...say) (*rig, *rotatingInbox) {
	t.Helper()
	r := newRig(t, script...)
	b := &rotatingInbox{fakeInbox: r.inbox, dir: filepath.Dir(r.path)}
	r.opts.Inbox = b
	return r, b
}

// next returns the history of the only session that was given.
func (b *rotatingInbox) next(t *testing.T) transcript.History {
	t.Helper()
	if len(b.given) != 1 {
		t.Fatalf("%d new sessions", len(b.given))
	}
	return history(t, filepath.Join(b.dir, b.given[0].Next+".jsonl"))
}

// TestRotate: the agent writes a brief, without mail, without calls and without gates, and the
// new session begins with it and with what the old one has kept for its next prompt.
func TestRotate(t *testing.T) {
	r, b := rotating(t, say{text: "hm", calls: []agent.ToolCall{callTool("c1", "Bash", `{}`)}}, say{text: "what matters"})
	r.inProgress("1") // claimed for the member with its next work
	b.waiting = []agent.Input{{Kind: agent.FromMail, Text: "news", MessageID: "m2"}}
	m := r.member(t)
	m.hookContext(0, "").keepInputs([]agent.Input{{Kind: agent.FromPerson, Text: "kept", MessageID: "m0"}})
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "the model saw", r.agent.seen, []string{
		"user: " + agent.BriefRequest, "assistant: hm", "error: " + noCalls, "assistant: what matters",
	})
	equal(t, "hooks", r.runner.events(), []string{"SessionStart", "SessionEnd"})
	equal(t, "reason", r.runner.of(hooks.SessionEnd)[0].Payload.(hooks.SessionEndInput).Reason, "clear")
	equal(t, "work", b.work, []Work{{Cause: events.ByMessage, Inputs: []agent.Input{{Kind: agent.FromMail, Text: "hello", MessageID: "m1"}}}})
	equal(t, "confirmed", b.taken, []string{"m0"})
	h := b.next(t)
	brief := agent.Input{Kind: agent.FromCovey, Text: briefHead + "what matters" + briefEnd}
	equal(t, "first input", h.Kept, []agent.Input{brief, {Kind: agent.FromPerson, Text: "kept"}})
	equal(t, "messages", len(h.Messages), 0)
	equal(t, "used", h.Usage, agent.Usage{InputTokens: 20, OutputTokens: 2})
	equal(t, "turns", h.Turns, 1)
	end := one[events.TurnEnded](t, r.journal)
	equal(t, "journaled use", end.Usage, h.Usage)
	equal(t, "journaled", one[events.Rotated](t, r.journal), events.Rotated{Before: "s", Session: b.given[0].Next, Brief: brief.Text})
}

// TestRotateWithoutBrief: an agent that writes no brief does not keep its member in the session.
func TestRotateWithoutBrief(t *testing.T) {
	for name, answer := range map[string]say{
		"failed":  {err: &agent.APIError{Type: "overloaded", Message: "too busy"}},
		"limited": {err: &agent.LimitError{Text: "used up"}},
		"silent":  {text: " "},
	} {
		t.Run(name, func(t *testing.T) {
			r, b := rotating(t, answer)
			r.mustRun(t)
			equal(t, "first input", b.next(t).Kept, []agent.Input{{Kind: agent.FromCovey, Text: "the facts"}})
			warning := one[events.Warning](t, r.journal).Text
			if !strings.Contains(warning, "a brief from the task list, because the agent wrote none") {
				t.Error(warning)
			}
		})
	}
}

// TestRotateInterrupted: an interrupt leaves the session as it is, and the work for the next turn.
func TestRotateInterrupted(t *testing.T) {
	r, b := rotating(t)
	var m *Teammate
	r.agent.script = []say{{do: func(context.Context) { m.Interrupt("stop that") }}}
	m = r.member(t)
	if err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "new sessions", len(b.given), 0)
	equal(t, "kept", history(t, r.path).Kept, []agent.Input{{Kind: agent.FromMail, Text: "hello"}})
	equal(t, "idle", one[events.Idle](t, r.journal).Reason, events.IdleInterrupted)
	equal(t, "ended", r.runner.of(hooks.SessionEnd)[0].Payload.(hooks.SessionEndInput).Reason, "other")
}

// TestRotateStopped: a member that is told to stop while it writes the brief loses nothing, and
// writes another one in its next life.
func TestRotateStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, b := rotating(t, say{do: func(context.Context) { cancel() }})
	if err := r.member(t).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	equal(t, "taken", len(b.taken)+len(b.given), 0)
	r.reopen(t, say{text: "what matters"})
	b.fakeInbox.work = []Work{{Cause: events.ByMessage, Inputs: []agent.Input{{Kind: agent.FromMail, Text: "hello", MessageID: "m1"}}}}
	r.mustRun(t)
	equal(t, "first input", b.next(t).Kept[0].Text, briefHead+"what matters"+briefEnd)
}

// TestRotateAfterCrash: what a crash left between the brief and the change of the session is done
// with the same brief, even if the new transcript was written and is used already. A turn in the
// old session outdates the brief.
func TestRotateAfterCrash(t *testing.T) {
	r, b := rotating(t, say{text: "what matters"})
	b.err = errors.New("the store is gone")
	if err := r.run(t); !errors.Is(err, b.err) {
		t.Fatal(err)
	}
	hello := Work{Cause: events.ByMessage, Inputs: []agent.Input{{Kind: agent.FromMail, Text: "hello", MessageID: "m1"}}}
	b.err = nil
	var sessions []string
	for range 2 {
		r.reopen(t)
		b.fakeInbox.work = []Work{hello}
		r.mustRun(t)
		equal(t, "asked again", len(r.agent.seen), 0)
		sessions = append(sessions, b.given[len(b.given)-1].Next)
	}
	equal(t, "session", sessions[0], sessions[1])
	b.given = b.given[:1]
	equal(t, "kept once", len(b.next(t).Kept), 1)

	r.reopen(t)
	r.opts.Inbox = r.inbox
	b.fakeInbox.work = []Work{hello}
	r.mustRun(t)
	if history(t, r.path).Handover != nil {
		t.Error("the brief is still there after a turn in the old session")
	}
}

// TestRotatedSession: the session that a rotation began starts as clear, and its first prompt
// begins with the brief. After a crash before that prompt both are so again.
func TestRotatedSession(t *testing.T) {
	r, b := rotating(t, say{text: "what matters"})
	r.mustRun(t)
	r.path = filepath.Join(b.dir, b.given[0].Next+".jsonl")
	r.opts.Inbox = r.inbox
	for range 2 {
		r.reopen(t)
		r.mustRun(t)
		equal(t, "source", r.runner.of(hooks.SessionStart)[0].Payload.(hooks.SessionStartInput).Source, "clear")
	}
	r.reopen(t)
	r.inbox.work = []Work{{Cause: events.ByMessage, Inputs: []agent.Input{{Kind: agent.FromMail, Text: "hello", MessageID: "m1"}}}}
	r.mustRun(t)
	equal(t, "seen", r.agent.seen[:2], []string{"user: " + briefHead + "what matters" + briefEnd, "user: hello"})
	equal(t, "turn", history(t, r.path).Turns, 2)
	r.reopen(t)
	r.mustRun(t)
	equal(t, "source", r.runner.of(hooks.SessionStart)[0].Payload.(hooks.SessionStartInput).Source, "resume")
}
