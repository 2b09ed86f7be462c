package acpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
)

// talk tells a client of one run, and asks it what the team asks a person.
type talk struct {
	session *session
	story   *story
	open    []requests.Request            // of earlier runs: the client is asked once the team is up
	asked   map[string]context.CancelFunc // open requests that the client was asked about, by id
	asking  sync.WaitGroup
}

// newTalk returns a talk about the team of a session, which does not run now. Of a store that
// cannot be read nothing is known: the run says what is wrong with it.
func newTalk(ctx context.Context, s *session) *talk {
	t := &talk{session: s, asked: map[string]context.CancelFunc{}}
	var list []tasks.Task
	if store, err := s.place.OpenStore(); err == nil {
		list, _ = store.List(ctx)
		t.open, _ = store.Requests().Open(ctx, "")
		_ = store.Close() // it was only read
	}
	t.story = newStory(s.opened().lead, list)
	return t
}

// send sends updates. An error means that the client has left, which ends the prompt anyway.
func (t *talk) send(updates ...acp.SessionUpdate) {
	for _, u := range updates {
		_ = t.session.conn.SessionUpdate(context.Background(), acp.SessionNotification{
			SessionId: t.session.id, Update: u,
		})
	}
}

// follow tells of a run until it is over. Questions end with it, or with ctx.
func (t *talk) follow(ctx context.Context, run *run) {
	ctx, cancel := context.WithCancel(ctx)
	for e := range run.lines {
		t.send(t.story.tell(e)...)
		switch d := e.Data.(type) {
		case events.RequestChanged:
			t.request(ctx, d.Request)
		case events.MemberStarted: // the team answers questions now
			for _, r := range t.open {
				t.request(ctx, r)
			}
			t.open = nil
		}
	}
	cancel()
	t.asking.Wait()
	t.send(t.story.rest()...)
}

// replayed is how many lines of the journal a loaded session repeats.
const replayed = 1000

// replay tells the end of the journal again, and the plan. A team that has never run has nothing
// to repeat.
func (t *talk) replay() {
	lines, err := state.JournalTail(t.session.place.Journal(), replayed, nil)
	if err != nil {
		return
	}
	for _, l := range lines {
		e := l.Event()
		t.send(t.story.prompted(e)...)
		t.send(t.story.tell(e)...)
	}
	t.send(t.story.plan())
}

// stopReason returns how a run has ended. A reason that the protocol lacks is told in words.
func (t *talk) stopReason(run *run) (acp.StopReason, error) {
	place, ended := t.session.place, t.story.ended
	switch {
	case ended == nil:
		return "", fmt.Errorf("team %s: %s", place.Team, run.trouble())
	case ended.ExitCode == orchestrator.CodeInterrupted:
		return acp.StopReasonCancelled, nil // somebody else has stopped it
	}
	if last, err := state.ReadRunFile(place); err == nil && last.Result != nil {
		t.send(t.story.answer(last.Result.Answer)...)
		if work := last.Result.Unmerged; len(work) > 0 {
			t.send(t.story.text(message, fmt.Sprintf("This work is not merged; `covey -C %q --team %s review` shows it:\n- %s",
				place.Workspace, place.Team, strings.Join(work, "\n- ")))...)
		}
	}
	if ended.ExitCode == orchestrator.CodeDone {
		return acp.StopReasonEndTurn, nil
	}
	t.send(t.story.text(message, "The team stopped: "+ended.Reason)...)
	if ended.ExitCode == orchestrator.CodeLimit {
		return acp.StopReasonMaxTurnRequests, nil
	}
	return acp.StopReasonEndTurn, nil
}

// request asks the client about an open request for a person, and withdraws that once it is
// closed.
func (t *talk) request(ctx context.Context, r requests.Request) {
	if withdraw := t.asked[r.ID]; withdraw != nil && !r.Open() {
		withdraw()
		delete(t.asked, r.ID)
	}
	if !askable(r) || t.asked[r.ID] != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	t.asked[r.ID] = cancel
	// A request may stand in the journal before its call: then the client sees both.
	call, known := t.story.calls[callKey{r.Member, inbox.PayloadOf(r).Call}]
	t.asking.Go(func() {
		defer cancel()
		err := t.ask(ctx, r.ID, call, known)
		select {
		case <-t.session.conn.Done(): // it stays open, and is asked with the next prompt
			return
		default:
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, tasks.ErrAnswered) {
			t.session.server.env.Err.Printf("covey: ask about request %s of team %s: %v\n",
				r.ID, t.session.place.Team, err)
		}
	})
}

// askable reports whether the team waits until a person says yes or no to a request. Others are
// told of in words: a team does not wait for those about a member that needs attention.
func askable(r requests.Request) bool {
	return r.Open() && inbox.ForPerson(r) && r.Kind != requests.AskQuestion && r.Kind != requests.AskAttention
}

// The answers that a client may choose.
const (
	answerYes acp.PermissionOptionId = "yes"
	answerNo  acp.PermissionOptionId = "no"
)

// ask asks the client about a request and gives the team the answer. call is the tool call that
// it is about, if the client knows it; any other request is shown as a call of its own. No answer,
// and an error as the answer, is a no, or the team would wait for ever. If ctx has ended or the
// client has left, the request stays open.
func (t *talk) ask(ctx context.Context, id string, call acp.ToolCallId, known bool) error {
	place := t.session.place
	found, err := cli.ReadInbox(ctx, place, api.InboxQuery{ID: id}) // with all of its payload
	if err != nil || len(found) != 1 || !found[0].Open() {
		return err
	}
	question := questionOf(found[0])
	if question.ToolCallId = call; !known {
		question.ToolCallId = acp.ToolCallId("request-" + id)
		t.send(acp.StartToolCall(question.ToolCallId, *question.Title,
			acp.WithStartStatus(acp.ToolCallStatusPending)))
	}
	reply, err := t.session.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionId: t.session.id, ToolCall: question, Options: []acp.PermissionOption{
			{OptionId: answerYes, Name: "Yes", Kind: acp.PermissionOptionKindAllowOnce},
			{OptionId: answerNo, Name: "No", Kind: acp.PermissionOptionKindRejectOnce},
		},
	})
	chosen := reply.Outcome.Selected
	yes := err == nil && chosen != nil && chosen.OptionId == answerYes
	if !known {
		t.send(acp.UpdateToolCall(question.ToolCallId, acp.WithUpdateStatus(statusOf(yes))))
	}
	select {
	case <-t.session.conn.Done():
		return err
	case <-ctx.Done():
		return err
	default:
	}
	answer := api.InboxAnswer{ID: id, Approve: yes}
	if err != nil {
		why := err.Error()
		if refused := new(acp.RequestError); errors.As(err, &refused) { // whose text is JSON
			why = refused.Message
		}
		answer.Feedback = "the editor could not ask the user: " + texts.Short(why, texts.LineWidth)
	}
	_, _, err = cli.AnswerInbox(ctx, place, answer)
	return err
}

// questionOf describes a request to the client.
func questionOf(r requests.Request) acp.ToolCallUpdate {
	q := acp.ToolCallUpdate{Title: acp.Ptr(r.Text), Status: acp.Ptr(acp.ToolCallStatusPending)}
	if text := inbox.RequestText(r); text != "" {
		q.Content = []acp.ToolCallContent{acp.ToolContent(acp.TextBlock(text))}
	}
	return q
}
