package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks/requests"
)

// ReadInbox asks the running team or, if none runs, reads its files: questions
// outlive the process that asked them. With a time limit, a team that hangs gives an
// error instead of hanging the command.
func ReadInbox(ctx context.Context, place state.Place, q api.InboxQuery) ([]requests.Request, error) {
	ctx, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	return Ask(ctx, place, func(c *api.Client) ([]requests.Request, error) {
		return c.Inbox(ctx, q)
	}, func() ([]requests.Request, error) { return filedInbox(ctx, place, q) })
}

// filedInbox reads the questions of a team that does not run.
func filedInbox(ctx context.Context, place state.Place, q api.InboxQuery) ([]requests.Request, error) {
	store, err := place.OpenStore()
	switch never := errors.Is(err, fs.ErrNotExist); {
	case never && q.ID != "":
		return nil, fmt.Errorf("there is no request %s: team %s has never run", q.ID, place.Team)
	case never:
		return []requests.Request{}, nil // it has asked nothing
	}
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if q.ID != "" {
		r, err := store.Requests().Find(ctx, q.ID)
		return []requests.Request{r}, err
	}
	list, err := store.Requests().List(ctx)
	if err != nil || q.All {
		return list, err
	}
	return slices.DeleteFunc(list, func(r requests.Request) bool { return !r.Open() }), nil
}

// AnswerInbox sends the operator's answer to the running team. If none runs, it stores the
// answer for the next run and reports that.
func AnswerInbox(
	ctx context.Context, place state.Place, a api.InboxAnswer,
) (r requests.Request, stored bool, err error) {
	r, err = Ask(ctx, place, func(c *api.Client) (requests.Request, error) {
		return c.AnswerInbox(ctx, a)
	}, func() (requests.Request, error) {
		if err := NotFromInside("covey inbox"); err != nil {
			return requests.Request{}, err
		}
		r, err := inbox.AnswerStopped(ctx, place, a.ID, requests.Ruling{
			Approve: a.Approve, Feedback: a.Feedback, Mode: a.Mode,
		})
		stored = err == nil
		return r, err
	})
	return r, stored, err
}

// Return sends finished work back to its author, in a team that runs or not. An open question
// about it is denied.
func (e *Env) Return(ctx context.Context, place state.Place, r api.ReturnRequest) (api.ReturnReply, error) {
	return Ask(ctx, place, func(c *api.Client) (api.ReturnReply, error) {
		return c.Return(ctx, r)
	}, func() (api.ReturnReply, error) {
		if err := NotFromInside("covey review --return"); err != nil {
			return api.ReturnReply{}, err
		}
		open, err := filedInbox(ctx, place, api.InboxQuery{})
		if err != nil {
			return api.ReturnReply{}, fmt.Errorf("the questions about task %s: %w", r.Task, err)
		}
		if asked, found := merging.QuestionAbout(open, r.Task); found {
			_, err := inbox.AnswerStopped(ctx, place, asked.ID, requests.Ruling{Feedback: r.Text})
			return api.ReturnReply{How: api.ReturnedDenied, Task: r.Task, Member: asked.Member}, err
		}
		team, err := e.TeamOf(place)
		if err != nil {
			return api.ReturnReply{}, err
		}
		return merging.ReturnStopped(ctx, place, team, r)
	})
}

// ReadReview asks the running team for finished work, or reads the files of one that does not
// run.
func (e *Env) ReadReview(
	ctx context.Context, place state.Place, r api.ReviewRequest,
) (api.ReviewReply, error) {
	return Ask(ctx, place, func(c *api.Client) (api.ReviewReply, error) {
		return c.Review(ctx, r)
	}, func() (api.ReviewReply, error) {
		team, err := e.TeamOf(place)
		if err != nil {
			return api.ReviewReply{}, err
		}
		return merging.ReadReview(ctx, place, team, r)
	})
}

// ReadDiff reads the repository itself; it asks the team's process only which work
// there is.
func (e *Env) ReadDiff(
	ctx context.Context, place state.Place, r merging.DiffRequest,
) ([]merging.Diff, error) {
	team, err := e.TeamOf(place)
	if err != nil {
		return nil, err
	}
	reviews, err := e.ReadReview(ctx, place, api.ReviewRequest{Task: r.Task, Member: r.Member})
	if err != nil {
		return nil, err
	}
	return merging.ReadDiff(ctx, place, team, reviews, r)
}
