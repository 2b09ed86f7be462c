package orchestrator

import (
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks/mail"
)

// newInbox returns the inbox of a team.
func newInbox(o *Orchestrator, r *rooms) *inbox.Inbox {
	return inbox.New(o.team(), inbox.Deps{
		Store: r.store, Journal: r.journal, Clock: r.clock, Log: r.log, Members: &r.seats, Group: &r.group,
		Letters: mail.Folder(o.place.Mail()), Changed: r.loop.Poke, Attached: r.control.Attached, Lend: r.logins.Lend,
	})
}
