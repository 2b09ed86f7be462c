package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/cmd/covey/pages"
	"github.com/coveyteam/covey/orchestrator/hints"
)

const (
	// lookAtWorkEvery is how often unfinished work is read at most while somebody looks at it:
	// git has to compare all files of a working copy.
	lookAtWorkEvery = 2 * time.Second
	// keptWorks is how many works are kept: those of the pages that are open.
	keptWorks = 16
)

// knownWork is the work on a task as it was read.
type knownWork struct {
	pages.Work
	faults []string      // what could not be read
	of     string        // which state of the task it is of
	read   time.Time     // when
	took   time.Duration // how long that took
}

// workBook keeps the works that pages have shown last. The zero value is ready to use.
type workBook struct {
	mu    sync.Mutex
	known map[string]knownWork // by task
}

// get returns the work on a task, if it is kept.
func (b *workBook) get(id string) (knownWork, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, ok := b.known[id]
	return w, ok
}

// put keeps the work on a task, in place of the one that was read first if there are too many.
func (b *workBook) put(id string, w knownWork) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[string]knownWork{}
	}
	b.known[id] = w
	if len(b.known) > keptWorks {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(b.known)), func(x, y string) int {
			return cmp.Or(b.known[x].read.Compare(b.known[y].read), cmp.Compare(x, y))
		})
		delete(b.known, oldest)
	}
}

// workOf returns the work on a task. Git is asked only if it can have changed since it was last
// read: finished work with its commit, unfinished work with what its member does, but then not too
// often. If the work may have changed since, again says when to ask for it again.
func (p *Page) workOf(ctx context.Context, one *taskPage) (w knownWork, again time.Duration) {
	of := one.workState()
	w, ok := p.works.get(one.ID)
	if ok && w.of == of {
		return w, 0
	}
	if rest := time.Until(w.read.Add(max(lookAtWorkEvery, share*w.took))); ok && one.Merge == nil && rest > 0 {
		return w, rest
	}
	began := time.Now()
	w = p.inspect(ctx, one)
	w.of, w.read, w.took = of, time.Now(), time.Since(began)
	p.works.put(one.ID, w)
	return w, 0
}

// workState returns on which state of a task its work and the hints in it depend.
func (t *taskPage) workState() string {
	hooks := 0
	for _, g := range t.Gates {
		hooks += len(g.Hooks)
	}
	if t.Merge != nil {
		state := fmt.Sprint(t.Merge.Commit, t.Merge.State.Over(), " ", t.Version, " ", hooks)
		for _, b := range t.Review.Brings {
			state += fmt.Sprint(" ", b.ID, " ", b.Version)
		}
		return state
	}
	return fmt.Sprint(t.Last, " ", t.Version, " ", hooks)
}

// inspect reads the changes of a task.
func (p *Page) inspect(ctx context.Context, one *taskPage) knownWork {
	w := knownWork{Work: pages.Work{Task: one.Full}}
	request, none := one.Changes()
	w.None = none
	if none == "" {
		list, err := p.env.ReadDiff(ctx, p.place, request)
		switch {
		case err != nil:
			w.Fault = err.Error()
		case len(list) == 0:
			w.None = "No file is changed yet."
		default:
			w.Diff = list[0]
			w.Diff.Text = p.masker.Mask(w.Diff.Text) // a secret may have several lines
			w.Files, w.Revised = hints.ParseDiff(w.Diff.Text), hints.ParseDiff(p.masker.Mask(w.Diff.Revised))
		}
	}
	return w
}

// show puts work into the page, with what the journal says besides, and what a person has done about it.
func (t *taskPage) show(w knownWork, done review, viewed map[string]bool) {
	if t.Merge == nil || t.Merge.Hints == nil { // unfinished work, or nothing was found in it so far
		t.Hints = hints.Join(w.Diff.Hints, t.Facts)
	}
	if len(t.Review.Brings) > 0 { // the part below the changes has what is no mark
		t.Hints = slices.DeleteFunc(slices.Clone(t.Hints), func(h hints.Hint) bool { return !h.Mark && h.Kind == hints.Brings })
	}
	t.Unread = w.faults
	t.Diff = pages.NewDiffView(w.Work, t.Hints, pages.Bounds{File: fileLines, All: pageLines})
	t.Notes, t.Sent = done.notes, done.sent
	for i := range t.Diff.Files {
		f := &t.Diff.Files[i]
		f.Sum = sumOf(f.FileDiff)
		if f.Viewed = viewed[f.Sum]; f.Viewed {
			t.Diff.Viewed++
		}
	}
	one := pages.Piece{Key: t.ID}
	if t.Merge != nil {
		one.Key, one.Commit = t.Merge.Tasks[0], t.Merge.Commit
	}
	t.Piece = one.Version()
}

// sumOf returns a text that stands for the changes of a file, wherever in it they are: what is merged before them may move them.
func sumOf(f hints.FileDiff) string {
	sum := sha256.New()
	fmt.Fprint(sum, f.Name, f.Old, f.What, f.Modes, f.Binary) // a hash takes anything
	for _, h := range f.Hunks {
		fmt.Fprintln(sum)
		for _, l := range h.Lines {
			fmt.Fprintf(sum, "%c%s\n", l.Kind, l.Text)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
