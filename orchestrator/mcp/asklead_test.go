package mcp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/tasks/requests"
)

// whichColour is what members ask in these tests.
const whichColour = `{"question":"Which colour?"}`

// ask calls the tool that asks the lead; its answer comes on the channel.
func (r *rig) ask(ctx context.Context, a testkit.MCPAgent, request ...string) <-chan testkit.MCPAnswer {
	got := make(chan testkit.MCPAnswer, 1)
	go func() {
		f, err := a.Try(ctx, teamtools.AskTool, whichColour, request...)
		if err != nil && ctx.Err() == nil {
			r.t.Errorf("the question: %v", err)
		}
		got <- f
	}()
	return got
}

// questions waits until the store has n requests, and returns them.
func (r *rig) questions(n int) []requests.Request {
	r.t.Helper()
	var all []requests.Request
	testkit.Eventually(r.t, "the questions", func() bool {
		var err error
		all, err = r.store.Requests().List(r.t.Context())
		testkit.Must(r.t, err)
		return len(all) >= n
	})
	if len(all) != n {
		r.t.Fatalf("there are %d questions, want %d: %+v", len(all), n, all)
	}
	return all
}

// reads makes a member read its mail, and returns the texts of it.
func (r *rig) reads(member string) (texts []string) {
	r.t.Helper()
	mail, err := r.store.Mail().Unread(r.t.Context(), member)
	testkit.Must(r.t, err)
	for _, m := range mail {
		texts = append(texts, m.Text)
		testkit.Must(r.t, r.store.Mail().Deliver(r.t.Context(), r.members[member].Actor(), []string{m.ID}))
	}
	return texts
}

// waiting waits until n requests wait for the result of a member's calls.
func (r *rig) waiting(member string, n int) {
	r.t.Helper()
	book := r.server.desks[member].book
	testkit.Eventually(r.t, "the calls", func() bool {
		book.mu.Lock()
		defer book.mu.Unlock()
		sum := 0
		for _, c := range book.calls {
			sum += c.waiting
		}
		return sum == n
	})
}

// TestTwoAskTheLead: two members ask the same at the same time, and each gets the answer that the
// lead writes to it, as the result of its call and not as mail besides.
func TestTwoAskTheLead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.connect("lead")
	dev, docs := r.ask(t.Context(), r.connect("dev")), r.ask(t.Context(), r.connect("docs"))
	r.questions(2)
	if got := r.reads("lead"); len(got) != 2 {
		t.Fatalf("the lead got %q", got)
	}
	lead.Use(teamtools.SendTool, `{"to":"docs","message":"Red."}`).Want(t, false, "docs has your answer")
	lead.Use(teamtools.SendTool, `{"to":"dev","message":"Blue."}`).Want(t, false, "dev has your answer")
	(<-dev).Want(t, false, "the answer to your question", "Blue.")
	(<-docs).Want(t, false, "the answer to your question", "Red.")
	lead.Use(teamtools.SendTool, `{"to":"dev","message":"Or green."}`).Want(t, false, "dev")
	if got := r.reads("dev"); len(got) != 1 || got[0] != "Or green." {
		t.Errorf("dev got %q; an answer is no mail, and what comes after it is", got)
	}
	if got := r.reads("docs"); len(got) != 0 {
		t.Errorf("docs got %q besides", got)
	}
}

// TestNamedQuestionIsOne: a program that sends its call again under the same id, while it waits or
// later, asks nothing new; the same words under another id are a new question.
func TestNamedQuestionIsOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead, dev := r.connect("lead"), r.connect("dev")
	first, again := r.ask(t.Context(), dev, "r1"), r.ask(t.Context(), dev, "r1")
	r.questions(1)
	r.waiting("dev", 2)
	r.reads("lead")
	lead.Use(teamtools.SendTool, `{"to":"dev","message":"Blue."}`).Want(t, false, "dev has your answer")
	(<-first).Want(t, false, "Blue.")
	(<-again).Want(t, false, "Blue.")
	dev.Use(teamtools.AskTool, whichColour, "r1").Want(t, false, "Blue.")
	r.questions(1)
	other := r.ask(t.Context(), dev, "r2")
	r.questions(2)
	r.reads("lead")
	lead.Use(teamtools.SendTool, `{"to":"dev","message":"Red by now."}`).Want(t, false, "dev has your answer")
	(<-other).Want(t, false, "Red by now.")
}

// TestQuestionIsFetchedByItsRepeat: a program that was told that its call goes on gets the answer
// by the same call, and the lead is asked once.
func TestQuestionIsFetchedByItsRepeat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.server.deps.Within = time.Nanosecond
	dev := r.connect("dev")
	dev.Use(teamtools.AskTool, whichColour).Want(t, false, "Still checking", "call team_ask_lead again")
	r.questions(1)
	r.reads("lead")
	_, err := r.board.Send(t.Context(), teamtools.Actor{Actor: r.members["lead"].Actor()},
		teamtools.SendMessageInput{To: "dev", Message: []byte(`"Blue."`)})
	testkit.Must(t, err)
	testkit.Eventually(t, "the answer", func() bool {
		f := dev.Use(teamtools.AskTool, whichColour)
		return strings.Contains(f.Text, "Blue.")
	})
	r.questions(1)
	if got := r.reads("dev"); len(got) != 0 {
		t.Errorf("dev got %q besides", got)
	}
}

// TestTurnEndsWhileAMemberAsks: an answer that comes when the turn is over is not lost: a program that
// makes its call again in the next turn gets it.
func TestTurnEndsWhileAMemberAsks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead, dev := r.connect("lead"), r.connect("dev")
	r.turn("dev", 1, true)
	asked := r.ask(t.Context(), dev)
	r.questions(1)
	r.turn("dev", 1, false)
	r.reads("lead")
	lead.Use(teamtools.SendTool, `{"to":"dev","message":"Blue."}`).Want(t, false, "dev has your answer")
	(<-asked).Want(t, false, "Blue.")
	r.turn("dev", 2, true)
	dev.Use(teamtools.AskTool, whichColour).Want(t, false, "Blue.")
	r.questions(1)
}

// TestAskerHangsUp: a program that gives its call up, as one does whose turn is interrupted, may never
// make it again. What the lead writes then reaches the member all the same, as mail.
func TestAskerHangsUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead, dev := r.connect("lead"), r.connect("dev")
	ctx, hangUp := context.WithCancel(t.Context())
	asked := r.ask(ctx, dev)
	r.questions(1)
	r.reads("lead")
	hangUp()
	<-asked
	testkit.Eventually(t, "the end of the question", func() bool { return !r.questions(1)[0].Open() })
	lead.Use(teamtools.SendTool, `{"to":"dev","message":"Blue."}`).Want(t, false, "dev")
	if got := r.reads("dev"); len(got) != 1 || got[0] != "Blue." {
		t.Errorf("dev got %q", got)
	}
}

// TestLeadHasNobodyToAsk: the lead is not offered the tool, and cannot call it.
func TestLeadHasNobodyToAsk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lead := r.connect("lead")
	list, err := lead.ListTools(t.Context(), nil)
	testkit.Must(t, err)
	for _, tool := range list.Tools {
		if tool.Name == teamtools.AskTool {
			t.Error("the lead is offered the tool")
		}
	}
	a, err := r.server.Call(t.Context(), api.TeamCall{Tool: teamtools.AskTool, Input: []byte(whichColour), As: "lead"})
	if err != nil || !a.IsError || !strings.Contains(a.Text, "there is no team tool") {
		t.Errorf("the lead asks: %+v, %v", a, err)
	}
	if mail, err := r.store.Mail().Unread(t.Context(), "lead"); err != nil || len(mail) > 0 {
		t.Errorf("the lead got %+v, %v", mail, err)
	}
}
