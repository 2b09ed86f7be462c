package api

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/process"
)

// Verb is one kind of request that a running team answers: its name on the bus, what is
// sent, what comes back, and who may send it.
type Verb[Req, Rep any] struct {
	name bus.Verb
	// may refuses who may not send a request; its error wraps ErrDenied and says why not.
	may func(by process.Caller, r Req) error
}

// forAll is a verb by which everybody may look at something.
func forAll[Req, Rep any](name bus.Verb) Verb[Req, Rep] {
	return Verb[Req, Rep]{name, func(process.Caller, Req) error { return nil }}
}

// forOperator is a verb that only the operator may use.
func forOperator[Req, Rep any](name bus.Verb) Verb[Req, Rep] {
	return Verb[Req, Rep]{name, func(by process.Caller, _ Req) error {
		if by.Kind != process.Operator {
			return denied(by, "only the operator may ask for "+string(name))
		}
		return nil
	}}
}

// deed is a request that is carried out on somebody's behalf.
type deed[T any] interface {
	// onBehalf is whom the request says that it acts for, and whether it asks to go past
	// gates and limits.
	onBehalf() (as string, force bool)
	// inNameOf is the same request in the name of the member that sent it. It is what handlers
	// get from a member's process, whatever As it had written into the request.
	inNameOf(member string) T
}

// forMembers is a verb that the operator may use for anybody, and members, and hooks that the spec
// lets act, as themselves; also may refuse more.
func forMembers[Req deed[Req], Rep any](
	name bus.Verb, also ...func(by process.Caller, as string) error,
) Verb[Req, Rep] {
	return Verb[Req, Rep]{name, func(by process.Caller, r Req) error {
		as, force := r.onBehalf()
		for _, refuse := range also {
			if err := refuse(by, as); err != nil {
				return err
			}
		}
		return mayAct(by, as, force)
	}}
}

// mayAct says whether a caller may act for a member.
func mayAct(by process.Caller, as string, force bool) error {
	switch {
	case by.Kind == process.Operator:
		return nil
	case by.Kind == process.Hook:
		return denied(by, "below a gate or hook covey may only look; `may_act: true` on it in the spec lets it act for its member")
	case by.Kind != process.MemberTool && by.Kind != process.ActingHook, by.Member == "":
		return denied(by, "it belongs to no member, so it may only look")
	case as != "" && as != by.Member:
		return denied(by, "it may not act as "+as)
	case force:
		return denied(by, "only the operator may use force")
	}
	return nil
}

// denied is the refusal of a caller that is not the operator.
func denied(by process.Caller, why string) error {
	return fmt.Errorf("%w: %s: %s", ErrDenied, by, why)
}

// Handler answers the requests of one verb.
type Handler struct {
	register func(*Server, *bus.Bus) error
}

// Handle makes the handler of a verb. f is called once it is known that the caller may send the
// request. The request's As is whom to act for: empty means the operator, else it is a member's
// name that the caller may use. An error's text is shown to the caller.
func (v Verb[Req, Rep]) Handle(f func(context.Context, Req) (Rep, error)) Handler {
	return v.handle(func(ctx context.Context, s *Server, from bus.Caller, r Req) (Rep, error) {
		var none Rep
		if d, ok := any(r).(deed[Req]); ok {
			by := process.CallerFrom(from.Identity)
			if by.Kind != process.Operator {
				r = d.inNameOf(by.Member)
			}
			var err error
			if ctx, err = s.checks.check(ctx, by, r); err != nil {
				return none, err
			}
		}
		return f(ctx, r)
	})
}

// handle makes the handler of a verb of a function that also needs the server and the connection.
func (v Verb[Req, Rep]) handle(f func(context.Context, *Server, bus.Caller, Req) (Rep, error)) Handler {
	return Handler{func(s *Server, b *bus.Bus) error {
		_, err := bus.Handle(b, v.name, func(ctx context.Context, from bus.Caller, r Req) (Rep, error) {
			// The identity was found out when the connection was made, and no request can
			// change it.
			if err := v.may(process.CallerFrom(from.Identity), r); err != nil {
				var none Rep
				return none, codedError(err)
			}
			rep, err := f(ctx, s, from, r)
			return rep, codedError(err)
		})
		return err
	}}
}

// NoInput gives a function that needs no request the form that Handle takes.
func NoInput[Rep any](f func(context.Context) (Rep, error)) func(context.Context, struct{}) (Rep, error) {
	return func(ctx context.Context, _ struct{}) (Rep, error) { return f(ctx) }
}
