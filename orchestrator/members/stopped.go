package members

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// HoldStopped holds or resumes a member of a team that does not run, for the operator. It
// reports whether that changed anything, and fails with state.ErrRunning if the team
// runs.
func HoldStopped(ctx context.Context, p state.Place, member string, resume bool) (changed bool, err error) {
	err = state.UseStopped(p, func(store *tasks.Store) error {
		h, err := openStopped(ctx, store)
		if err != nil {
			return err
		}
		_, is := h.Of(member)
		changed = is == resume
		if resume {
			return h.Resume(ctx, member, actors.Operator)
		}
		return h.Hold(ctx, member, actors.Operator, false)
	})
	return changed, err
}

// HeldIn returns the names of the held members from a team's store, sorted.
func HeldIn(ctx context.Context, store *tasks.Store) ([]string, error) {
	h, err := openStopped(ctx, store)
	if err != nil {
		return nil, err
	}
	return h.Members(), nil
}

// openStopped opens the holds of a team that does not run, without a journal.
func openStopped(ctx context.Context, store *tasks.Store) (*Holds, error) {
	return OpenHolds(ctx, store, Clock{}, func(string, events.Data) {})
}

// PromptStopped sends the lead of a team that does not run a text of the operator, which its
// next run begins with, and ends all holds. It fails with state.ErrRunning if the team runs,
// and with tasks.ErrNotFound if no member has ever begun: then the text has to be the goal.
//
// The text is stored before the holds end: a crash in between leaves a text that also
// releases the lead.
func PromptStopped(ctx context.Context, p state.Place, lead, text string) error {
	return state.UseStopped(p, func(store *tasks.Store) error {
		members, err := store.Members().List(ctx)
		if err == nil && len(members) == 0 {
			err = texts.Errorf(tasks.ErrNotFound, "team %s has no members yet", p.Team)
		}
		if err != nil {
			return err
		}
		h, err := openStopped(ctx, store)
		if err != nil {
			return err
		}
		_, err = store.Mail().Send(ctx, actors.Actor{Name: actors.Operator}, mail.Outgoing{
			To: []string{lead}, Kind: mail.OperatorMessage, Text: text, Summary: mail.Summary(text),
		})
		if err != nil {
			return fmt.Errorf("prompt %s: %w", lead, err)
		}
		for _, name := range h.Members() {
			if name == lead { // the text says how it goes on
				err = errors.Join(err, h.Lift(ctx, name, actors.Operator))
				continue
			}
			err = errors.Join(err, h.Resume(ctx, name, actors.Operator))
		}
		return err
	})
}
