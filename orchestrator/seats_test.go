package orchestrator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator/crew"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestNotesInOnePrompt: what the lead sees of many members is one line, and of
// those who answered somebody their words; both once, and mail comes first.
func TestNotesInOnePrompt(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles(""))
	lead := r.team.Seats.Lead()
	put := func(from string, wakes bool, completed ...string) {
		t.Helper()
		n := mail.Note{IdleNote: mail.IdleNote{From: from, IdleReason: "available", Result: "words of " + from}}
		n.Wakes, n.Completed = wakes, completed
		if err := r.team.Store.Mail().PutNote(t.Context(), "lead", n); err != nil {
			t.Fatal(err)
		}
	}
	put("ana", false, "1", "2", "3")
	put("ben", false)
	put("cy", false, "4")
	put("dev", true, "5")
	goal, err := r.team.Store.Mail().Unread(t.Context(), "lead")
	if err != nil {
		t.Fatal(err)
	}
	if err := lead.Taken(t.Context(), []string{goal[0].ID}); err != nil {
		t.Fatal(err)
	}
	if in, err := lead.Waiting(t.Context()); err != nil || len(in) > 0 {
		t.Fatalf("notes alone come into a turn: %+v, %v", in, err)
	}
	if _, err := r.team.Store.Mail().Send(t.Context(), actors.Actor{Name: "dev"},
		mail.Outgoing{To: []string{"lead"}, Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	in, err := lead.Waiting(t.Context())
	if err != nil || len(in) != 3 {
		t.Fatalf("the lead is shown %+v, %v", in, err)
	}
	for i, want := range []string{
		`>hello</teammate-message>`, `"result":"words of dev","completedTaskId":"5"`,
		"Since you last looked: ana completed tasks 1, 2 and 3; cy completed task 4.",
	} {
		if !strings.Contains(in[i].Text, want) {
			t.Errorf("input %d is %q, want %q in it", i, in[i].Text, want)
		}
		if err := lead.Taken(t.Context(), []string{in[i].MessageID}); err != nil {
			t.Fatal(err)
		}
	}
	left, err := r.team.Store.Mail().Notes(t.Context(), "lead")
	if err != nil || len(left) != 1 || left[0].From != "ben" {
		t.Errorf("left are %+v, %v", left, err)
	}
	if mail, err := r.team.Store.Mail().Unread(t.Context(), "lead"); err != nil || len(mail) > 0 {
		t.Errorf("unread are %+v, %v", mail, err)
	}
}

// TestApprovalIsReadAsItIsStored: a member that reads the approval of its plan before the
// inbox has acted on the stored answer may work all the same. A mode that it gets after
// that stays when the inbox acts.
func TestApprovalIsReadAsItIsStored(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "{model: dev}", "{model: dev, plan: required}", 1) +
			"defaults: {permission_mode: bypassPermissions}\ntasks: [{id: a, subject: Make it, owner: dev}]\n",
		"lead.yaml": "steps: []\n", "dev.yaml": "steps: []\n",
	})
	dev, plans := r.seat("dev"), r.team.Asks.Plans
	q, err := r.team.Asks.Ask(t.Context(), dev.Member.Actor(), requests.New{
		Kind: requests.AskPlan, Member: "dev", To: "lead", Text: "May I?",
		Payload: texts.Encode(inbox.Payload{Session: dev.Member.Session.Session}),
	})
	testkit.Must(t, err)
	// The store alone answers, as if the inbox had not come to it yet.
	q, err = r.team.Store.Requests().Answer(t.Context(), actors.Actor{Name: "lead"}, q.ID, requests.Ruling{
		Approve: true, Mail: func(q requests.Request) mail.Outgoing { return inbox.AnswerMail(q, time.Time{}) },
	})
	testkit.Must(t, err)
	in, err := dev.Waiting(t.Context())
	if err != nil || len(in) != 2 || !strings.Contains(in[1].Text, `"approve":true`) { // its task comes first
		t.Fatalf("dev reads %+v, %v", in, err)
	}
	mode := func() string { return string(dev.Teammate().Rights().Now().Mode) }
	if plans.MustPlan(dev.Member) || mode() != "bypassPermissions" {
		t.Errorf("dev must plan: %v, in mode %s", plans.MustPlan(dev.Member), mode())
	}
	testkit.Must(t, plans.GiveMode(t.Context(), dev.Member, "acceptEdits"))
	testkit.Must(t, plans.ApplyAnswer(t.Context(), q))
	if mode() != "acceptEdits" {
		t.Errorf("the inbox put dev back into mode %s", mode())
	}
}

// A run that ends before its loop begins keeps nobody waiting who wants something done there.
func TestRunThatNeverBegins(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles(""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.team.crew.Run(ctx, crew.Purpose{}); err == nil {
		t.Fatal("it has run")
	}
	err := r.team.Loop.Do(t.Context(), func(context.Context) error { return nil })
	if !errors.Is(err, members.ErrOver) {
		t.Errorf("who waits for the loop is told %v", err)
	}
}

// A member of the spec that has no seat yet is nobody in whose name something is done, and
// nothing can be done with it.
func TestNobodyActsWithoutASeat(t *testing.T) {
	t.Parallel()
	r := newCrewRig(t, mcpFiles(""))
	r.team.Board.SetTeam(&configs.Team{Lead: configs.Member{Name: "lead"}, Teammates: []configs.Member{{Name: "dev"}, {Name: "ghost"}}})
	q := commands{t: r.team}
	for what, do := range map[string]func(context.Context) error{
		"it sends": func(ctx context.Context) error {
			_, err := q.send(ctx, api.Send{As: "ghost", To: "lead", Text: "hi"})
			return err
		},
		"its call is guarded": func(ctx context.Context) error {
			return r.team.tools.GuardCommand(ctx, "ghost", api.Send{To: "lead", Text: "hi"})
		},
		"it is held":     func(ctx context.Context) error { _, err := q.hold(ctx, api.HoldRequest{Member: "ghost"}); return err },
		"nobody is held": func(ctx context.Context) error { _, err := q.hold(ctx, api.HoldRequest{}); return err },
		"it is interrupted": func(ctx context.Context) error {
			_, err := q.interrupt(ctx, api.InterruptRequest{Member: "ghost"})
			return err
		},
		"it is asked to end": func(ctx context.Context) error {
			_, err := r.team.crew.EndMember(ctx, api.EndMember{Member: "ghost"})
			return err
		},
		"it is ended": func(ctx context.Context) error {
			_, err := r.team.crew.EndMember(ctx, api.EndMember{Member: "ghost", Now: true})
			return err
		},
		"it gets a mode": func(ctx context.Context) error {
			_, err := q.send(ctx, api.Send{To: "ghost", Text: `{"type":"mode_set_request","mode":"plan"}`})
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := do(ctx)
		cancel()
		want := "ghost has no place in the team yet"
		if what == "nobody is held" {
			want = `no member is called ""; the members are lead, dev`
		}
		if !errors.Is(err, api.ErrNoMember) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	if open, err := r.team.Store.Requests().List(t.Context()); len(open) > 0 || err != nil {
		t.Errorf("asked is %+v, %v", open, err)
	}
}
