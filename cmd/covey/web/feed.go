package web

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/routine"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
)

// Times of a feed.
const (
	// lookEvery is how often a feed looks whether the team runs and what its status is.
	lookEvery = 2 * time.Second
	// gather is how long a viewer gathers lines before it asks for what has changed, so that a busy team
	// does not draw a page for each line.
	gather = 100 * time.Millisecond
)

// feed follows a team: the fold of its journal, and what only the running team knows. It reads
// the journal's file, so the team never waits for it.
type feed struct {
	place state.Place

	mu      sync.Mutex
	state   view.State
	status  *api.Status // of the running team; nil: it does not run
	trouble string      // why the journal cannot be read further
	journal uint64      // counts the journals that it has begun to read
	changed chan struct{}
	viewers int
}

// newFeed returns a feed that begins with run.
func newFeed(p state.Place) *feed { return &feed{place: p, changed: make(chan struct{})} }

// run follows the team until ctx ends. A team that has ended is looked for again, because
// `covey up` may continue it.
func (f *feed) run(ctx context.Context) {
	wake := make(chan struct{}, 1)
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { f.listen(ctx, wake) })
	for ctx.Err() == nil {
		err := f.follow(ctx, wake)
		f.update(func() {
			f.trouble = ""
			if err != nil && ctx.Err() == nil {
				f.trouble = err.Error()
			}
		})
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
		}
	}
}

// follow folds the lines of the journal from its beginning, until the file is replaced.
func (f *feed) follow(ctx context.Context, wake <-chan struct{}) error {
	path := f.place.Journal()
	was, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it has never run, or begins afresh
	}
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before the wait: after an error nothing else ends the relay
	grown := make(chan struct{}, 1)
	group.Go(func() { relay(ctx, wake, grown, func() bool { return replaced(path, was) }) })
	f.update(func() { f.state, f.journal = view.State{}, f.journal+1 })
	for l, err := range journal.Follow(ctx, path, 0, grown) {
		var damaged *journal.LineError
		switch {
		case errors.As(err, &damaged):
			continue // the fold knows of it by the missing number
		case err != nil:
			return err
		}
		f.update(func() { f.state.Apply(l) })
	}
	return nil
}

// relay passes signals on to a reader of the journal, and closes its channel when the file is
// replaced.
func relay(ctx context.Context, wake <-chan struct{}, grown chan<- struct{}, over func() bool) {
	defer close(grown)
	for {
		select {
		case <-wake:
			if over() {
				return
			}
			routine.Signal(grown)
		case <-ctx.Done():
			return
		}
	}
}

// replaced reports whether a path has another file than before.
func replaced(path string, was os.FileInfo) bool {
	now, err := os.Stat(path)
	return err != nil || !os.SameFile(was, now)
}

// listen signals wake whenever the journal may have grown, and keeps the team's status.
func (f *feed) listen(ctx context.Context, wake chan<- struct{}) {
	for ctx.Err() == nil {
		client, err := api.Dial(ctx, f.place)
		if err == nil {
			ended := f.listenTo(ctx, client, wake)
			_ = client.Close() // it was only asked
			if !ended {
				continue // the team still runs, and nobody must read that it does not
			}
		}
		f.update(func() { f.status = nil })
		routine.Signal(wake)
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
		}
	}
}

// listenTo relays the signals of a running team until it ends, or nobody looks at the page any
// more; ended is false then.
func (f *feed) listenTo(ctx context.Context, client *api.Client, wake chan<- struct{}) (ended bool) {
	grew, err := client.JournalWake()
	if err != nil {
		return true
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	attached := false
	for {
		if f.watched() && !attached {
			_, err := client.Attach(ctx) // a person looks, whom the team may ask
			attached = err == nil
		}
		if f.watched() || f.status == nil {
			if now, err := client.Status(ctx); err == nil {
				f.update(func() { f.status = &now })
			}
		}
		for asked := false; !asked; {
			select {
			case _, open := <-grew:
				if !open {
					return true
				}
				routine.Signal(wake)
			case <-tick.C:
				routine.Signal(wake)
				asked = true
			case <-ctx.Done():
				return true
			}
		}
		if attached && !f.watched() {
			return false // the next connection is not attached
		}
	}
}

// update changes the feed and tells its viewers.
func (f *feed) update(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	close(f.changed)
	f.changed = make(chan struct{})
}

// read calls see with the state and the status, which it must not keep, and returns a channel
// that is closed with the next change.
func (f *feed) read(see func(s *view.State, now *api.Status, trouble string)) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	see(&f.state, f.status, f.trouble)
	return f.changed
}

// following returns the number of the journal that is read, and a channel that is closed with the
// next change.
func (f *feed) following() (journal uint64, next <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.journal, f.changed
}

// watched reports whether somebody looks at the page.
func (f *feed) watched() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.viewers > 0
}

// watch counts a viewer until done is called.
func (f *feed) watch() (done func()) {
	f.update(func() { f.viewers++ })
	return func() { f.update(func() { f.viewers-- }) }
}
