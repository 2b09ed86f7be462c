package bus

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// ask sends one request and waits for its answer. The channel gets the answer before the
// end of the connection becomes visible, so an answer just before a hang-up is not lost,
// as it may be with the client library's own requests.
func (b *Bus) ask(ctx context.Context, subject string, data []byte) ([]byte, error) {
	answers, inbox := make(chan delivery, 1), b.nc.NewRespInbox()
	sub, err := b.nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only if the connection is over
	if err := b.nc.PublishRequest(subject, inbox, data); err != nil {
		return nil, err
	}
	select {
	case m := <-answers:
		return m.Data, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-b.done:
	}
	select {
	case m := <-answers:
		return m.Data, nil
	default:
		return nil, nats.ErrConnectionClosed
	}
}

// Ask sends a request for verb to the team, under the identity that the team gave this
// connection, and waits for the answer. It fails with an *Error that the handler returned,
// a *SizeError, ErrClosed, or ctx's error; without a handler only ctx ends the wait.
func Ask[Req, Rep any](ctx context.Context, b *Bus, v Verb, req Req) (rep Rep, err error) {
	if _, err := b.controlAll(v); err != nil {
		return rep, err
	}
	data, err := seal(b, &req, nil)
	if err != nil {
		return rep, err
	}
	answer, err := b.ask(ctx, string(b.scope)+"."+string(v), data)
	switch {
	case err == nil:
		return open[Rep](answer)
	case ctx.Err() != nil:
		return rep, ctx.Err()
	default:
		return rep, b.explain(err)
	}
}

// Handle answers requests for verb from outside, each in its own goroutine. f's context
// ends when the caller hangs up or the bus closes. f can trust its Caller but not its
// Req. A panic of f is answered with CodeInternal and reported to Options.OnError.
func Handle[Req, Rep any](
	b *Bus, v Verb, f func(context.Context, Caller, Req) (Rep, error),
) (*Subscription, error) {
	s, err := b.controlAll(v)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.verbs[v] = true
	b.mu.Unlock()
	return b.subscribe(s, func(d delivery) {
		b.dispatch(d, func(ctx context.Context, c Caller) (any, error) {
			req, err := open[Req](d.Data)
			if err != nil {
				return nil, Errorf(CodeInvalid, "%v", err)
			}
			return f(ctx, c, req)
		})
	}, nil)
}

// RefuseOthers answers requests from outside for verbs without a handler with
// CodeUnknown: otherwise a client of another version would wait forever. Call it after
// all Handle calls.
func RefuseOthers(b *Bus) (*Subscription, error) {
	return b.subscribe(b.controlAny(), func(d delivery) {
		v := Verb(d.Subject[strings.LastIndexByte(d.Subject, '.')+1:])
		b.mu.Lock()
		known := b.verbs[v]
		b.mu.Unlock()
		if known {
			return
		}
		b.dispatch(d, func(context.Context, Caller) (any, error) {
			return nil, Errorf(CodeUnknown, "nobody here knows the request %q", v)
		})
	}, nil)
}

// dispatch determines the sender of d and starts the work on it. It answers only into the
// caller's own inbox: on a reply subject of its choice, the caller could make the team
// publish where the caller may not.
func (b *Bus) dispatch(d delivery, work func(context.Context, Caller) (any, error)) {
	id, conn, ok := callerOf(d.Subject)
	if !ok {
		return
	}
	b.mu.Lock()
	p := b.peers[conn]
	b.mu.Unlock()
	if p == nil {
		return // the caller has hung up
	}
	if d.Reply != "" && !strings.HasPrefix(d.Reply, inboxOf(conn)+".") {
		b.opts.OnError(fmt.Errorf("%s/%s (pid %d) asked for an answer on %q, which is not its inbox: not answered",
			id.Kind, id.Name, id.PID, d.Reply))
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	end, ok := p.begin(cancel)
	if !ok {
		cancel()
		busy := Errorf(CodeBusy, "more than %d requests at once on one connection", maxOpenRequests)
		answer[any](b, d.Reply, nil, busy)
		return
	}
	caller := Caller{Identity: id, Conn: conn, ID: newID(), gone: p.gone}
	// This is a callback, for which Close waits before it waits for work.
	b.work.Go(func() {
		defer end()
		defer cancel()
		rep, err := b.guarded(ctx, d, caller, work)
		answer(b, d.Reply, &rep, err)
	})
}

// guarded runs a handler and turns a panic of it into an error.
func (b *Bus) guarded(ctx context.Context, d delivery, c Caller,
	work func(context.Context, Caller) (any, error),
) (rep any, err error) {
	err = Errorf(CodeInternal, "covey failed while working on this request; its log says where")
	defer b.contain(Subject(d.Subject))
	rep, err = work(ctx, c)
	return rep, err
}
