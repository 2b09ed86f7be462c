package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
)

// JournalOptions select lines of a journal. The zero value selects all present lines.
type JournalOptions struct {
	// Follow continues with new lines until the team has ended. It has no effect if the
	// team does not run.
	Follow bool
	Member string // only this member's lines; empty: all lines
	After  uint64 // only lines whose Seq is greater
}

// Journal yields the lines of a team's journal, in order. It reads the file at the pace
// of the loop: a slow loop loses nothing and delays nothing.
//
// A damaged line is yielded as a *LineError, and the loop continues after it; any other
// error is the last thing yielded. It matches fs.ErrNotExist if the team has no journal,
// and is ctx's error if ctx ends first.
func Journal(ctx context.Context, place state.Place, opts JournalOptions) iter.Seq2[events.Line, error] {
	return func(yield func(events.Line, error) bool) {
		lines := state.ReadJournal(place.Journal(), opts.After)
		if opts.Follow {
			wake, hangUp, err := wakeOf(ctx, place)
			if err != nil {
				yield(events.Line{}, err)
				return
			}
			if wake != nil {
				defer hangUp()
				// The wake channel exists before the file is read, so a line that is
				// written in between is not missed.
				lines = state.FollowJournal(ctx, place.Journal(), opts.After, wake)
			}
		}
		only(ctx, lines, opts.Member)(yield)
	}
}

// wakeOf returns the wake channel of the team that runs in a place, and a function that
// disconnects. Both are nil if none runs.
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
		if errors.Is(err, api.ErrNotRunning) { // it has just ended, and its journal is complete
			return nil, nil, nil
		}
		return nil, nil, fmt.Errorf("follow the journal: %w", err)
	}
	return wake, hangUp, nil
}

// only yields the lines of one member, or all, and stops when ctx has ended.
func only(ctx context.Context, lines iter.Seq2[events.Line, error], member string) iter.Seq2[events.Line, error] {
	return func(yield func(events.Line, error) bool) {
		for line, err := range lines {
			// An error is yielded even if ctx has ended, because it may be the reason for
			// that.
			if err == nil && ctx.Err() != nil {
				yield(events.Line{}, ctx.Err())
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

// Journal yields the lines of this Orchestrator's run, in order, and ends when the run
// has ended. It may be called before Run, or in another goroutine; it then waits for the
// run to begin. A run that failed before it had a journal has no lines. Any number of
// loops may read concurrently.
//
// It reads the file at the pace of the loop: a slow loop loses nothing and delays
// nothing. Errors are those of the function Journal. When ctx ends, so does the loop; to
// see how a team ends, use a ctx that outlives the run.
func (o *Orchestrator) Journal(ctx context.Context) iter.Seq2[events.Line, error] {
	return func(yield func(events.Line, error) bool) {
		select {
		case <-o.readers.begun:
		case <-ctx.Done():
			yield(events.Line{}, ctx.Err())
			return
		}
		after, wake, leave, ok := o.readers.join()
		if !ok {
			return
		}
		defer leave()
		only(ctx, state.FollowJournal(ctx, o.place.Journal(), after, wake), "")(yield)
	}
}

// readers are the loops over the journal of a run in the same process. They are woken
// like those of other processes, but without the bus.
type readers struct {
	begun chan struct{} // closed when there is a journal, or will be none

	mu     sync.Mutex
	opened bool   // there is a journal
	over   bool   // no more lines come
	after  uint64 // the last line before this run
	wakes  map[chan struct{}]bool
}

// newReaders returns readers that wait for a run.
func newReaders() *readers {
	return &readers{begun: make(chan struct{}), wakes: map[chan struct{}]bool{}}
}

// open records that there is a journal, and the last line before this run. A second run
// of the same Orchestrator starts over.
func (r *readers) open(after uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// begun is closed once in the life of an Orchestrator: a second run finds it closed,
	// also if the first one ended before it had a journal.
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
		members.Signal(wake)
	}
}

// end lets all loops read the rest and end. Further calls do nothing.
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

// join registers a loop; ok is false if there is no journal to read. The caller must call
// leave.
func (r *readers) join() (after uint64, wake chan struct{}, leave func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wake = make(chan struct{}, 1)
	// The run has ended, but its lines are still to be read: a closed channel lets Follow
	// read the rest of the file and end.
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
