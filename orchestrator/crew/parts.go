package crew

import (
	"context"
	"errors"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate"
)

// Part is a feature of a team. At the moments of a member's life the crew calls the parts of
// one list (Deps.Parts), in the order of the list, each by those of the interfaces below that
// it implements.
//
// An error does not keep the crew from calling the parts that follow. Unless an interface says
// otherwise, errors are logged and the member goes on.
type Part any

// Starter is a Part that takes up what earlier runs have left.
type Starter interface {
	// Begin is called when all members have their seats and none has begun. ctx is that of the run.
	// The goroutine of Run calls it, and an error ends the team.
	Begin(ctx context.Context) error
}

// Timer is a Part that has something to do at a time.
type Timer interface {
	// Due does what is due. The crew's loop calls it in each round, so mostly there is nothing to do;
	// see plan.Scene.Changes. An error ends the team.
	Due(ctx context.Context) error
}

// Describer is a Part that knows something that decides who gets work, or whether the team may end.
type Describer interface {
	// Describe adds to a scene what the part knows. members are those of s.Seats, in their order.
	// What the parts before it in the list know is set. Tasks and mail are read later, so that
	// what a part has just turned into one of these does not get lost in between. The crew's loop calls
	// it in each round.
	Describe(s *plan.Scene, members []*members.Member)
}

// Assigner is a Part that is told of the work that idle members get.
type Assigner interface {
	// Assigned is called before the turn begins. The crew's loop calls it.
	Assigned(m *members.Member, w teammate.Work)
}

// Joiner is a Part that is told of new members.
type Joiner interface {
	// Joined is called when a member has its first seat of this run, before its goroutine
	// starts. The crew's loop calls it.
	Joined(ctx context.Context, m *members.Member) error
}

// Preparer is a Part that prepares what a member works in.
type Preparer interface {
	// Ready is called in the goroutine of the member before its session begins. With an error the
	// member takes no turns in this run, and keeps its tasks.
	Ready(ctx context.Context, m *members.Member) error
}

// Rejoiner is a Part that is told when members begin another life in this run: after a
// failure, with another spec, or with a new session.
type Rejoiner interface {
	// Rejoined is called when the member has its new seat, before its goroutine starts. No
	// goroutine of its life before runs any more. The crew's loop calls it.
	Rejoined(ctx context.Context, m *members.Member, r members.Return) error
}

// Completer is a Part that sees events before the journal does, and adds what the member cannot know.
type Completer interface {
	// Complete returns the event as it is to be shown and journaled. It is called as the
	// event happens, in the goroutine of the member, or in that of a helper or a hook, which
	// waits for it. With an error the event counts, too.
	Complete(ctx context.Context, m *members.Member, e events.Event) (events.Event, error)
}

// Watcher is a Part that acts on events.
type Watcher interface {
	// Saw is called in the goroutine of Complete, once the journal has accepted the event. An
	// event that it appends to the journal comes later than e.
	Saw(ctx context.Context, m *members.Member, e events.Event) error
}

// Answerer is a Part that acts on answers to requests.
type Answerer interface {
	// Answered is called when a request is closed, unless a call waits for the answer. After a
	// crash it may be called again for the same request. An error keeps the answer from being
	// taken, so that the next run acts on it.
	Answered(ctx context.Context, r requests.Request) error
}

// Follower is a Part that acts on changes of tasks, mail and requests.
type Follower interface {
	// Stored is called when the journal has the line of a change. The goroutine of the journal calls
	// it.
	Stored(ctx context.Context, e events.Event) error
}

// Stopper is a Part that is told of the end of each life of a member.
type Stopper interface {
	// Stopped is called before others can claim the member's tasks. The member's goroutine
	// calls it.
	Stopped(m *members.Member) error
}

// Retirer is a Part that is told of members that take no more turns in this run, but keep
// their seats.
type Retirer interface {
	// Retired is called after the member's tasks have become open again, and before others are
	// told and the team can end for want of members. The member's goroutine calls it.
	Retired(ctx context.Context, m *members.Member) error
}

// Leaver is a Part that forgets members that are no longer in the spec.
type Leaver interface {
	// Left is called when the name has no seat any more. A later member of that name must
	// find nothing of this one but what is stored. The crew's loop calls it, and an error ends
	// the team.
	Left(ctx context.Context, name string) error
}

// Ender is a Part that is told of the end of the run.
type Ender interface {
	// Ended is called in the goroutine of Run, when no member runs any more and the journal
	// still takes events. ctx may have ended, and after an error Begin may not have been called.
	Ended(ctx context.Context) error
}

// partsOf returns the parts that implement T, in their order.
func partsOf[T any](parts []Part) []T {
	var list []T
	for _, p := range parts {
		if is, ok := p.(T); ok {
			list = append(list, is)
		}
	}
	return list
}

// tell calls do for the parts that implement T, in their order.
func tell[T any](c *Crew, do func(T) error) error {
	var errs []error
	for _, p := range partsOf[T](c.deps.Parts) {
		errs = append(errs, do(p))
	}
	return errors.Join(errs...)
}
