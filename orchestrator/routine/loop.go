package routine

import (
	"context"
	"errors"
	"sync"
)

// ErrOver is why something is not done in a loop any more.
var ErrOver = errors.New("the team is about to end")

// Loop is how others reach a goroutine that looks at the same things again and again: they
// poke it to make it look once more, or have it do something between two looks. Any
// goroutine may call its methods.
type Loop struct {
	poked  chan struct{}
	orders chan Order
	over   chan struct{}
	stop   chan string
	lost   func() bool
	close  sync.Once
}

// Order is something to be done in the loop.
type Order struct {
	do   func(context.Context) error
	done chan error
}

// Do carries the order out. The loop calls it.
func (o Order) Do(ctx context.Context) { o.done <- o.do(ctx) }

// NewLoop makes a Loop. A poke for which lost returns true does nothing: this is how tests
// lose wake-ups. With a nil lost none is.
func NewLoop(lost func() bool) *Loop {
	if lost == nil {
		lost = func() bool { return false }
	}
	return &Loop{poked: make(chan struct{}, 1), orders: make(chan Order), over: make(chan struct{}),
		stop: make(chan string, 1), lost: lost}
}

// Poke makes the loop look again. It never blocks. One that is lost costs time: the
// watchdog makes up for it.
func (l *Loop) Poke() {
	if !l.lost() {
		l.PokeSurely()
	}
}

// PokeSurely is a Poke that cannot be lost.
func (l *Loop) PokeSurely() { Signal(l.poked) }

// Poked gives a value when the loop is to look again.
func (l *Loop) Poked() <-chan struct{} { return l.poked }

// Orders gives what is to be done in the loop.
func (l *Loop) Orders() <-chan Order { return l.orders }

// Stop says that the loop is to end, and why. Only the first call counts.
func (l *Loop) Stop(reason string) {
	select {
	case l.stop <- reason:
	default:
	}
}

// Stopped gives the reason of Stop, once.
func (l *Loop) Stopped() <-chan string { return l.stop }

// Over is closed when the loop has ended.
func (l *Loop) Over() <-chan struct{} { return l.over }

// Close notes that the loop has ended, or never begins. A second call does nothing.
func (l *Loop) Close() { l.close.Do(func() { close(l.over) }) }

// Do does something in the loop, between two looks, and waits for it. ctx is that of the
// caller; what is done has the loop's. It fails with ErrOver if the loop has ended.
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

// UntilOver returns ctx without its end, for what whoever asked for it must not cut off. It
// ends with the loop. done must be called.
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
