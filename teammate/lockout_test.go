package teammate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// locked are the two errors by which an agent says that it may not go on, with
// what a turn comes to then.
func locked() map[string]struct {
	err               error
	reason, idle, typ string
	failure           string
} {
	until := time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC)
	return map[string]struct {
		err               error
		reason, idle, typ string
		failure           string
	}{
		"limit": {
			&agent.LimitError{Until: until, Text: "5-hour limit"}, events.EndUsageLimit, events.IdleUsageLimit, "limited", "rate_limit",
		},
		"login": {
			fmt.Errorf("start: %w", &agent.LoginError{Hint: "run login"}), events.EndLoggedOut, events.IdleLoggedOut, "logged_out",
			"authentication_failed",
		},
	}
}

// A lockout ends the turn, not the member: no gate is asked, the StopFailure
// and Notification hooks hear of it, and the lockout is told before the turn's
// end.
func TestLockoutEndsTheTurn(t *testing.T) {
	for name, tt := range locked() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, say{err: tt.err})
			r.inProgress("1")
			r.mustRun(t)
			equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, tt.reason)
			equal(t, "idle", one[events.Idle](t, r.journal).Reason, tt.idle)
			equal(t, "tasks", one[events.Idle](t, r.journal).TaskIDs, []string{"1"})
			gates := r.gates()
			slices.Sort(gates) // both run beside the member
			equal(t, "hooks", gates, []string{"Notification", "StopFailure"})
			failure := r.runner.of(hooks.StopFailure)[0].Payload.(hooks.StopFailureInput)
			equal(t, "failure", failure.Error, tt.failure)
			types := r.journal.types()
			if at := slices.Index(types, tt.typ); at < 0 || at > slices.Index(types, "turn_ended") {
				t.Errorf("no %s before the end of the turn: %v", tt.typ, types)
			}
			note := r.runner.of(hooks.Notification)[0].Payload.(hooks.NotificationInput)
			equal(t, "notification", note.NotificationType, "agent_needs_input")
		})
	}
}

func TestLockoutTellsWhy(t *testing.T) {
	r := newRig(t, say{err: locked()["limit"].err}, say{err: &agent.LimitError{Text: "no more"}},
		say{err: locked()["login"].err})
	r.inbox.work = append(r.inbox.work, Work{Cause: events.ByResume, Inputs: []agent.Input{goOn()}}, Work{Cause: events.ByResume,
		Inputs: []agent.Input{goOn()}})
	r.mustRun(t)
	limits := all[events.Limited](r.journal)
	equal(t, "texts", []string{limits[0].Text, limits[1].Text}, []string{"5-hour limit", "no more"})
	equal(t, "known", []bool{limits[0].Known, limits[1].Known, limits[1].Until.IsZero()}, []bool{true, false, true})
	equal(t, "hint", one[events.LoggedOut](t, r.journal).Hint, "run login")
	equal(t, "attention", one[events.NeedsAttention](t, r.journal),
		events.NeedsAttention{Reason: "not logged in: run login", Kind: events.AttentionLogin})
}

func goOn() agent.Input { return agent.Input{Kind: agent.FromCovey, Text: agent.GoOn} }

// What the turn was about begins the next prompt, once, however often the agent
// is locked out in between, and nothing is delivered twice.
func TestLockoutLosesNothing(t *testing.T) {
	limit := &agent.LimitError{Text: "no more"}
	r := newRig(t, say{err: limit}, say{err: limit}, say{text: "done"})
	r.inbox.work = append(r.inbox.work,
		Work{Cause: events.ByResume, Inputs: []agent.Input{goOn()}}, Work{Cause: events.ByResume, Inputs: []agent.Input{goOn(),
			mailed("more", "m2")}})
	r.mustRun(t)
	equal(t, "model", r.agent.seen, []string{
		"user: hello", "user: hello", "user: " + agent.GoOn, "user: hello", "user: " + agent.GoOn, "user: more", "assistant: done",
	})
	equal(t, "taken", r.inbox.taken, []string{"m1", "m2"})
}

// A restart of covey between the lockout and the next try changes nothing.
func TestLockoutOverARestart(t *testing.T) {
	r := newRig(t, say{err: &agent.LimitError{Text: "no more"}})
	r.mustRun(t)
	r.reopen(t, say{text: "done"})
	if r.opts.History.Cut != nil {
		t.Fatalf("the turn counts as cut off: %+v", r.opts.History.Cut)
	}
	r.inbox.work = []Work{{Cause: events.ByResume, Inputs: []agent.Input{goOn()}}}
	r.mustRun(t)
	equal(t, "model", r.agent.seen, []string{"user: hello", "user: " + agent.GoOn, "assistant: done"})
	r.reopen(t, say{text: "again"})
	r.inbox.work = []Work{{Cause: events.ByMessage, Inputs: []agent.Input{mailed("hi", "m3")}}}
	r.mustRun(t)
	equal(t, "nothing is kept for ever", r.agent.seen, []string{"user: hi", "assistant: again"})
}

// After a refused turn end it is the feedback that was not heeded.
func TestLockoutAfterARefusal(t *testing.T) {
	r := newRig(t, say{text: "first"}, say{err: &agent.LimitError{Text: "no more"}}, say{text: "mended"})
	r.runner.answer = on(map[hooks.Event][]hooks.Outcome{hooks.Stop: {refuse("mend it"), pass}})
	r.inbox.work = append(r.inbox.work, Work{Cause: events.ByResume, Inputs: []agent.Input{goOn()}})
	r.mustRun(t)
	equal(t, "model", r.agent.seen[2:], []string{
		"user: mend it", "user: mend it", "user: " + agent.GoOn, "assistant: mended",
	})
}

// mute records nothing by itself: the host does it, and keeps it all the same.
type mute struct{ errs []error }

func (m *mute) Run(context.Context, []agent.Input, agent.Host) (agent.Reply, error) {
	if len(m.errs) == 0 {
		return agent.Reply{Text: "done"}, nil
	}
	err := m.errs[0]
	m.errs = m.errs[1:]
	return agent.Reply{}, err
}

func TestLockoutOfAnAgentThatRecordsNothing(t *testing.T) {
	r := newRig(t)
	r.opts.Agent = &mute{errs: []error{&agent.LimitError{Text: "no more"}}}
	r.inbox.work = append(r.inbox.work, Work{Cause: events.ByResume, Inputs: []agent.Input{goOn()}})
	r.mustRun(t)
	_, history, err := transcript.Open(r.path)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range history.Messages {
		texts = append(texts, m.Text())
	}
	want := []string{"hello", "hello\n" + agent.GoOn, "done"}
	if !slices.Equal(texts, want) {
		t.Errorf("the transcript holds %q, want %q", texts, want)
	}
}

// An interrupt and a limit of covey's own outweigh what the agent says then.
func TestInterruptOutweighsALockout(t *testing.T) {
	r := newRig(t)
	m := r.member(t)
	r.agent.script = []say{{err: &agent.LimitError{Text: "no more"},
		do: func(context.Context) { m.Interrupt("stop") }}}
	if err := m.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	equal(t, "reason", one[events.TurnEnded](t, r.journal).Reason, events.EndAbortedStreaming)
	equal(t, "lockouts", len(all[events.Limited](r.journal)), 0)
}

func TestLockoutErrors(t *testing.T) {
	until := time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC)
	for want, err := range map[string]error{
		"usage limit reached: x":                            &agent.LimitError{Text: "x"},
		"usage limit reached until 2026-11-21T15:04:00Z: x": &agent.LimitError{Until: until, Text: "x"},
		"not logged in: run it":                             &agent.LoginError{Hint: "run it"},
	} {
		if err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	}
}

// gatekeeper is an inbox that has a say in when a turn begins.
type gatekeeper struct {
	*fakeInbox
	log  []string
	fail error
}

func (g *gatekeeper) Admit(context.Context) (func(), error) {
	if g.fail != nil {
		return nil, g.fail
	}
	g.log = append(g.log, "in")
	return func() { g.log = append(g.log, "out") }, nil
}

// Each turn is admitted once, and let go of before the member asks for more.
func TestAdmission(t *testing.T) {
	r := newRig(t)
	g := &gatekeeper{fakeInbox: r.inbox}
	r.inbox.idle = func() { g.log = append(g.log, "idle") }
	r.inbox.work = append(r.inbox.work, Work{Cause: events.ByMessage, Inputs: []agent.Input{mailed("hi", "m2")}})
	r.opts.Inbox = g
	r.mustRun(t)
	equal(t, "log", strings.Join(g.log, " "), "idle in out idle in out idle")
}

// A turn that was cut off is admitted, too, before its agent does anything.
func TestAdmissionOfAResumedTurn(t *testing.T) {
	r := newRig(t, say{err: errors.New("broken")})
	if err := r.run(t); err == nil {
		t.Fatal("a broken agent ended nobody")
	}
	r.reopen(t, say{text: "done"})
	g := &gatekeeper{fakeInbox: r.inbox}
	r.inbox.idle = func() { g.log = append(g.log, "idle") }
	r.opts.Inbox = g
	r.mustRun(t)
	equal(t, "log", strings.Join(g.log, " "), "in out idle")

	r.reopen(t, say{err: errors.New("broken")})
	r.inbox.work = []Work{{Cause: events.ByMessage, Inputs: []agent.Input{mailed("hi", "m9")}}}
	refused := errors.New("never")
	r.opts.Inbox = &gatekeeper{fakeInbox: r.inbox, fail: refused}
	if err := r.run(t); !errors.Is(err, refused) {
		t.Errorf("the member ended with %v", err)
	}
	equal(t, "model", len(r.agent.seen), 0)
}
