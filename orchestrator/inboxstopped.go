package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// AnswerStopped answers a question of a team that does not run. What follows from the
// answer is done by the next run, which finds it in the store (inbox.Begin). It fails
// with ErrRunning if the team runs after all, and with tasks.ErrAnswered when somebody
// was faster.
//
// The time of a question counts while covey can let it run out: one whose time was up in
// between can be answered until the next run begins.
func AnswerStopped(ctx context.Context, p state.Place, a api.InboxAnswer) (r requests.Request, err error) {
	if _, err := os.Stat(p.Store()); errors.Is(err, fs.ErrNotExist) {
		return r, notation.Errorf(tasks.ErrNotFound, "team %s has never run, so nobody has asked anything", p.Team)
	}
	lock, err := state.LockTeam(p)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	store, err := tasks.Open(p.Store(), &tasks.Options{BlobDir: p.Blobs(), Backups: storeBackups})
	if err != nil {
		return r, fmt.Errorf("answer: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if r, err = store.Requests().Find(ctx, a.ID); err != nil {
		return r, err
	}
	if err := inbox.MayAnswer(r, a.Mode); err != nil {
		return r, err
	}
	return store.Requests().Answer(ctx, actors.Actor{Name: actors.Operator}, r.ID, requests.Ruling{
		Approve: a.Approve, Feedback: a.Feedback, Mode: a.Mode,
		Mail: func(r requests.Request) mail.Outgoing { return inbox.AnswerMail(r, time.Now()) },
	})
}
