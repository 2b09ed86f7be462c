package state

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
)

// syncAfter is how long committed events may stay in the store's outbox after
// their lines were written. One fsync serves all lines of that time.
const syncAfter = time.Second

// retryAfter is how long the journal waits before it tries a failed write again.
const retryAfter = 500 * time.Millisecond

// fullDiskPatience is how long the team waits for space on a full disk. Then it
// ends, because a hanging run without a person helps nobody, and the next run has
// all that was committed.
const fullDiskPatience = 10 * time.Second

// Journal appends everything that happens to journal.jsonl. One goroutine, in
// Run, writes and assigns the sequence numbers. Members' events come by Append.
// Before each of them the committed events are read from the store's outbox and
// merged in by time, so that a line never precedes its cause. A committed event
// leaves the outbox only after its line was synced, and the line holds the
// event's id, so that after a crash each committed change has exactly one line.
// While the disk is full, writers wait and nothing is dropped, until Hurry is
// called or fullDiskPatience is over.
type Journal struct {
	team     string
	store    *tasks.Store
	file     JournalFile
	log      *slog.Logger
	failed   func(error)        // called for each failed write
	happened func(events.Event) // JournalOptions.Happened
	Mended   string             // text on damage that OpenJournal repaired; empty if there was none

	events chan events.Event
	// syncs receives the requests of CatchUp. Each channel is closed once the
	// views have seen all that was committed before.
	syncs  chan chan struct{}
	quit   chan struct{} // closed by Close: write what is queued and stop
	rush   chan struct{} // closed by Hurry: do not wait for a full disk
	rushed sync.Once
	stuck  chan error    // the error that ends the team: a full disk, or a damaged outbox
	done   chan struct{} // closed when Run ends

	// The fields below belong to the goroutine of Run.
	views     Views
	size      int64           // bytes of the file that hold whole lines
	seq       atomic.Uint64   // of the last line; other goroutines may read it
	outbox    uint64          // the last event such that it and all earlier ones have lines
	told      map[uint64]bool // later events that had lines when the journal was opened
	reached   uint64          // the last event of the read that filtered out told
	removed   uint64          // the last event that was removed from the outbox
	turns     map[string]int
	latest    time.Time // the latest time of a line of this run
	failing   bool      // the last write failed, and is retried
	since     time.Time // when it failed first
	over      bool      // a write was given up, so nothing may be written after the gap
	syncTimer *time.Timer
	timing    bool // syncTimer runs
}

// JournalFile is the file that a journal writes to: an *os.File, except in tests of a
// full disk.
type JournalFile interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// Views are called by Run with what was written, in order. They must not block.
// All are required.
type Views struct {
	Line   func(events.Line) // called with each line
	Stored func(events.Line) // called with each line of a committed change, before the others
	Grew   func(seq uint64)  // called after each write with the number of the last line
}

// JournalOptions configure a journal. All fields except Happened and Wrap are required.
type JournalOptions struct {
	Team   string
	Store  *tasks.Store
	Log    *slog.Logger
	See    func(events.Line) // called with the lines of earlier runs, in order
	Failed func(error)       // called for each failed write, from any goroutine
	// Happened is called with each event before it is queued, from any goroutine; nil: not.
	Happened func(events.Event)
	Wrap     func(JournalFile) JournalFile // replaces the opened file, for tests
}

// OpenJournal opens the journal at path or creates one. It truncates a torn last line,
// removes damaged lines, and finds the committed events that already have lines.
func OpenJournal(path string, o JournalOptions) (*Journal, error) {
	waits, err := firstWaiting(o.Store)
	if err != nil {
		return nil, err
	}
	var newer error
	scan, err := scanJournal(path, waits, func(l events.Line) {
		newer = cmp.Or(newer, newerJournal(l))
		o.See(l)
	})
	if err != nil {
		return nil, err
	}
	if newer != nil { // checked before the file is changed
		return nil, fmt.Errorf("journal %s: %w", path, newer)
	}
	mended := ""
	if scan.damaged > 0 {
		if mended, err = scan.mend(path); err != nil {
			return nil, err
		}
		if scan, err = scanJournal(path, waits, nil); err != nil {
			return nil, err
		}
	}
	f, err := proc.OpenOwn(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(scan.size); err != nil {
		return nil, fmt.Errorf("remove the torn end of %s: %w", path, err)
	}
	var file JournalFile = f
	if o.Wrap != nil {
		file = o.Wrap(f)
	}
	j := &Journal{
		team: o.Team, store: o.Store, file: file, log: o.Log, failed: o.Failed, happened: o.Happened, size: scan.size, Mended: mended,
		outbox: scan.outbox(), removed: scan.outbox(), told: scan.told, turns: map[string]int{},
		events: make(chan events.Event, 1024), syncs: make(chan chan struct{}), quit: make(chan struct{}),
		rush: make(chan struct{}), done: make(chan struct{}), stuck: make(chan error, 1),
	}
	if j.happened == nil {
		j.happened = func(events.Event) {}
	}
	j.seq.Store(scan.last.Seq)
	return j, nil
}

// Last returns the number of the last line.
func (j *Journal) Last() uint64 { return j.seq.Load() }

// Append queues one event of a member. It blocks while the queue is full, and
// does nothing after Close has returned. Any goroutine may call it.
func (j *Journal) Append(e events.Event) {
	e.Time = time.Now()
	j.happened(e)
	select {
	case j.events <- e:
	case <-j.done:
	}
}

// Tell appends an event of the team, which has no member.
func (j *Journal) Tell(data events.Data) { j.Append(events.Event{Data: data}) }

// Warn appends a warning of the team for people.
func (j *Journal) Warn(format string, args ...any) {
	j.Tell(events.Warning{Text: fmt.Sprintf(format, args...)})
}

// Hurry makes the journal give up on a full disk instead of waiting for space,
// because members that wait for it could not end. Committed events stay in the
// store's outbox and get their lines in the next run; members' events without a
// line are lost. It may be called at any time, and more than once.
func (j *Journal) Hurry() { j.rushed.Do(func() { close(j.rush) }) }

// Broken waits until the journal has given up because of a full disk or a damaged
// outbox, and returns the cause. It returns ctx's error if ctx ends first.
func (j *Journal) Broken(ctx context.Context) error {
	select {
	case cause := <-j.stuck:
		return cause
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close writes what is queued, syncs it, and closes the file. While the disk is
// full it waits, until Hurry is called or fullDiskPatience is over.
func (j *Journal) Close() error {
	close(j.quit)
	<-j.done
	return j.file.Close()
}

// Abandon closes a journal for which Run was not called.
func (j *Journal) Abandon() error { return j.file.Close() }

// Run writes until Close, and calls the views. first becomes the run's first
// line; nil: this is no run. Without Run, Append blocks once its queue is full.
func (j *Journal) Run(first events.Data, views Views) {
	defer close(j.done)
	j.views = views
	j.syncTimer = time.NewTimer(syncAfter)
	defer j.syncTimer.Stop()
	j.timing = true
	if first != nil {
		begin := events.Event{Time: time.Now(), Data: first}
		j.happened(begin)
		j.put(nil, []events.Event{begin})
	}
	for {
		select {
		case e := <-j.events:
			j.write(e)
		case <-j.store.Outbox().Wake():
			j.write()
		case caughtUp := <-j.syncs:
			j.write()
			close(caughtUp)
		case <-j.syncTimer.C:
			j.timing = false
			j.sync()
		case <-j.quit:
			j.write()
			j.sync()
			return
		}
	}
}

// CatchUp waits until the views have seen all that the store had committed before
// the call, or until ctx or the journal ends.
func (j *Journal) CatchUp(ctx context.Context) {
	caughtUp := make(chan struct{})
	select {
	case j.syncs <- caughtUp:
	case <-j.done:
		return
	case <-ctx.Done():
		return
	}
	select {
	case <-caughtUp:
	case <-j.done:
	case <-ctx.Done():
	}
}

// addQueued appends the queued entries to first, without waiting for more.
func (j *Journal) addQueued(first []events.Event) []events.Event {
	for {
		select {
		case e := <-j.events:
			first = append(first, e)
		default:
			return first
		}
	}
}

// write writes first, the queue and the store's committed events, and calls the
// views. It returns when everything is written or was given up. An entry that
// arrived after the store was read waits for the next round, because its cause
// may have been committed since.
func (j *Journal) write(first ...events.Event) {
	for {
		now := time.Now()
		stored := j.fetch()
		if n := len(stored); n > 0 && stored[n-1].Time.After(now) { // what came before these is in the queue by now
			now = stored[n-1].Time
		}
		first = j.addQueued(first)
		due := 0
		for due < len(first) && !first[due].Time.After(now) {
			due++
		}
		j.put(stored, first[:due])
		if first = first[due:]; len(first) == 0 {
			return
		}
	}
}

// put writes the store's events and these entries in the order of their times: a
// claim comes after the call that made it and before the call's result.
func (j *Journal) put(stored []tasks.Event, entries []events.Event) {
	var lines []events.Line
	for news := stored; len(news)+len(entries) > 0; {
		var next events.Event
		if len(entries) == 0 || len(news) > 0 && !news[0].Time.After(entries[0].Time) {
			next, news = events.Stored(news[0]), news[1:]
		} else {
			next, entries = entries[0], entries[1:]
		}
		if l, ok := j.line(next); ok {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 || !j.writeLines(lines) {
		return
	}
	if len(stored) > 0 {
		j.outbox = max(stored[len(stored)-1].ID, j.reached)
	}
	j.tellViews(stored, lines)
}

// line gives an event its number and the turn of its member, and makes its line; ok is false if it
// cannot be encoded. It makes times monotonic: events come from many goroutines, and a change of the
// store gets its time before it is committed.
func (j *Journal) line(e events.Event) (l events.Line, ok bool) {
	if e.Turn > 0 {
		j.turns[e.Member] = e.Turn
	} else if e.Store > 0 {
		e.Turn = j.turns[e.Member]
	}
	if e.Time.Before(j.latest) {
		e.Time = j.latest
	}
	e.Seq, e.Team = j.Last()+1, j.team
	l, err := e.Line()
	if err != nil {
		j.log.Error("an event cannot be written to the journal", "err", err)
		return l, false
	}
	j.latest = e.Time
	j.seq.Store(e.Seq)
	return l, true
}

// writeLines writes lines with one write, and retries until it succeeds. It
// returns false if it gave up. Nothing is written after that, because a later
// line implies that all earlier events of the store have lines.
func (j *Journal) writeLines(lines []events.Line) bool {
	if j.over {
		return false
	}
	var buf bytes.Buffer
	for _, l := range lines {
		text, err := texts.Marshal(l)
		if err != nil {
			j.log.Error("a line cannot be written to the journal", "seq", l.Seq, "err", err)
			continue
		}
		buf.Write(text)
		buf.WriteByte('\n')
	}
	for {
		n, err := j.file.WriteAt(buf.Bytes(), j.size)
		if err == nil {
			j.size += int64(n)
			j.failing = false
			return true
		}
		if j.over = !j.awaitRetry(err); j.over {
			return false
		}
	}
}

// awaitRetry removes a half-written line and waits before the next attempt. It
// returns false after Hurry, and when fullDiskPatience is over.
func (j *Journal) awaitRetry(cause error) bool {
	j.failed(cause)
	if !j.failing {
		j.failing, j.since = true, time.Now()
		j.log.Error("the journal cannot be written; the team waits for space", "at_most", fullDiskPatience,
			"err", cause)
	}
	if err := j.file.Truncate(j.size); err != nil {
		j.log.Error("a half-written journal line cannot be removed", "err", err)
	}
	select {
	case <-j.rush:
		return false
	case <-time.After(retryAfter):
	}
	if time.Since(j.since) < fullDiskPatience {
		return true
	}
	j.giveUp(fmt.Errorf("the journal could not be written for %v: %w; make room and run covey up again: "+
		"tasks and mail are as they were", fullDiskPatience, cause))
	return false
}

// giveUp ends the team with a cause. Only the first call has an effect.
func (j *Journal) giveUp(cause error) {
	select {
	case j.stuck <- cause:
	default:
	}
}

// tellViews calls the views. The lines must be in the file, because a view may
// read them from there. The store's events come first, so that a member that is
// woken for a message finds the crew's state up to date.
func (j *Journal) tellViews(stored []tasks.Event, lines []events.Line) {
	for _, l := range lines {
		if l.Store > 0 {
			j.views.Stored(l)
		}
	}
	for _, l := range lines {
		j.views.Line(l)
	}
	j.views.Grew(j.Last())
	if len(stored) > 0 {
		j.syncSoon()
	}
}
