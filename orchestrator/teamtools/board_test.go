package teamtools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate/agent"
)

// table is a board over a real store, with hooks and a crew that a test plays.
type table struct {
	t     *testing.T
	board *TaskAPI
	crew  *fakeCrew
	// hook answers every event; nil agrees. fired lists what was asked.
	hook  func(hooks.Payload) (hooks.Outcome, error)
	fired []string
}

// fakeCrew is a crew of three as its board sees it. It notes what it was asked for.
type fakeCrew struct {
	spec *configs.Team
	gone map[string]string // why members take no more turns
	said []string
	told int // calls of News and Work
	// harvests is called when work is harvested; nil: nothing is.
	harvests func(context.Context)
	answer   requests.Request // to Consult; Reply answers its member
	insecure error            // why work cannot outlive the host; nil: it can
}

func (c *fakeCrew) Member(name string) (*members.Member, bool) {
	for i, m := range c.spec.Members() {
		if m.Name == name {
			return &members.Member{Member: &m, Lead: i == 0}, true
		}
	}
	return nil, false
}

func (c *fakeCrew) Now(name string) (state, gone string) {
	return map[string]string{"lead": "working", "dev": "idle", "ops": "idle"}[name], c.gone[name]
}

func (c *fakeCrew) note(format string, args ...any) {
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

func (c *fakeCrew) Answer(
	_ context.Context, by actors.Actor, a inbox.Answer, kinds ...requests.Kind,
) (requests.Request, error) {
	c.note("%s answers %v: %+v", by.Name, kinds, a)
	return requests.Request{}, nil
}

func (c *fakeCrew) Ask(_ context.Context, by actors.Actor, n requests.New) (requests.Request, error) {
	c.note("%s asks %s: %s", by.Name, n.To, n.Text)
	return requests.Request{ID: "r1"}, nil
}

func (c *fakeCrew) UntilEnd(ctx context.Context) (context.Context, func()) {
	return context.WithoutCancel(ctx), func() {}
}

func (c *fakeCrew) GiveMode(_ context.Context, m *members.Member, mode string) error {
	c.note("%s gets the mode %s", m.Name, mode)
	return nil
}

func (c *fakeCrew) Consult(_ context.Context, by actors.Actor, q inbox.Question) (requests.Request, error) {
	c.note("%s asks %s for at most %v: %s", by.Name, q.To, q.Patience, q.Text)
	return c.answer, nil
}

func (c *fakeCrew) Reply(_ context.Context, by actors.Actor, member, text string) (bool, error) {
	if c.answer.Member != member {
		return false, nil
	}
	c.note("%s replies to %s: %s", by.Name, member, text)
	return true, nil
}

func (c *fakeCrew) MustPlan(m *members.Member) bool { return m.PlanRequired }

func (c *fakeCrew) Submit(
	_ context.Context, m *members.Member, _ actors.Actor, in inbox.PlanInput, _ inbox.Fire,
) agent.ToolResult {
	c.note("%s plans: %s", m.Name, in.Plan)
	return agent.ToolResult{Content: "submitted"}
}

func (c *fakeCrew) Secure(context.Context, tasks.Task) error { return c.insecure }

func (c *fakeCrew) HarvestTask(ctx context.Context, _ tasks.Task) {
	if c.told++; c.harvests != nil {
		c.harvests(ctx)
	}
}

func (c *fakeCrew) Sent([]mail.Message) { c.told++ }
func (c *fakeCrew) Closed(tasks.Task)   { c.told++ }

// fakeGoals notes the answer to the goal.
type fakeGoals struct{ crew *fakeCrew }

func (g fakeGoals) Answer(_ context.Context, text string) error {
	g.crew.note("the goal is answered: %s", text)
	return nil
}

// newTable makes a board of the team crew, whose members are lead, dev and ops. Its long
// messages lie in letters, or in a folder of the test's own.
func newTable(t *testing.T, letters ...string) *table {
	t.Helper()
	model := configs.Agent{Kind: configs.Builtin, Model: configs.Model{Provider: "script"}}
	c := &fakeCrew{gone: map[string]string{}, spec: &configs.Team{
		Name: "crew", Lead: configs.Member{Name: "lead", Agent: model},
		Teammates: []configs.Member{
			{Name: "dev", Agent: model, Description: "owns the service", Limits: configs.Limits{MaxInProgress: 1}, Tools: []string{"Read"}},
			{Name: "ops", Agent: model},
		},
	}}
	b := New(c.spec, Deps{
		Store: testkit.OpenStore(t, tasks.Open), Letters: mail.Folder(append(letters, t.TempDir())[0]),
		Members: c, Requests: c, Questions: c, Plans: c, Work: c, Goals: fakeGoals{c}, News: c,
		Act: func(_ context.Context, _ string, do func() error) error { return do() },
	})
	return &table{t: t, board: b, crew: c}
}

// caller is a member that calls tools.
func (b *table) caller(member string, act func(callID string) Actor) Caller {
	m, ok := b.crew.Member(member)
	if !ok {
		b.t.Fatalf("there is no member %s", member)
	}
	return Caller{m, act}
}

// as is the actor of a member, or the operator for "".
func (b *table) as(member, callID string) Actor {
	a := Actor{Actor: actors.Actor{Name: member, CallID: callID}, Fire: b.fire}
	if member == "" {
		a.Name = actors.Operator
		return a
	}
	m, err := b.board.deps.Store.Members().Attach(b.t.Context(), member, func() string { return "session-" + member })
	if err != nil {
		b.t.Fatal(err)
	}
	a.Session = m.Epoch
	if a.Lead = member == "lead"; !a.Lead {
		a.Teammate, a.Team = member, "crew"
	}
	return a
}

func (b *table) fire(_ context.Context, p hooks.Payload) (hooks.Outcome, error) {
	b.fired = append(b.fired, string(p.Event()))
	if b.hook == nil {
		return hooks.Outcome{Decision: hooks.Pass}, nil
	}
	return b.hook(p)
}

// add stores tasks, in order, without asking hooks.
func (b *table) add(list ...tasks.New) {
	b.t.Helper()
	if _, err := b.board.deps.Store.Add(b.t.Context(), actors.Actor{}, list); err != nil {
		b.t.Fatal(err)
	}
}

// want checks a task's status and owner.
func (b *table) want(id string, status tasks.Status, owner string) tasks.Task {
	b.t.Helper()
	t, err := b.board.deps.Store.Task(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	if t.Status != status || t.Owner != owner {
		b.t.Errorf("task %s is %s of %q, want %s of %q", id, t.Status, t.Owner, status, owner)
	}
	return t
}

func to(s tasks.Status) tasks.Patch { return tasks.Patch{Status: &s} }

func blocking(text string) func(hooks.Payload) (hooks.Outcome, error) {
	return func(hooks.Payload) (hooks.Outcome, error) {
		return hooks.Outcome{Decision: hooks.Block, Feedback: []string{text}}, nil
	}
}

func TestClaimsRespectTheLimitUnlessForced(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "one"}, tasks.New{Subject: "two"}, tasks.New{Subject: "three"})
	dev := b.as("dev", "")
	if _, _, err := b.board.Update(t.Context(), dev, "1", to(tasks.InProgress)); err != nil {
		t.Fatal(err)
	}
	b.want("1", tasks.InProgress, "dev")
	if _, _, err := b.board.Update(t.Context(), dev, "2", to(tasks.InProgress)); !errors.Is(err, tasks.ErrBusy) {
		t.Errorf("a second task in progress: %v", err)
	}
	b.want("2", tasks.Pending, "")
	force := b.as("", "")
	if _, err := b.board.Claim(t.Context(), force, "2", "dev"); !errors.Is(err, tasks.ErrBusy) {
		t.Errorf("the operator without force: %v", err)
	}
	force.Force = true
	if _, err := b.board.Claim(t.Context(), force, "2", "dev"); err != nil {
		t.Errorf("with force: %v", err)
	}
	b.want("2", tasks.InProgress, "dev")
	ops := b.as("ops", "") // who has no limit
	for _, id := range []string{"1", "3"} {
		_, err := b.board.Claim(t.Context(), ops, id, "ops")
		if (id == "1") != errors.Is(err, tasks.ErrOwned) || id == "3" && err != nil {
			t.Errorf("ops claims %s: %v", id, err)
		}
	}
	if _, err := b.board.Claim(t.Context(), ops, "3", "ghost"); !errors.Is(err, api.ErrNoMember) {
		t.Errorf("a claim for nobody: %v", err)
	}
}

func TestForceSkipsTheGates(t *testing.T) {
	b := newTable(t)
	b.hook = blocking("never")
	b.add(tasks.New{Subject: "one", Owner: "dev"})
	by := b.as("", "")
	var refused *RefusedError
	if _, _, err := b.board.Update(t.Context(), by, "1", to(tasks.Completed)); !errors.As(err, &refused) {
		t.Fatalf("without force: %v", err)
	}
	b.want("1", tasks.Pending, "dev")
	by.Force = true
	if _, _, err := b.board.Update(t.Context(), by, "1", to(tasks.Completed)); err != nil {
		t.Fatalf("with force: %v", err)
	}
	b.want("1", tasks.Completed, "dev")
	if !slices.Equal(b.fired, []string{"TaskCompleted"}) {
		t.Errorf("hooks asked: %v; force asks none", b.fired)
	}
}

// TestCompletionOfATaskThatChangesMeanwhile changes a task while its hooks
// run: they must see it again as it is then, and the change must survive.
func TestCompletionOfATaskThatChangesMeanwhile(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "old", Owner: "dev"})
	var seen []string
	b.hook = func(p hooks.Payload) (hooks.Outcome, error) {
		seen = append(seen, p.(hooks.TaskCompletedInput).TaskSubject)
		if len(seen) == 1 {
			now := "new"
			_, _, err := b.board.deps.Store.Update(t.Context(), actors.Actor{Name: "lead"}, "1", tasks.Patch{Subject: &now})
			return hooks.Outcome{Decision: hooks.Pass}, err
		}
		return hooks.Outcome{Decision: hooks.Pass}, nil
	}
	if _, _, err := b.board.Update(t.Context(), b.as("dev", "call"), "1", to(tasks.Completed)); err != nil {
		t.Fatal(err)
	}
	if got := b.want("1", tasks.Completed, "dev"); got.Subject != "new" || !slices.Equal(seen, []string{"old", "new"}) {
		t.Errorf("the hooks saw %v, the task is %q", seen, got.Subject)
	}
}

// TestCompletionWhoseHookChangesTheTaskEachTime has a gate that keeps notes in
// the task itself. It must not run for ever.
func TestCompletionWhoseHookChangesTheTaskEachTime(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "one", Owner: "dev"})
	b.hook = func(hooks.Payload) (hooks.Outcome, error) {
		note := fmt.Sprint("asked ", len(b.fired))
		_, _, err := b.board.deps.Store.Update(t.Context(), actors.Actor{}, "1", tasks.Patch{ActiveForm: &note})
		return hooks.Outcome{Decision: hooks.Pass}, err
	}
	_, _, err := b.board.Update(t.Context(), b.as("dev", ""), "1", to(tasks.Completed))
	if !errors.Is(err, tasks.ErrConflict) || !strings.Contains(err.Error(), "TaskCompleted") {
		t.Errorf("err = %v, want a conflict that names the hooks", err)
	}
	if len(b.fired) != maxConflicts {
		t.Errorf("the hooks ran %d times, want %d", len(b.fired), maxConflicts)
	}
	b.want("1", tasks.Pending, "dev")
}

// TestCompletionOfATaskThatIsGone deletes the task while its hooks run.
func TestCompletionOfATaskThatIsGone(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "one", Owner: "dev"})
	b.hook = func(hooks.Payload) (hooks.Outcome, error) {
		_, err := b.board.deps.Store.Delete(t.Context(), actors.Actor{Name: "lead"}, "1", nil)
		return hooks.Outcome{Decision: hooks.Pass}, err
	}
	_, _, err := b.board.Update(t.Context(), b.as("dev", ""), "1", to(tasks.Completed))
	if !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("err = %v", err)
	}
}

func TestHooksThatFailStopTheChange(t *testing.T) {
	b := newTable(t)
	broken := errors.New("the machinery is broken")
	b.hook = func(hooks.Payload) (hooks.Outcome, error) { return hooks.Outcome{}, broken }
	b.add(tasks.New{Subject: "one", Owner: "dev"})
	if _, _, err := b.board.Update(t.Context(), b.as("dev", ""), "1", to(tasks.Completed)); !errors.Is(err, broken) {
		t.Errorf("completing: %v", err)
	}
	b.want("1", tasks.Pending, "dev")
	if _, err := b.board.Create(t.Context(), b.as("dev", ""), tasks.New{Subject: "two"}); !errors.Is(err, broken) {
		t.Errorf("creating: %v", err)
	}
	if all, err := b.board.deps.Store.List(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("the list holds %d tasks, %v; the second one was not agreed to", len(all), err)
	}
}

// TestCreationCutOffBeforeItsVerdict repeats a call that a crash cut off
// between storing the task and its hooks' verdict: there is one task, and the
// hooks are asked, for nobody knows what they said.
func TestCreationCutOffBeforeItsVerdict(t *testing.T) {
	for _, verdict := range []hooks.Decision{hooks.Pass, hooks.Block} {
		t.Run(string(verdict), func(t *testing.T) {
			b := newTable(t)
			by := b.as("dev", "call-1")
			b.hook = func(hooks.Payload) (hooks.Outcome, error) { return hooks.Outcome{}, context.Canceled }
			if _, err := b.board.Create(t.Context(), by, tasks.New{Subject: "one"}); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			b.hook = func(hooks.Payload) (hooks.Outcome, error) {
				return hooks.Outcome{Decision: verdict, Feedback: []string{"no"}}, nil
			}
			again, err := b.board.Create(t.Context(), by, tasks.New{Subject: "one"})
			var refused *RefusedError
			if again.ID != "1" || (verdict == hooks.Block) != errors.As(err, &refused) {
				t.Fatalf("the repeated call: %+v, %v", again, err)
			}
			if proposed, err := b.board.deps.Store.Proposed(t.Context()); err != nil || len(proposed) > 0 {
				t.Errorf("%d tasks are still proposed, %v", len(proposed), err)
			}
			asked := len(b.fired)
			b.hook = func(hooks.Payload) (hooks.Outcome, error) { // who is of another mind by now
				return hooks.Outcome{Decision: map[bool]hooks.Decision{true: hooks.Block, false: hooks.Pass}[verdict == hooks.Pass]}, nil
			}
			third, err := b.board.Create(t.Context(), by, tasks.New{Subject: "one"})
			if third.ID != "1" || (verdict == hooks.Block) != errors.As(err, &refused) || refused != nil && refused.Feedback != "no" {
				t.Errorf("once more: %+v, %v", third, err)
			}
			all, err := b.board.deps.Store.List(t.Context())
			if err != nil || (len(all) == 1) != (verdict == hooks.Pass) || len(b.fired) != asked {
				t.Errorf("%d tasks, %v, asked %v; one call makes one and asks no more", len(all), err, b.fired)
			}
		})
	}
}

func TestHaltInATaskHook(t *testing.T) {
	for name, reason := range map[string]string{"": "TaskCompleted hook prevented continuation", "enough": "enough"} {
		b := newTable(t)
		b.add(tasks.New{Subject: "one", Owner: "dev"})
		b.hook = func(hooks.Payload) (hooks.Outcome, error) {
			return hooks.Outcome{Decision: hooks.Halt, StopReason: name}, nil
		}
		var halted string
		dev := b.as("dev", "")
		dev.Halt = func(reason string) { halted = reason }
		_, _, err := b.board.Update(t.Context(), dev, "1", to(tasks.Completed))
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.halt != reason || halted != reason {
			t.Errorf("err = %v, the member was halted for %q, want %q", err, halted, reason)
		}
		if want := "TaskCompleted hook stopped continuation: " + reason; refused.Feedback != want {
			t.Errorf("the model reads %q, want %q", refused.Feedback, want)
		}
		b.want("1", tasks.Pending, "dev")
	}
}

// TestHaltOfTheLeadsOwnUpdate: continue:false is ignored where nobody can be stopped,
// and a refusal beside it holds.
func TestHaltOfTheLeadsOwnUpdate(t *testing.T) {
	for _, who := range []string{"lead", ""} {
		b := newTable(t)
		b.add(tasks.New{Subject: "one"})
		out := hooks.Outcome{Decision: hooks.Halt, StopReason: "enough", Feedback: []string{"no"}}
		b.hook = func(hooks.Payload) (hooks.Outcome, error) { return out, nil }
		_, _, err := b.board.Update(t.Context(), b.as(who, ""), "1", to(tasks.Completed))
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Feedback != "no" || refused.halt != "" {
			t.Errorf("%q: refused with %v", who, err)
		}
		out.Feedback = nil
		if _, _, err := b.board.Update(t.Context(), b.as(who, ""), "1", to(tasks.Completed)); err != nil {
			t.Errorf("%q: a halt alone: %v", who, err)
		}
		b.want("1", tasks.Completed, "")
	}
}

func TestStartTakesOtherFieldsAlong(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "one"}, tasks.New{Subject: "two", Owner: "ops"}, tasks.New{Subject: "three", Owner: "ops"})
	form := "doing it"
	p := to(tasks.InProgress)
	p.ActiveForm = &form
	got, fields, err := b.board.Update(t.Context(), b.as("dev", "c1"), "1", p)
	if err != nil || got.ActiveForm != form || !slices.Equal(fields, []string{"activeForm", "owner", "status"}) {
		t.Errorf("%+v, %v, %v", got, fields, err)
	}
	b.want("1", tasks.InProgress, "dev")
	// Who begins another's task begins it for its owner.
	if _, fields, err := b.board.Update(t.Context(), b.as("lead", ""), "2", to(tasks.InProgress)); err != nil ||
		!slices.Equal(fields, []string{"status"}) {
		t.Errorf("the lead begins ops's task: %v, %v", fields, err)
	}
	b.want("2", tasks.InProgress, "ops")
	// The operator owns nothing, so beginning a task of nobody's is refused by the store.
	b.add(tasks.New{Subject: "four"})
	if _, _, err := b.board.Update(t.Context(), b.as("", ""), "4", to(tasks.InProgress)); err == nil {
		t.Error("a task in progress of nobody's")
	}
	b.want("4", tasks.Pending, "")
	ghost := "ghost"
	if _, _, err := b.board.Update(t.Context(), b.as("lead", ""), "4", tasks.Patch{Owner: &ghost}); !errors.Is(err, api.ErrNoMember) {
		t.Errorf("an owner who is no member: %v", err)
	}
	if _, err := b.board.Create(t.Context(), b.as("lead", ""), tasks.New{Subject: "x", Owner: ghost}); !errors.Is(err, api.ErrNoMember) {
		t.Errorf("created for no member: %v", err)
	}
}

func TestOldSessionsAreFencedOff(t *testing.T) {
	b := newTable(t)
	b.add(tasks.New{Subject: "one", Owner: "dev"})
	old := b.as("dev", "")
	b.as("dev", "") // the member is attached anew
	if _, _, err := b.board.Update(t.Context(), old, "1", to(tasks.InProgress)); !errors.Is(err, tasks.ErrStale) {
		t.Errorf("a claim by an earlier session: %v", err)
	}
	if _, err := b.board.sendText(t.Context(), old, "lead", mail.Outgoing{Text: "hi"}); !errors.Is(err, tasks.ErrStale) {
		t.Errorf("a message by an earlier session: %v", err)
	}
}

func TestSendKnowsItsReceivers(t *testing.T) {
	tests := []struct {
		from, to, text string
		want           string // receivers, or a part of the error
		kind           error
	}{
		{"dev", "lead", "hi", "lead", nil},
		{"dev", "main", "hi", "lead", nil},
		{"dev", "team-lead", "hi", "lead", nil},
		{"dev", "*", "hi", "lead ops", nil},
		{"", "*", "hi", "lead dev ops", nil},
		{"dev", "dev", "hi", "you are dev", api.ErrNoMember},
		{"lead", "main", "hi", "you are lead", api.ErrNoMember},
		{"dev", "", "hi", `needs a recipient in "to"`, api.ErrNoMember},
		{"dev", "Lead", "hi", `no member is called "Lead"; did you mean lead?`, api.ErrNoMember},
		{"dev", "lead", " \n\t", "the message to lead is empty", api.ErrEmpty},
	}
	for _, tt := range tests {
		t.Run(tt.from+" to "+tt.to, func(t *testing.T) {
			b := newTable(t)
			sent, err := b.board.sendText(t.Context(), b.as(tt.from, ""), tt.to, mail.Outgoing{Text: tt.text})
			if tt.kind != nil {
				if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("err = %v, want %q", err, tt.want)
				}
				return
			}
			var got []string
			for _, m := range sent {
				got = append(got, m.To)
				if mail, err := b.board.deps.Store.Mail().Unread(t.Context(), m.To); err != nil || len(mail) != 1 || mail[0].ID != m.ID {
					t.Errorf("the mailbox of %s holds %+v, %v", m.To, mail, err)
				}
			}
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("sent to %v, %v; want %s", got, err, tt.want)
			}
		})
	}
}

func TestSummaryIsOneShortLine(t *testing.T) {
	b := newTable(t)
	long := strings.Repeat("ä", 250)
	for text, want := range map[string]string{
		"\n  first line\nsecond": "first line",
		long:                     strings.Repeat("ä", 199) + "…",
	} {
		sent, err := b.board.sendText(t.Context(), b.as("dev", ""), "lead", mail.Outgoing{Text: text})
		if err != nil || sent[0].Summary != want || sent[0].Text != text {
			t.Errorf("%+v, %v", sent, err)
		}
	}
}
