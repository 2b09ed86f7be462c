package inbox

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// consulting is an inbox in which dev asks lead, and lends its slot meanwhile.
type consulting struct {
	*planning
	lent chan string // slots, when they are lent
}

func newConsulting(t *testing.T) *consulting {
	c := &consulting{newPlanning(t, nil), make(chan string, 10)}
	c.deps.Lend = func(member string) func(context.Context) error {
		c.lent <- member
		return func(ctx context.Context) error { return ctx.Err() }
	}
	c.begin(t)
	return c
}

// reads makes lead read its mail, and returns the kinds of it.
func (c *consulting) reads(t *testing.T, member string) (kinds []mail.Kind) {
	t.Helper()
	mail, err := c.store.Mail().Unread(t.Context(), member)
	testkit.Must(t, err)
	for _, m := range mail {
		kinds = append(kinds, m.Kind)
		testkit.Must(t, c.store.Mail().Deliver(t.Context(), actors.Actor{Name: member}, []string{m.ID}))
	}
	return kinds
}

// consult asks in a goroutine; what it returns comes on the channel.
func (c *consulting) consult(ctx context.Context, member, call string, q Question) <-chan requests.Request {
	got := make(chan requests.Request, 1)
	go func() {
		r, _ := c.Questions.Consult(ctx, actors.Actor{Name: member, CallID: call}, q)
		got <- r
	}()
	<-c.lent // it waits
	return got
}

var lead = actors.Actor{Name: "lead"}

// TestConsult: a text of the lead answers the question that it has read, of the member that it
// writes to. The answer reaches the call and not the mailbox, also when the call is made again.
func TestConsult(t *testing.T) {
	c := newConsulting(t)
	q := Question{To: "lead", Text: "Which colour?"}
	first := c.consult(t.Context(), "dev", "c1", q)
	if found, err := c.Questions.Reply(t.Context(), lead, "dev", "By the way"); found || err != nil {
		t.Errorf("a question that was not read is answered: %v, %v", found, err)
	}
	if kinds := c.reads(t, "lead"); len(kinds) != 1 || kinds[0] != mail.QuestionAsked {
		t.Errorf("lead got %v", kinds)
	}
	if found, err := c.Questions.Reply(t.Context(), lead, "ops", "Blue"); found || err != nil {
		t.Errorf("the question of another is answered: %v, %v", found, err)
	}
	found, err := c.Questions.Reply(t.Context(), lead, "dev", "Blue")
	if r := <-first; !found || err != nil || r.Feedback != "Blue" || r.Taken || c.waitsFor("dev") != "" {
		t.Errorf("%v, %v: %+v", found, err, r)
	}
	again, err := c.Questions.Consult(t.Context(), actors.Actor{Name: "dev", CallID: "c1"}, q)
	if <-c.lent; err != nil || again.Feedback != "Blue" || again.Taken {
		t.Errorf("the call made again: %+v, %v", again, err)
	}
	if kinds := c.reads(t, "dev"); len(kinds) > 0 || len(c.Open()) > 0 {
		t.Errorf("dev got %v besides, open are %v", kinds, c.Open())
	}
	other := c.consult(t.Context(), "dev", "c2", q) // the same words, later
	c.reads(t, "lead")
	if found, err := c.Questions.Reply(t.Context(), lead, "dev", "Red"); !found || err != nil {
		t.Error(found, err)
	}
	if r := <-other; r.Feedback != "Red" {
		t.Errorf("the second question: %+v", r)
	}
}

// TestConsultTwo: two members that ask at the same time get their own answers.
func TestConsultTwo(t *testing.T) {
	c := newConsulting(t)
	dev := c.consult(t.Context(), "dev", "c1", Question{To: "lead", Text: "A?"})
	ops := c.consult(t.Context(), "ops", "c1", Question{To: "lead", Text: "A?"})
	c.reads(t, "lead")
	for member, text := range map[string]string{"ops": "for ops", "dev": "for dev"} {
		if found, err := c.Questions.Reply(t.Context(), lead, member, text); !found || err != nil {
			t.Error(found, err)
		}
	}
	if a, b := (<-dev).Feedback, (<-ops).Feedback; a != "for dev" || b != "for ops" {
		t.Errorf("dev got %q, ops %q", a, b)
	}
}

// TestConsultPatience: a call that does not wait to the end may be made again, and what comes
// while none waits is mail.
func TestConsultPatience(t *testing.T) {
	c := newConsulting(t)
	q := Question{To: "lead", Text: "Which colour?", Patience: time.Nanosecond}
	r := <-c.consult(t.Context(), "dev", "c1", q)
	if again := <-c.consult(t.Context(), "dev", "c2", q); !r.Open() || again.ID != r.ID {
		t.Errorf("%+v, then %+v", r, again)
	}
	if kinds := c.reads(t, "lead"); len(kinds) != 1 {
		t.Errorf("lead got %v", kinds)
	}
	if found, err := c.Questions.Reply(t.Context(), lead, "dev", "Blue"); !found || err != nil {
		t.Error(found, err)
	}
	if kinds := c.reads(t, "dev"); len(kinds) != 1 || kinds[0] != mail.Notice {
		t.Errorf("dev got %v", kinds)
	}
	if r := <-c.consult(t.Context(), "dev", "c3", q); r.ID == "" || !r.Open() {
		t.Errorf("asked anew: %+v", r)
	}
}

// TestConsultEnds: an interrupt withdraws the question, a lead that leaves ends it, and the end of
// the team leaves it for the next run.
func TestConsultEnds(t *testing.T) {
	c := newConsulting(t)
	ctx, interrupt := context.WithCancelCause(t.Context())
	got := c.consult(ctx, "dev", "c1", Question{To: "lead", Text: "A?"})
	interrupt(errors.New("interrupted"))
	if <-got; len(c.Open()) > 0 || c.waitsFor("dev") != "" {
		t.Errorf("open after an interrupt: %v", c.Open())
	}
	got = c.consult(t.Context(), "dev", "c2", Question{To: "lead", Text: "A?"})
	testkit.Must(t, c.leave(t.Context(), "lead"))
	if r := <-got; r.State != requests.Expired || len(c.reads(t, "dev")) > 0 {
		t.Errorf("after the lead has left: %+v", r)
	}
	over := make(chan struct{})
	c.mu.Lock()
	c.over = over
	c.mu.Unlock()
	ctx, stop := context.WithCancel(t.Context())
	got = c.consult(ctx, "dev", "c3", Question{To: "lead", Text: "A?"})
	close(over)
	if stop(); !(<-got).Open() {
		t.Error("the question does not outlive the team")
	}
}
