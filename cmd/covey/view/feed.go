package view

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
)

// LookEvery is how often a feed looks whether the team runs and what its status is.
const LookEvery = 2 * time.Second

// Gather is how long a reader of a Feed waits after a change before it reads again, so that a busy
// team is not drawn for each of its lines.
const Gather = 100 * time.Millisecond

// Feed follows a team for those who draw it: the fold of its journal, and what only the running
// team knows. It reads the journal's file, so the team never waits for it, and nobody who reads the
// feed holds up another.
type Feed struct {
	// Begin and Line, if set before Run, get what the feed reads: Begin is called when it begins with
	// the first line of a journal, and Line with each line. They hold up the feed, and nothing else.
	Begin func()
	Line  func(events.Event)
	// Drafting is set before Run if what models write at the moment is wanted, too.
	Drafting bool

	place state.Place

	mu      sync.Mutex
	state   view.State
	status  *api.Status
	absent  error
	trouble error
	drafts  members.Drafting
	journal uint64
	nudged  uint64
	until   uint64
	changed chan struct{}
	viewers int
}

// Now is what a Feed knows.
type Now struct {
	State  *view.State
	Status *api.Status // of the running team; nil: none has answered
	// Absent is why Status is nil, such as api.ErrNotRunning; nil: the feed has not asked yet.
	Absent  error
	Trouble error            // why the journal cannot be read further
	Drafts  members.Drafting // what models write at the moment, if that is wanted
	// Journal counts the journals that the feed has begun to read: `covey up --fresh` begins another.
	Journal uint64
	// Nudged counts the calls of Change with nil.
	Nudged uint64
	// Until is the number of the last line that was there when the feed began to read the journal. As
	// long as State.Seq is below, State is one of the past.
	Until uint64
}

// NewFeed returns a feed that begins with Run.
func NewFeed(p state.Place) *Feed { return &Feed{place: p, changed: make(chan struct{})} }

// Run follows the team until ctx ends. A team that has ended is looked for again, because
// `covey up` may continue it.
func (f *Feed) Run(ctx context.Context) {
	wake := make(chan struct{}, 1)
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { f.listen(ctx, wake) })
	for ctx.Err() == nil {
		err := f.Follow(ctx, wake)
		if ctx.Err() != nil {
			return
		}
		f.update(func() { f.trouble = err })
		select {
		case <-time.After(LookEvery):
		case <-ctx.Done():
		}
	}
}

// Follow folds the lines of the journal from its beginning, until the file is replaced. It looks for
// lines whenever wake says that there may be some.
func (f *Feed) Follow(ctx context.Context, wake <-chan struct{}) error {
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
	if f.Begin != nil {
		f.Begin()
	}
	until := lastNumber(path)
	f.update(func() { f.state, f.journal, f.until = view.State{}, f.journal+1, until })
	for l, err := range state.FollowJournal(ctx, path, 0, grown) {
		var damaged *state.LineError
		switch {
		case errors.As(err, &damaged):
			continue // the fold knows of it by the missing number
		case err != nil:
			return err
		}
		e := l.Event()
		if f.Line != nil {
			f.Line(e)
		}
		f.Change(func(s *view.State) { s.Apply(e) })
	}
	return nil
}

// lastNumber returns the number of the last whole line of a journal; 0 if it cannot be read, which
// whoever reads it from the beginning will see.
func lastNumber(path string) uint64 {
	for l, err := range state.JournalBackwards(path, 0) {
		if err == nil {
			return l.Seq
		}
		break
	}
	return 0
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
			members.Signal(grown)
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
func (f *Feed) listen(ctx context.Context, wake chan<- struct{}) {
	for ctx.Err() == nil {
		client, err := api.Dial(ctx, f.place)
		if err == nil {
			var ended bool
			ended, err = f.listenTo(ctx, client, wake)
			_ = client.Close() // it was only asked
			if !ended {
				continue // the team still runs, and nobody must read that it does not
			}
		}
		if err == nil {
			err = api.ErrNotRunning // it has ended
		}
		f.update(func() { f.status, f.absent, f.drafts = nil, err, members.Drafting{} })
		members.Signal(wake)
		select {
		case <-time.After(LookEvery):
		case <-ctx.Done():
		}
	}
}

// listenTo relays the signals of a running team until it ends, or nobody looks any more; ended is
// false then.
func (f *Feed) listenTo(ctx context.Context, client *api.Client, wake chan<- struct{}) (ended bool, err error) {
	grew, err := client.JournalWake()
	if err != nil {
		return true, err
	}
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before the wait
	if f.Drafting {
		group.Go(func() { f.followDrafts(ctx, client) })
	}
	tick := time.NewTicker(LookEvery)
	defer tick.Stop()
	attached := false
	looks := copyLooks{}
	for {
		if f.Watched() && !attached {
			_, err := client.Attach(ctx) // a person looks, whom the team may ask
			attached = err == nil
		}
		if f.Watched() || f.status == nil {
			if now, err := looks.status(ctx, client, f.status); err == nil {
				f.update(func() { f.status, f.absent = &now, nil })
			}
		}
		for asked := false; !asked; {
			select {
			case _, open := <-grew:
				if !open {
					return true, nil
				}
				members.Signal(wake)
			case <-tick.C:
				members.Signal(wake)
				asked = true
			case <-ctx.Done():
				return true, nil
			}
		}
		if attached && !f.Watched() {
			return false, nil // the next connection is not attached
		}
	}
}

// copyLooks looks at working copies now and then. Git takes processes for each, so all looks take at
// most a fiftieth of the time.
type copyLooks struct {
	last time.Time
	took time.Duration
}

// status returns the status of a team, with the working copies of before if it is not yet time to
// look at them again.
func (l *copyLooks) status(ctx context.Context, client *api.Client, before *api.Status) (api.Status, error) {
	if before == nil || time.Since(l.last) > 50*l.took {
		begun := time.Now()
		now, err := client.Status(ctx)
		l.last, l.took = time.Now(), time.Since(begun)
		return now, err
	}
	now, err := client.Brief(ctx)
	keepCopies(now.Members, before.Members)
	return now, err
}

// keepCopies gives members without a working copy the one that they had before.
func keepCopies(now, before []api.MemberStatus) {
	for i, m := range now {
		for _, was := range before {
			if was.Name == m.Name {
				now[i].Worktree = cmp.Or(m.Worktree, was.Worktree)
			}
		}
	}
}

// followDrafts keeps what models write until ctx or the team ends.
func (f *Feed) followDrafts(ctx context.Context, client *api.Client) {
	var now members.Drafting
	for {
		var err error
		if now, err = client.Drafts(ctx, api.DraftsRequest{After: now.Number}); err != nil {
			return
		}
		f.update(func() { f.drafts = now })
	}
}

// update changes the feed and tells its readers.
func (f *Feed) update(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	close(f.changed)
	f.changed = make(chan struct{})
}

// Change changes the state and tells the feed's readers. With nil it only tells them that something
// else that they show has changed.
func (f *Feed) Change(change func(*view.State)) {
	f.update(func() {
		if change == nil {
			f.nudged++
			return
		}
		change(&f.state)
	})
}

// Read calls see with what the feed knows, which it must not keep, and returns a channel that is
// closed with the next change.
func (f *Feed) Read(see func(Now)) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	see(Now{
		State: &f.state, Status: f.status, Absent: f.absent, Trouble: f.trouble, Drafts: f.drafts,
		Journal: f.journal, Nudged: f.nudged, Until: f.until,
	})
	return f.changed
}

// Watched reports whether somebody looks.
func (f *Feed) Watched() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.viewers > 0
}

// Watch counts somebody who looks until done is called. The team then may ask: a person is there.
func (f *Feed) Watch() (done func()) {
	f.update(func() { f.viewers++ })
	return func() { f.update(func() { f.viewers-- }) }
}
