package members

import (
	"context"
	"errors"
	"sync"
)

// ErrOver is returned by Loop.Do after the loop has ended.
var ErrOver = errors.New("the team is about to end")

// Loop lets other goroutines reach one that works in rounds: they poke it to run another
// round, or have it run a function between two rounds. Any goroutine may call its
// methods.
type Loop struct {
	poked  chan struct{}
	orders chan Order
	over   chan struct{}
	stop   chan string
	lost   func() bool
	close  sync.Once
}

// Order is a function to run in the loop.
type Order struct {
	do   func(context.Context) error
	done chan error
}

// Do runs the function. Only the loop calls it.
func (o Order) Do(ctx context.Context) { o.done <- o.do(ctx) }

// NewLoop returns a Loop. If lost is not nil, a poke for which it returns true is
// dropped; tests use that.
func NewLoop(lost func() bool) *Loop {
	if lost == nil {
		lost = func() bool { return false }
	}
	return &Loop{poked: make(chan struct{}, 1), orders: make(chan Order), over: make(chan struct{}),
		stop: make(chan string, 1), lost: lost}
}

// Poke makes the loop run another round. It never blocks. The watchdog makes up for a
// lost poke.
func (l *Loop) Poke() {
	if !l.lost() {
		l.PokeSurely()
	}
}

// PokeSurely is Poke without lost.
func (l *Loop) PokeSurely() { Signal(l.poked) }

// Poked returns the channel that asks for another round.
func (l *Loop) Poked() <-chan struct{} { return l.poked }

// Orders returns the channel of functions to run in the loop.
func (l *Loop) Orders() <-chan Order { return l.orders }

// Stop asks the loop to end, with a reason. Only the first call counts.
func (l *Loop) Stop(reason string) {
	select {
	case l.stop <- reason:
	default:
	}
}

// Stopped returns the channel that delivers the reason of Stop, once.
func (l *Loop) Stopped() <-chan string { return l.stop }

// Over returns a channel that is closed when the loop has ended.
func (l *Loop) Over() <-chan struct{} { return l.over }

// Close records that the loop has ended, or never begins. Further calls do nothing.
func (l *Loop) Close() { l.close.Do(func() { close(l.over) }) }

// Do runs a function in the loop, between two rounds, and waits for it. ctx bounds the
// wait of the caller; the function gets the loop's context. Do fails with ErrOver if the
// loop has ended.
func (l *Loop) Do(ctx context.Context, do func(context.Context) error) error {
	o := Order{do, make(chan error, 1)}
	select {
	case l.orders <- o:
	case <-l.over:
		return ErrOver
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-o.done:
		return err
	case <-l.over: // it may have been done just before
		select {
		case err := <-o.done:
			return err
		default:
			return ErrOver
		}
	}
}

// UntilOver returns ctx without its cancellation, for work that must outlive the request.
// It is canceled when the loop ends. done must be called.
func (l *Loop) UntilOver(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-l.over:
			cancel(ErrOver)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		watch.Wait()
	}
}
