package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// newInbox returns the inbox of a team.
func newInbox(o *Orchestrator, r *rooms) *inbox.Inbox {
	return inbox.New(o.team(), inbox.Deps{
		Store: r.store, Clock: r.clock, Log: r.log, Changed: r.loop.Poke, Go: r.group.Go,
		Attached: func() bool { return r.control.Attached() > 0 },
		Member:   r.seats.Member, Gone: r.seats.GoneFor,
		// These are functions and not values, because the crew is made after the inbox (see
		// newRooms).
		Lend:   func(member string) func(context.Context) error { return r.crew.Lend(member) },
		Notify: func(ctx context.Context, member string, q requests.Request) { r.crew.NotifyPeople(ctx, member, q) },
		Closed: func(ctx context.Context, q requests.Request) error { return r.crew.RequestClosed(ctx, q) },
		Completer: func(ctx context.Context, in hooks.Input) (who string, completes bool) {
			who, says := r.completerOf(ctx, in)
			return who, says || o.completesOnPass()
		},
		Lead:    r.seats.LeadMember,
		Letters: mail.Folder(o.place.Mail()),
		SetMode: r.seats.SetMode,
		Files: func(ctx context.Context, member string) (tree string, err error) {
			if m, ok := r.seats.Member(member); ok {
				return r.work.Merges.TreeOf(ctx, m)
			}
			return "", nil
		},
	})
}
