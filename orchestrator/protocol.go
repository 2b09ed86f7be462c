package orchestrator

import (
	"context"

	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/tasks/mail"
)

// protocol carries out the messages by which members ask each other for more
// than attention (TEAMS.md 4): to leave, or whether a plan or a piece of work
// will do. The requests are stored with the mail that they cause, so that one
// survives a restart and is answered once. SendMessage and `covey send` go
// through it; who the actor is has been verified before.
type protocol interface {
	// shutdown asks the member called to, who is one, to end. It gives the
	// request as it was stored and sent. It fails when by may not ask for it.
	shutdown(ctx context.Context, by actor, to, reason string) (mail.ShutdownRequest, error)
	// answerShutdown is the asked member's answer. One that agrees ends once the
	// call that says so is over.
	answerShutdown(ctx context.Context, by actor, a inbox.Answer) error
	// answerPlan is the approver's answer to a plan or to work that an approve
	// gate holds, whichever has the id. Both answers fail when there is no such
	// request open, naming who was first, and when by is not who was asked.
	answerPlan(ctx context.Context, by actor, a inbox.Answer) error
	// setMode gives the member called to, who is one, another permission mode. It fails
	// when by is neither the lead nor a person, or gives more than it may.
	setMode(ctx context.Context, by actor, to, mode string) error
}
