package web

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/coveyteam/covey/cmd/covey/pages"
)

// Bounds of what is kept of reviews: a file of that size, and more, is a mistake.
const (
	keptReviews = 200   // tasks
	keptNotes   = 200   // comments on one
	keptViewed  = 5_000 // files that were looked at
)

// review is what a person has done about the work on a task but for its decision.
type review struct {
	notes   []pages.Note // that are not sent yet
	sent    []pages.Note
	last    int // number of the last note
	version int // grows with each change
}

// reviewBook keeps reviews in memory alone, because members could change a file: a member must not be able
// to make its work look as if it was viewed. The zero value is ready to use.
type reviewBook struct {
	mu      sync.Mutex
	known   map[string]*review // by task
	viewed  map[string]bool    // by the sums of changes of files: who looked at one sees it as viewed in later work, too
	looks   int                // grows with each change of viewed
	order   []string           // tasks, the one that changed last at the end
	changed chan struct{}      // closed at the next change
}

// of returns a copy of the review of a task.
func (b *reviewBook) of(task string) review {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.known[task]; r != nil {
		one := *r
		one.notes, one.sent = slices.Clone(r.notes), slices.Clone(r.sent)
		return one
	}
	return review{}
}

// next returns a channel that is closed with the next change.
func (b *reviewBook) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.changed
}

// change changes the review of a task.
func (b *reviewBook) change(task string, do func(*review)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.known[task]
	if r == nil {
		r = &review{}
		if b.known == nil {
			b.known = map[string]*review{}
		}
		b.known[task] = r
	}
	do(r)
	r.version++
	b.order = append(slices.DeleteFunc(b.order, func(id string) bool { return id == task }), task)
	if len(b.order) > keptReviews {
		delete(b.known, b.order[0])
		b.order = b.order[1:]
	}
	b.tell()
}

// tell closes the channel of next. b.mu is held.
func (b *reviewBook) tell() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// see notes that the changes of a file with a sum were looked at, or not.
func (b *reviewBook) see(sum string, viewed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.viewed == nil || len(b.viewed) >= keptViewed {
		b.viewed = map[string]bool{}
	}
	b.viewed[sum] = viewed
	b.looks++
	b.tell()
}

// seen returns the sums of what was looked at, and a number that grows with each change of them.
func (b *reviewBook) seen() (sums map[string]bool, version int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.viewed), b.looks
}

// add adds a comment to the review of a task.
func (b *reviewBook) add(task string, n pages.Note) (err error) {
	b.change(task, func(r *review) {
		if len(r.notes) == keptNotes {
			err = fmt.Errorf("task %s has %d comments already; send it back with these", task, keptNotes)
			return
		}
		r.last++
		n.ID = r.last
		r.notes = append(r.notes, n)
	})
	return err
}
