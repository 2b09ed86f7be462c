package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/routine"
	"github.com/coveyteam/covey/orchestrator/state"
)

// JournalOptions choose lines of a journal. The zero value is all that there
// are now.
type JournalOptions struct {
	// Follow goes on with lines as they come, until the team has ended. Of a team
	// that does not run it makes no difference.
	Follow bool
	Member string // only this member's lines; empty: everybody's, and the team's
	After  uint64 // only lines whose Seq is greater
}

// Journal yields the lines of a team's journal, in order. It reads the file, at
// the pace of the loop: a loop that is slow loses nothing and holds nobody up.
//
// A damaged line comes as a *LineError, and the loop goes on behind it; any
// other error is the last thing yielded. That is one that matches
// fs.ErrNotExist for a team that has no journal, and ctx's if it ends first.
func Journal(ctx context.Context, place state.Place, opts JournalOptions) iter.Seq2[journal.Line, error] {
	return func(yield func(journal.Line, error) bool) {
		lines := journal.Read(place.Journal(), opts.After)
		if opts.Follow {
			wake, hangUp, err := wakeOf(ctx, place)
			if err != nil {
				yield(journal.Line{}, err)
				return
			}
			if wake != nil {
				defer hangUp()
				lines = journal.Follow(ctx, place.Journal(), opts.After, wake)
			}
		}
		only(ctx, lines, opts.Member)(yield)
	}
}

// wakeOf is the wake of the team that runs in a place, and how to let go of it.
// Both are nil if none runs.
func wakeOf(ctx context.Context, place state.Place) (wake <-chan struct{}, hangUp func(), err error) {
	client, err := api.Dial(ctx, place)
	if errors.Is(err, api.ErrNotRunning) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("follow the journal: %w", err)
	}
	hangUp = func() { _ = client.Close() } // nothing was sent that could be lost
	wake, err = client.JournalWake()
	if err != nil {
		hangUp()
		if errors.Is(err, api.ErrNotRunning) { // it ended just now, and its journal is whole
			return nil, nil, nil
		}
		return nil, nil, fmt.Errorf("follow the journal: %w", err)
	}
	return wake, hangUp, nil
}

// only yields the lines of one member, or all, and stops when ctx has ended.
func only(ctx context.Context, lines iter.Seq2[journal.Line, error], member string) iter.Seq2[journal.Line, error] {
	return func(yield func(journal.Line, error) bool) {
		for line, err := range lines {
			if err == nil && ctx.Err() != nil {
				yield(journal.Line{}, ctx.Err())
				return
			}
			if err == nil && member != "" && line.Member != member {
				continue
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// Journal yields the lines of this Orchestrator's run, in order, from its first
// to its last, and ends when the run has ended. It may be called before Run, in
// a goroutine of its own or with Run in one; then it waits for the run to begin.
// Of a run that failed before it had a journal there are no lines. Any number of
// loops may read at once.
//
// It reads the file, at the pace of the loop: a loop that is slow loses nothing
// and holds nobody up. Errors are those of the function Journal. When ctx ends,
// so does the loop; to see how a team winds down, give it a ctx of its own.
func (o *Orchestrator) Journal(ctx context.Context) iter.Seq2[journal.Line, error] {
	return func(yield func(journal.Line, error) bool) {
		select {
		case <-o.readers.begun:
		case <-ctx.Done():
			yield(journal.Line{}, ctx.Err())
			return
		}
		after, wake, leave, ok := o.readers.join()
		if !ok {
			return
		}
		defer leave()
		only(ctx, journal.Follow(ctx, o.place.Journal(), after, wake), "")(yield)
	}
}

// readers are the loops over the journal of a run that is in the same process.
// They are woken as those of other processes are, only without a bus.
type readers struct {
	begun chan struct{} // closed when there is a journal, or will be none

	mu     sync.Mutex
	opened bool   // there is a journal
	over   bool   // nothing more is written
	after  uint64 // the last line before this run
	wakes  map[chan struct{}]bool
}

// newReaders is made with the Orchestrator and not with its run: who asks for the
// journal before Run waits until there is one.
func newReaders() *readers {
	return &readers{begun: make(chan struct{}), wakes: map[chan struct{}]bool{}}
}

// open says that there is a journal now, and the last line that it held before.
// A second run of the same Orchestrator begins anew.
func (r *readers) open(after uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.opened && !r.over
	r.opened, r.over, r.after = true, false, after
	if first {
		close(r.begun)
	}
}

// grew wakes all loops.
func (r *readers) grew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for wake := range r.wakes {
		routine.Signal(wake)
	}
}

// end lets all loops read what is there and end. Calls after the first do
// nothing.
func (r *readers) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.opened && !r.over {
		close(r.begun)
	}
	r.over = true
	for wake := range r.wakes {
		close(wake)
	}
	clear(r.wakes)
}

// join registers a loop; ok is false if there is no journal to read. leave is to
// be called in the end.
func (r *readers) join() (after uint64, wake chan struct{}, leave func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wake = make(chan struct{}, 1)
	if r.over {
		close(wake)
	} else {
		r.wakes[wake] = true
	}
	leave = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.wakes, wake)
	}
	return r.after, wake, leave, r.opened
}
