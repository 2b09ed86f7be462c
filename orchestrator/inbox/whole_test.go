package inbox

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// planning is the inbox of a team of which dev must plan, with a store of its own, and the team's
// only member.
type planning struct {
	*Inbox
	store   *tasks.Store
	dev     *members.Member
	modes   sync.Map // by member
	waits   sync.Map // what a call waits for, by member
	granted func()   // called when a mode is set
	apply   Apply
}

func newPlanning(t *testing.T, apply Apply) *planning {
	t.Helper()
	store, err := tasks.Open(filepath.Join(t.TempDir(), "tasks.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &planning{
		store: store, dev: &members.Member{Member: &configs.Member{Name: "dev", PlanRequired: true}}, granted: func() {}, apply: apply,
	}
	if p.apply == nil {
		p.apply = func(context.Context, requests.Request) error { return nil }
	}
	p.dev.Session.Session = "s1"
	group := &members.Group{}
	t.Cleanup(group.Wait)
	p.Inbox = New(&configs.Team{}, Deps{
		Store: store, Journal: p, Log: slog.New(slog.DiscardHandler), Members: p, Group: group, Changed: func() {},
		Attached: func() int { return 1 },
	})
	return p
}

func (p *planning) Member(name string) (*members.Member, bool) { return p.dev, name == p.dev.Name }
func (p *planning) LeadMember() *members.Member                { return p.dev }
func (p *planning) MemberOf(hooks.Input) string                { return p.dev.Name }
func (p *planning) GoneFor(string) string                      { return "" }
func (p *planning) Turn(string) int                            { return 0 }

func (p *planning) Append(e events.Event) {
	if w, ok := e.Data.(events.Waiting); ok {
		p.waits.Store(e.Member, w.For)
	}
}

// waitsFor returns what a call of a member waits for; empty: nothing.
func (p *planning) waitsFor(member string) any {
	what, _ := p.waits.Load(member)
	return what
}

func (p *planning) SetMode(member, mode string) error {
	p.modes.Store(member, mode)
	p.granted()
	return nil
}

func (p *planning) Fire(context.Context, string, hooks.Payload) (hooks.Outcome, error) {
	return hooks.Outcome{}, nil
}

// begin begins the inbox, as a run does.
func (p *planning) begin(t *testing.T) {
	t.Helper()
	if err := p.TakeUp(t.Context(), p.apply); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Ended(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// ask puts a question about a plan of a member's.
func (p *planning) ask(t *testing.T, member, to string) requests.Request {
	t.Helper()
	r, err := p.Ask(t.Context(), actors.Actor{Name: member}, requests.New{
		Kind: requests.AskPlan, Member: member, To: to, Text: "May I?", Payload: texts.Encode(Payload{Session: "s1"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAnswerIsActedOn: whoever answers may hang up once the answer is stored: what follows
// from it is done all the same, because nobody could answer a second time.
func TestAnswerIsActedOn(t *testing.T) {
	ctx, hangUp := context.WithCancel(t.Context())
	p := newPlanning(t, nil)
	p.granted = hangUp
	p.begin(t)
	r := p.ask(t, "dev", actors.Operator)
	if _, err := p.Answer(ctx, actors.Actor{Name: actors.Operator}, Answer{ID: r.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	if mode, _ := p.modes.Load("dev"); mode != "default" || p.Plans.MustPlan(p.dev) || len(p.Open()) > 0 {
		t.Errorf("the member is in mode %v, must plan: %v; open: %v", mode, p.Plans.MustPlan(p.dev), p.Open())
	}
	again, err := p.store.Requests().Find(t.Context(), r.ID)
	if err != nil || !again.Taken {
		t.Errorf("request %+v, %v: it would be acted on again", again, err)
	}
	if _, err := p.Answer(ctx, actors.Actor{Name: actors.Operator}, Answer{ID: p.ask(t, "dev", actors.Operator).ID}); err == nil {
		t.Error("who has hung up before can answer")
	}
}

// TestFormsOfOne: a member whose server asks again and again hides nobody's question: what is more
// than a few forms is not put before a person.
func TestFormsOfOne(t *testing.T) {
	p := newPlanning(t, nil)
	p.begin(t)
	form := requests.New{Kind: requests.AskForm, Member: "dev", To: actors.Operator, Text: "Sure?"}
	for range maxOpenForms {
		if _, err := p.Ask(t.Context(), actors.Actor{Name: "dev"}, form); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := p.FillIn(t.Context(), "dev", "Sure?", nil); err == nil || !strings.Contains(err.Error(), "10 forms for calls of dev wait") {
		t.Errorf("one more: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := p.FillIn(ctx, "ben", "Sure?", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("another member: %v", err)
	}
}

// TestAnsweredAtOnce: whoever reads a question may answer it by its asker's name, even if
// the call that asks has not returned.
func TestAnsweredAtOnce(t *testing.T) {
	p := newPlanning(t, nil)
	p.begin(t)
	r, err := p.store.Requests().Ask(t.Context(), actors.Actor{Name: "dev"}, requests.New{
		Kind: requests.AskPlan, Member: "dev", To: "lead", Text: "May I?",
		Mail: func(r requests.Request) mail.Outgoing { return p.Plans.planMail(r, "one") },
	})
	if err != nil {
		t.Fatal(err)
	}
	letters, err := p.store.Mail().Unread(t.Context(), "lead")
	if err != nil || len(letters) != 1 {
		t.Fatalf("%+v, %v", letters, err)
	}
	if err := p.ActOn(t.Context(), letters); err != nil {
		t.Fatal(err)
	}
	if err := p.store.Mail().Deliver(t.Context(), actors.Actor{Name: "lead"}, []string{letters[0].ID}); err != nil {
		t.Fatal(err)
	}
	if found, err := p.Find(t.Context(), "lead", "dev"); err != nil || found.ID != r.ID {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestAllowedBeforeItIsRead: what a person allows a member that needs attention is allowed
// when the member reads of it, and once: what it changes afterwards is not allowed.
func TestAllowedBeforeItIsRead(t *testing.T) {
	var allowed []requests.Request
	p := newPlanning(t, func(_ context.Context, r requests.Request) error {
		allowed = append(allowed, r)
		return nil
	})
	p.begin(t)
	if err := p.Attention.Need(t.Context(), "dev", "stuck"); err != nil {
		t.Fatal(err)
	}
	r, err := p.store.Requests().Answer(t.Context(), actors.Actor{Name: actors.Operator}, p.Open()[0].ID,
		requests.Ruling{Approve: true, Mail: p.tell})
	if err != nil {
		t.Fatal(err)
	}
	letters, err := p.store.Mail().Unread(t.Context(), "dev")
	if err != nil || len(letters) != 1 {
		t.Fatalf("%+v, %v", letters, err)
	}
	if err := p.ActOn(t.Context(), letters); err != nil {
		t.Fatal(err)
	}
	if len(allowed) != 1 || allowed[0].ID != r.ID {
		t.Fatalf("acted on %+v before dev reads %q", allowed, letters[0].Text)
	}
	if err := p.concluded(t.Context(), r); err != nil || len(allowed) != 1 {
		t.Errorf("%v; acted on %d times", err, len(allowed))
	}
}

// TestAsksAgainOnceItIsRead: whoever has read that finished work is not approved asks anew with the
// same work, and is not told to wait for the answer that it has.
func TestAsksAgainOnceItIsRead(t *testing.T) {
	p := newPlanning(t, nil)
	p.begin(t)
	ask := requests.New{Kind: requests.AskApproval, Member: "dev", To: actors.Operator, Key: "k", Text: "?", Lasting: true}
	first, err := p.Ask(t.Context(), actors.Actor{Name: "dev"}, ask)
	if err != nil {
		t.Fatal(err)
	}
	// The answer is stored with its mail, and the inbox has not acted on it yet.
	if _, err := p.store.Requests().Answer(t.Context(), actors.Actor{Name: actors.Operator}, first.ID, requests.Ruling{Mail: p.tell}); err != nil {
		t.Fatal(err)
	}
	letters, err := p.store.Mail().Unread(t.Context(), "dev")
	if err != nil || len(letters) != 1 {
		t.Fatalf("%+v, %v", letters, err)
	}
	if err := p.ActOn(t.Context(), letters); err != nil {
		t.Fatal(err)
	}
	if again, err := p.Ask(t.Context(), actors.Actor{Name: "dev"}, ask); err != nil || again.ID == first.ID || !again.Open() {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestActedOnWhenItBegins: an answer that comes before the team has begun is acted on when it
// begins, and once.
func TestActedOnWhenItBegins(t *testing.T) {
	var applied []requests.Request
	p := newPlanning(t, func(_ context.Context, r requests.Request) error {
		applied = append(applied, r)
		return nil
	})
	r, err := p.Ask(t.Context(), actors.Actor{Name: "dev"}, requests.New{
		Kind: requests.AskMerge, Member: "dev", To: actors.Operator, Text: "Merge it?",
	})
	testkit.Must(t, err)
	_, err = p.Answer(t.Context(), actors.Actor{Name: actors.Operator}, Answer{ID: r.ID, Approve: true})
	testkit.Must(t, err)
	if len(applied) > 0 {
		t.Fatalf("acted on %+v before the team has begun", applied)
	}
	p.begin(t)
	stored, err := p.store.Requests().Find(t.Context(), r.ID)
	if err != nil || len(applied) != 1 || applied[0].ID != r.ID || !stored.Taken {
		t.Errorf("acted on %+v; stored as %+v, %v", applied, stored, err)
	}
}

// TestApprovalIsStoredOnceMore: an approval whose storing failed is stored when the answer is
// acted on again, or the next run would want another plan.
func TestApprovalIsStoredOnceMore(t *testing.T) {
	p := newPlanning(t, nil)
	r, err := p.store.Requests().Answer(t.Context(), actors.Actor{Name: "lead"}, p.ask(t, "dev", "lead").ID, requests.Ruling{
		Approve: true, Mail: func(r requests.Request) mail.Outgoing { return AnswerMail(r, time.Time{}) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Plans.ApplyAnswer(ended, r); err == nil || !p.Plans.MustPlan(p.dev) {
		t.Fatalf("%v; must plan: %v, although nothing is stored", err, p.Plans.MustPlan(p.dev))
	}
	if err := p.Plans.ApplyAnswer(t.Context(), r); err != nil || p.Plans.MustPlan(p.dev) {
		t.Errorf("%v; must plan: %v", err, p.Plans.MustPlan(p.dev))
	}
	if mode, err := p.Plans.StartingMode(t.Context(), p.dev); err != nil || mode != "default" {
		t.Errorf("the next run begins in mode %s, %v", mode, err)
	}
}

// TestQuestionsOfStrangers: what was asked by and of members that the spec no longer has is
// closed when the next run begins.
func TestQuestionsOfStrangers(t *testing.T) {
	p := newPlanning(t, nil)
	asked := []requests.Request{p.ask(t, "dev", "rev"), p.ask(t, "ana", "dev"), p.ask(t, "dev", actors.Operator)}
	p.begin(t)
	for i, want := range []requests.State{requests.Expired, requests.Withdrawn, requests.Open} {
		r, err := p.store.Requests().Find(t.Context(), asked[i].ID)
		if err != nil || r.State != want || r.Taken != (want == requests.Expired) {
			t.Errorf("%s asks %s: %s, acted on: %v, %v; want %s", r.Member, r.To, r.State, r.Taken, err, want)
		}
	}
}

// TestMergeOfALeaver: whether the finished work of a member that has left is merged is still to
// be answered; what else it asked is withdrawn.
func TestMergeOfALeaver(t *testing.T) {
	p := newPlanning(t, nil)
	p.begin(t)
	merge, err := p.Ask(t.Context(), actors.Actor{Name: "dev"}, requests.New{
		Kind: requests.AskMerge, Member: "dev", To: actors.Operator, Text: "Merge it?",
	})
	if err != nil {
		t.Fatal(err)
	}
	p.ask(t, "dev", actors.Operator)
	if err := p.leave(t.Context(), "dev"); err != nil {
		t.Fatal(err)
	}
	if open := p.Open(); len(open) != 1 || open[0].ID != merge.ID {
		t.Errorf("open are %+v", open)
	}
}

// TestApprovedAsItBeginsAnew: a plan that is approved in the moment in which its member
// begins another life is approved there, too, or in neither: never approved in a mode that
// allows no work.
func TestApprovedAsItBeginsAnew(t *testing.T) {
	p := newPlanning(t, nil)
	for range 100 {
		if err := p.store.Put(t.Context(), keyPlan("dev"), []byte("null")); err != nil {
			t.Fatal(err)
		}
		if err := p.Plans.restart(t.Context(), p.dev); err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		both.Go(func() {
			if err := p.Plans.grant(t.Context(), p.dev, "default"); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := p.Plans.restart(t.Context(), p.dev); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		if mode, _ := p.modes.Load("dev"); mode != "default" || p.Plans.MustPlan(p.dev) {
			t.Fatalf("the approved member is in mode %v, must plan: %v", mode, p.Plans.MustPlan(p.dev))
		}
	}
}
