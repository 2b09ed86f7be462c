package journal

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

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/teammate/agent"
)

// settleAfter is how long committed events may stay in the store's outbox
// after their lines were written: one fsync serves all of that time.
const settleAfter = time.Second

// retryAfter is how long the journal waits before it tries a failed write again.
const retryAfter = 500 * time.Millisecond

// fullDiskPatience is how long the team waits for room on a disk that is full.
// After that it ends, because a run that hangs without a person to look at it
// helps nobody, and the next run loses nothing that was committed.
const fullDiskPatience = 10 * time.Second

// Journal appends everything that happens to journal.jsonl. One goroutine, run,
// writes and gives the sequence numbers. Members' events come through sink;
// what the store has committed is fetched from its outbox before each of them
// and merged in by time, so that a line never stands before its cause. A
// committed event leaves the outbox only once its line is on disk, and a line
// says which event it is, so that after a crash the journal holds every
// committed change exactly once. While the disk is full, writers wait: nothing
// is dropped, until somebody is in a hurry to end the team or patience is over.
type Journal struct {
	team   string
	store  *tasks.Store
	file   File
	log    *slog.Logger
	failed func(error) // is told of each write that failed
	Mended string      // what was damaged in the file and is not any more; empty: nothing

	events chan entry
	// syncs are asked for by catchUp; each is closed once the views know of all
	// that was committed before.
	syncs  chan chan struct{}
	quit   chan struct{} // closed by close: write what is there and stop
	rush   chan struct{} // closed by hurry: do not wait for a disk that is full
	rushed sync.Once
	stuck  chan error    // gets what ends the team: a write that was given up without hurry, a damaged outbox
	done   chan struct{} // closed by run when it has stopped

	// All below belongs to run.
	views     Views
	size      int64           // bytes of the file that hold whole lines
	seq       atomic.Uint64   // of the last line; others may read it
	outbox    uint64          // last event of the store that has a line, and all before it have
	told      map[uint64]bool // events behind it that had their lines when the journal was opened
	reached   uint64          // the last event of the look that left out told
	settled   uint64          // last event of the store that has left the outbox
	turns     map[string]int
	latest    time.Time // of the lines of this run
	failing   bool      // the last write has failed, and is tried again
	since     time.Time // when it failed first
	over      bool      // a write was given up: nothing may be written behind the gap
	unsettled *time.Timer
	settling  bool // unsettled runs
}

// File is what a journal writes to: an *os.File, but for tests of what
// happens when the disk is full.
type File interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// Views are told of what was written, by run and in order. They must
// not block. All are required.
type Views struct {
	Line   func(Line)        // each line
	Stored func(tasks.Event) // each committed event of the store, before its line is told
	Grew   func(seq uint64)  // the number of the last line, after each write
}

// entry is an event on its way into the journal.
type entry struct {
	at    time.Time
	event agent.Event
}

// Options are what a journal works with. All are required but Wrap.
type Options struct {
	Team   string
	Store  *tasks.Store
	Log    *slog.Logger
	See    func(Line)      // is shown the lines of earlier runs, in order
	Failed func(error)     // is told of each write that failed; any goroutine may call it
	Wrap   func(File) File // puts another file in place of the one that was opened, for tests
}

// Open opens the journal at path or makes a new one, cuts off what a crash or
// a power cut has torn, takes out lines that are damaged, and finds out which committed
// events have their lines already.
func Open(path string, o Options) (*Journal, error) {
	waits, err := firstWaiting(o.Store)
	if err != nil {
		return nil, err
	}
	var newer error
	scan, err := scanJournal(path, waits, func(l Line) {
		newer = cmp.Or(newer, newerJournal(l))
		o.See(l)
	})
	if err != nil {
		return nil, err
	}
	if newer != nil { // before anything of it is cut off
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
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(scan.size); err != nil {
		return nil, fmt.Errorf("cut the torn end of %s: %w", path, err)
	}
	var file File = f
	if o.Wrap != nil {
		file = o.Wrap(f)
	}
	j := &Journal{
		team: o.Team, store: o.Store, file: file, log: o.Log, failed: o.Failed, size: scan.size, Mended: mended,
		outbox: scan.outbox(), settled: scan.outbox(), told: scan.told, turns: map[string]int{},
		events: make(chan entry, 1024), syncs: make(chan chan struct{}), quit: make(chan struct{}),
		rush: make(chan struct{}), done: make(chan struct{}), stuck: make(chan error, 1),
	}
	j.seq.Store(scan.last.Seq)
	return j, nil
}

// Last is the number of the last line.
func (j *Journal) Last() uint64 { return j.seq.Load() }

// Append takes one event of a member. It blocks while the queue is full, and does nothing
// once Close has returned. Any goroutine may call it.
func (j *Journal) Append(e agent.Event) {
	select {
	case j.events <- entry{time.Now(), e}:
	case <-j.done:
	}
}

// Tell appends an event of the team, which has no member.
func (j *Journal) Tell(data agent.EventData) { j.Append(agent.Event{Data: data}) }

// Hurry makes the journal give up on a disk that is full instead of waiting
// for room, because members that wait for it could not end. What the store has
// committed stays in its outbox and gets its lines in the next run; members'
// events that have no line by then are lost. It may be called at any time.
func (j *Journal) Hurry() { j.rushed.Do(func() { close(j.rush) }) }

// Broken waits until the journal has given up on a disk that is full or on an outbox that
// is damaged, and says so; without that it returns ctx's error when ctx ends.
func (j *Journal) Broken(ctx context.Context) error {
	select {
	case cause := <-j.stuck:
		return cause
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close writes what is queued, makes it durable, and closes the file. While the
// disk is full it waits, until Hurry is called or patience is over.
func (j *Journal) Close() error {
	close(j.quit)
	<-j.done
	return j.file.Close()
}

// Abandon closes a journal that Run was not called for.
func (j *Journal) Abandon() error { return j.file.Close() }

// Run writes until close, and tells the views of it; first is the run's first line.
// Without it Append blocks once its queue is full.
func (j *Journal) Run(first agent.EventData, views Views) {
	defer close(j.done)
	j.views = views
	j.unsettled = time.NewTimer(settleAfter)
	defer j.unsettled.Stop()
	j.settling = true
	j.put(nil, []entry{{time.Now(), agent.Event{Data: first}}})
	for {
		select {
		case e := <-j.events:
			j.write(e)
		case <-j.store.Outbox().Wake():
			j.write()
		case caughtUp := <-j.syncs:
			j.write()
			close(caughtUp)
		case <-j.unsettled.C:
			j.settling = false
			j.settle()
		case <-j.quit:
			j.write()
			j.settle()
			return
		}
	}
}

// CatchUp comes back when the views have been told of all that the store has
// committed by now, or when that cannot be waited for.
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

// take adds to first what else is queued by now, without waiting.
func (j *Journal) take(first []entry) []entry {
	for {
		select {
		case e := <-j.events:
			first = append(first, e)
		default:
			return first
		}
	}
}

// write puts on disk what has happened by now, the queue and first with it, and
// tells the views. It comes back only when all of it is written or was given
// up. An entry that came after the store was asked for its news waits for
// the next round: its cause may be among what the store has committed since.
func (j *Journal) write(first ...entry) {
	for {
		now := time.Now()
		stored := j.fetch()
		first = j.take(first)
		due := 0
		for due < len(first) && !first[due].at.After(now) {
			due++
		}
		j.put(stored, first[:due])
		if first = first[due:]; len(first) == 0 {
			return
		}
	}
}

// put writes the store's news and these entries, in the order in which they
// happened: a claim stands behind the call that made it and before its result.
func (j *Journal) put(stored []tasks.Event, entries []entry) {
	var lines []Line
	for news := stored; len(news)+len(entries) > 0; {
		if len(entries) == 0 || len(news) > 0 && !news[0].Time.After(entries[0].at) {
			lines = append(lines, j.storedLine(news[0]))
			news = news[1:]
			continue
		}
		if l, ok := j.entryLine(entries[0]); ok {
			lines = append(lines, l)
		}
		entries = entries[1:]
	}
	if len(lines) == 0 || !j.writeLines(lines) {
		return
	}
	if len(stored) > 0 {
		j.outbox = max(stored[len(stored)-1].ID, j.reached)
	}
	j.tellViews(stored, lines)
}

// storedLine is the line of a committed event; the turn is the one that its
// member is in. A person is no member: the data say who it was.
func (j *Journal) storedLine(e tasks.Event) Line {
	member := e.Member
	if member == actors.Operator {
		member = ""
	}
	return j.line(Line{
		Time: e.Time, Member: member, Turn: j.turns[e.Member], Type: string(e.Type), Data: e.Data, Store: e.ID,
	})
}

// entryLine is the line of an entry; ok is false for one that cannot be written.
func (j *Journal) entryLine(e entry) (l Line, ok bool) {
	if e.event.Turn > 0 {
		j.turns[e.event.Member] = e.event.Turn
	}
	data, err := notation.Marshal(e.event.Data)
	if err != nil {
		j.log.Error("an event cannot be written to the journal", "type", e.event.Data.EventType(), "err", err)
		return l, false
	}
	return j.line(Line{
		Time: e.at, Member: e.event.Member, Turn: e.event.Turn, Type: e.event.Data.EventType(), Data: data,
		Helper: e.event.Helper,
	}), true
}

// line gives a line its number. Its time is not before that of the line above it: events
// come from many goroutines, and a change of the store is stamped before it is committed.
func (j *Journal) line(l Line) Line {
	if l.Time.Before(j.latest) {
		l.Time = j.latest
	}
	j.latest = l.Time
	l.Seq, l.Team = j.seq.Add(1), j.team
	return l
}

// writeLines writes lines with one write, trying until it succeeds; false means
// that they were given up. Nothing is written after that: a later line would
// say that all events of the store before it have theirs.
func (j *Journal) writeLines(lines []Line) bool {
	if j.over {
		return false
	}
	var buf bytes.Buffer
	for _, l := range lines {
		text, err := notation.Marshal(l)
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
		if j.over = !j.giveWay(err); j.over {
			return false
		}
	}
}

// giveWay takes a half-written line back and waits for better times; false
// means that there is no time for that.
func (j *Journal) giveWay(cause error) bool {
	j.failed(cause)
	if !j.failing {
		j.failing, j.since = true, time.Now()
		j.log.Error("the journal cannot be written; the team waits for room", "at_most", fullDiskPatience,
			"err", cause)
	}
	if err := j.file.Truncate(j.size); err != nil {
		j.log.Error("a half-written journal line cannot be taken back", "err", err)
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

// giveUp ends the team for a cause, the first that there is.
func (j *Journal) giveUp(cause error) {
	select {
	case j.stuck <- cause:
	default:
	}
}

// tellViews comes after the lines are in the file, never before: a view that is
// told of a line may read the file for it. The crew hears of the store's events
// first, so that whoever is woken for a message finds the team's picture of it.
func (j *Journal) tellViews(stored []tasks.Event, lines []Line) {
	for _, e := range stored {
		j.views.Stored(e)
	}
	for _, l := range lines {
		j.views.Line(l)
	}
	j.views.Grew(j.Last())
	if len(stored) > 0 {
		j.settleSoon()
	}
}
