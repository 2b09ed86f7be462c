package inbox

import (
	"context"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// AnswerStopped gives the operator's answer to question id of a team that does
// not run. The next run finds the answer in the store and acts on it.
// AnswerStopped sets ruling.Mail. It fails with state.ErrRunning if the team
// runs, and with tasks.ErrAnswered if the question is answered already.
//
// A question whose time is up can be answered until the next run begins, because
// only a running team lets it run out.
func AnswerStopped(ctx context.Context, p state.Place, id string, ruling requests.Ruling) (r requests.Request, err error) {
	err = state.UseStopped(p, func(store *tasks.Store) error {
		r, err = AnswerIn(ctx, store, id, ruling)
		return err
	})
	return r, err
}

// AnswerIn is AnswerStopped with the store of a team that does not run.
func AnswerIn(
	ctx context.Context, store *tasks.Store, id string, ruling requests.Ruling,
) (requests.Request, error) {
	r, err := store.Requests().Find(ctx, id)
	if err != nil {
		return r, err
	}
	if r.Kind == requests.AskForm && r.Open() {
		return r, texts.Errorf(tasks.ErrInvalid,
			"the call that asked %s ended with the team; after covey up the member decides whether to make it again", r.ID)
	}
	if err := MayAnswer(r, ruling.Mode); err != nil {
		return r, err
	}
	ruling.Mail = func(r requests.Request) mail.Outgoing { return AnswerMail(r, time.Now()) }
	return store.Requests().Answer(ctx, actors.Actor{Name: actors.Operator}, r.ID, ruling)
}
