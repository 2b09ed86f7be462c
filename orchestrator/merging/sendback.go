package merging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// Return sends finished work back to its author, for a person.
func (d *Merger) Return(ctx context.Context, r api.ReturnRequest) (api.ReturnReply, error) {
	reply, err := sender{store: d.deps.Store, team: d.deps.Team()}.send(ctx, r)
	if d.hasRepo() {
		err = errors.Join(err, d.updateOnWay(ctx))
		d.wake()
	}
	d.deps.Changed()
	return reply, err
}

// ReturnStopped is Merger.Return for a team that does not run; its next run goes on with it.
// It fails with state.ErrRunning if the team runs.
func ReturnStopped(
	ctx context.Context, p state.Place, team *configs.Team, r api.ReturnRequest,
) (reply api.ReturnReply, err error) {
	err = state.UseStopped(p, func(store *tasks.Store) error {
		reply, err = sender{store: store, team: team}.send(ctx, r)
		return err
	})
	return reply, err
}

// QuestionAbout returns the open question whose denial returns the work on a task: whether it
// may be completed, or be merged.
func QuestionAbout(open []requests.Request, task string) (requests.Request, bool) {
	i := slices.IndexFunc(open, func(r requests.Request) bool {
		about := r.Kind == requests.AskApproval || r.Kind == requests.AskMerge
		return about && r.Open() && inbox.PayloadOf(r).TaskID == task
	})
	if i < 0 {
		return requests.Request{}, false
	}
	return open[i], true
}

// sender sends finished work back to its author.
type sender struct {
	store *tasks.Store
	team  *configs.Team
}

// send returns the work on a task. What is on its way is stopped and becomes a task for its
// author, which is merged only when that is done. For merged work there is a new task too. Where
// no merge holds the work, as in a shared folder, the task is open again.
func (s sender) send(ctx context.Context, r api.ReturnRequest) (api.ReturnReply, error) {
	r.Text = strings.TrimSpace(r.Text)
	if r.Text == "" {
		return api.ReturnReply{}, texts.Errorf(tasks.ErrInvalid, "say what is to be changed")
	}
	t, err := s.store.Task(ctx, r.Task)
	if err != nil {
		return api.ReturnReply{}, fmt.Errorf("send work back: %w", err)
	}
	if t.Status != tasks.Completed {
		return api.ReturnReply{}, texts.Errorf(tasks.ErrTransition,
			"task %s is %s: there is no finished work to send back; covey send tells its owner", t.ID, t.Status)
	}
	for tries := 1; ; tries++ {
		reply, err := s.sendOnce(ctx, t, r.Text)
		if !errors.Is(err, tasks.ErrConflict) || tries == maxTries {
			return reply, err
		}
	}
}

// sendOnce attempts to return work. It fails with tasks.ErrConflict if the work has made a step
// meanwhile.
func (s sender) sendOnce(ctx context.Context, t tasks.Task, text string) (api.ReturnReply, error) {
	all, err := s.store.Merges().List(ctx)
	if err != nil {
		return api.ReturnReply{}, fmt.Errorf("find the work on task %s: %w", t.ID, err)
	}
	merged := false
	for _, m := range slices.Backward(all) {
		if !slices.Contains(m.Tasks, t.ID) {
			continue
		}
		if !m.State.Over() {
			return s.stop(ctx, m, text)
		}
		merged = merged || m.State == tasks.MergeDone
	}
	if merged {
		fix := fixFor(s.team, t.Owner, "Revise task "+t.ID+": "+t.Subject, sentBack("task "+t.ID, text))
		fix.Metadata = map[string]json.RawMessage{view.KeyRevises: texts.Encode(t.ID)}
		made, err := s.store.Add(ctx, actors.Actor{Name: actors.Operator}, []tasks.New{fix})
		if err != nil {
			return api.ReturnReply{}, fmt.Errorf("make a task of merged work: %w", err)
		}
		return api.ReturnReply{How: api.ReturnedMerged, Task: made[0].ID, Member: made[0].Owner}, nil
	}
	return s.reopen(ctx, t, text)
}

// stop takes work out of the merge queue and makes a task of it for its author.
//
// A test that runs goes on, but its result counts for nothing, because the merge has another
// version then. Work that lands cannot be stopped: its branch may have moved already. The task
// has no KeyMerge, so that its work waits for a person again unless the spec merges unasked.
func (s sender) stop(ctx context.Context, m tasks.Merge, text string) (api.ReturnReply, error) {
	switch m.State {
	case tasks.MergeReturned:
		return api.ReturnReply{}, texts.Errorf(tasks.ErrTransition,
			"its author has it back already, as task %s; covey send adds a word", m.Fix)
	case tasks.MergeLanding:
		return api.ReturnReply{}, texts.Errorf(tasks.ErrTransition,
			"%s is being moved to it at this moment; send it back when it is merged", m.Into)
	}
	m.State, m.Reason, m.Files, m.Refused = tasks.MergeReturned, "a person sent it back: "+firstParagraph(text), nil, true
	fix := fixFor(s.team, m.Member, "Revise "+subject(m), sentBack(name(m), text))
	next, err := s.store.Merges().Move(ctx, actors.Actor{Name: actors.Operator}, m, &fix)
	return api.ReturnReply{How: api.ReturnedStopped, Task: next.Fix, Member: fix.Owner}, err
}

// firstParagraph returns the words of a text before its first empty line, in one line.
func firstParagraph(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	return texts.Unbroken(text)
}

// fixFor is the task of an author whose work was returned. If the author is no member any more,
// anybody may take it.
func fixFor(team *configs.Team, author, title, todo string) tasks.New {
	n := tasks.New{Subject: title, Description: todo}
	if slices.Contains(team.MemberNames(), author) {
		n.Owner = author
	}
	return n
}

// sentBack tells an author why its work came back.
func sentBack(work, text string) string {
	return fmt.Sprintf("A person has looked at your work (%s) and sends it back:\n\n%s\n\n"+
		"Change it, and set this task to completed when it is done.", work, text)
}

// reopen makes a completed task pending again, and tells its owner why. The text is a message
// and no part of the description, which would then seem to be a person's altogether.
func (s sender) reopen(ctx context.Context, t tasks.Task, text string) (api.ReturnReply, error) {
	by := actors.Actor{Name: actors.Operator}
	pending := tasks.Pending
	p := tasks.Patch{Version: t.Version, Status: &pending, Reason: "sent back: " + firstParagraph(text)}
	if t.Owner != "" && !slices.Contains(s.team.MemberNames(), t.Owner) {
		p.Owner = new(string)
	}
	now, _, err := s.store.Update(ctx, by, t.ID, p)
	if err != nil {
		return api.ReturnReply{}, fmt.Errorf("open a task again: %w", err)
	}
	reply := api.ReturnReply{How: api.ReturnedOpen, Task: t.ID, Member: now.Owner}
	if now.Owner == "" {
		return reply, nil
	}
	_, err = s.store.Mail().Send(ctx, by, mail.Outgoing{
		To: []string{now.Owner}, Kind: mail.OperatorMessage, Text: sentBack("task "+t.ID, text),
		Summary: "task " + t.ID + " is sent back",
	})
	if err != nil {
		err = fmt.Errorf("task %s is open again, but %s was not told why; covey send does: %w",
			t.ID, now.Owner, err)
	}
	return reply, err
}
