package api

import (
	"context"
	"fmt"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/orchestrator/process"
)

// Verb is a kind of request that a running team answers: its name on the bus, the
// types of the request and the reply, and who may send it.
type Verb[Req, Rep any] struct {
	name bus.Verb
	// may returns an error that wraps ErrDenied if the caller may not send the
	// request.
	may func(by process.Caller, r Req) error
}

// forAll makes a verb that everybody may use. It must not change anything.
func forAll[Req, Rep any](name bus.Verb) Verb[Req, Rep] {
	return Verb[Req, Rep]{name, func(process.Caller, Req) error { return nil }}
}

// forOperator makes a verb that only the operator may use.
func forOperator[Req, Rep any](name bus.Verb) Verb[Req, Rep] {
	return Verb[Req, Rep]{name, func(by process.Caller, _ Req) error {
		if by.Kind != process.Operator {
			return denied(by, "only the operator may ask for "+string(name))
		}
		return nil
	}}
}

// actingRequest is a request that is carried out on behalf of a member or the
// operator.
type actingRequest[T any] interface {
	// onBehalf returns the member that the request claims to act for, and whether
	// it asks to skip gates and limits.
	onBehalf() (as string, force bool)
	// inNameOf returns the request on behalf of the member that sent it. Handlers
	// get this one from a member's process, whatever its As was.
	inNameOf(member string) T
}

// forMembers makes a verb that the operator may use for anybody. Members, and
// hooks with may_act, may use it for themselves. The functions in also check
// further conditions.
func forMembers[Req actingRequest[Req], Rep any](
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

// mayAct returns an error if a caller may not act for the member as.
func mayAct(by process.Caller, as string, force bool) error {
	switch {
	case by.Kind == process.Operator:
		return nil
	case by.Kind == process.Hook:
		return denied(by, "a process of a gate or hook may only read; `may_act: true` on it in the spec lets it act for its member")
	case by.Kind != process.MemberTool && by.Kind != process.ActingHook, by.Member == "":
		return denied(by, "it belongs to no member, so it may only read")
	case as != "" && as != by.Member:
		return denied(by, "it may not act as "+as)
	case force:
		return denied(by, "only the operator may use force")
	}
	return nil
}

// denied returns an ErrDenied for a caller.
func denied(by process.Caller, why string) error {
	return fmt.Errorf("%w: %s: %s", ErrDenied, by, why)
}

// Handler answers the requests of one verb.
type Handler struct {
	register func(*Server, Checks, *bus.Bus) error
}

// Handle makes the handler of a verb. f is called only if the caller may send the
// request. The request's As is empty if f acts for the operator, and otherwise
// names the member to act for. The caller sees the text of an error.
func (v Verb[Req, Rep]) Handle(f func(context.Context, Req) (Rep, error)) Handler {
	return v.handle(func(ctx context.Context, _ *Server, checks Checks, from bus.Caller, r Req) (Rep, error) {
		return v.checked(ctx, checks, CallerFrom(from.Identity), r, f)
	})
}

// checked calls f with a request in the name of whom it acts for.
func (v Verb[Req, Rep]) checked(ctx context.Context, checks Checks, by process.Caller, r Req, f func(context.Context, Req) (Rep, error)) (Rep, error) {
	if d, ok := any(r).(actingRequest[Req]); ok {
		if by.Kind != process.Operator {
			r = d.inNameOf(by.Member)
		}
		var err error
		if ctx, err = checks.check(ctx, by, r); err != nil {
			var none Rep
			return none, err
		}
	}
	return f(ctx, r)
}

// handle is Handle for a function that also needs the server, its checks and the connection.
// It does not change the request.
func (v Verb[Req, Rep]) handle(f func(context.Context, *Server, Checks, bus.Caller, Req) (Rep, error)) Handler {
	return Handler{func(s *Server, checks Checks, b *bus.Bus) error {
		_, err := bus.Handle(b, v.name, func(ctx context.Context, from bus.Caller, r Req) (Rep, error) {
			// The identity was determined when the connection was made. No
			// request can change it.
			if err := v.may(CallerFrom(from.Identity), r); err != nil {
				var none Rep
				return none, codedError(err)
			}
			rep, err := f(ctx, s, checks, from, r)
			return rep, codedError(err)
		})
		return err
	}}
}

// HandleFor is Handle for a function that gets the member whose process the caller is; empty: it is no member's.
func (v Verb[Req, Rep]) HandleFor(f func(ctx context.Context, member string, r Req) (Rep, error)) Handler {
	return v.handle(func(ctx context.Context, _ *Server, checks Checks, from bus.Caller, r Req) (Rep, error) {
		by := CallerFrom(from.Identity)
		return v.checked(ctx, checks, by, r, func(ctx context.Context, r Req) (Rep, error) { return f(ctx, by.Member, r) })
	})
}

// Name returns the name of the verb.
func (v Verb[Req, Rep]) Name() string { return string(v.name) }

// OfMember returns a request of a process of a member as its handler gets it, or an error that wraps ErrDenied.
func (v Verb[Req, Rep]) OfMember(member string, r Req) (Req, error) {
	if err := v.may(process.Caller{Kind: process.MemberTool, Member: member}, r); err != nil {
		return r, err
	}
	if d, ok := any(r).(actingRequest[Req]); ok {
		r = d.inNameOf(member)
	}
	return r, nil
}

// NoInput adapts a function without a request for Handle.
func NoInput[Rep any](f func(context.Context) (Rep, error)) func(context.Context, struct{}) (Rep, error) {
	return func(ctx context.Context, _ struct{}) (Rep, error) { return f(ctx) }
}
