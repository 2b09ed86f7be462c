package recordings

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
)

// Tape is the recording of one run: one that is made, or one that is replayed. A nil Tape is neither.
// It is safe for concurrent use.
type Tape struct {
	dir     string
	replays bool
	version string
	mask    func(string) string
	places  []Place
	began   time.Time

	mu     sync.Mutex
	lanes  map[string]*Lane
	closed bool
	order  order

	acting sync.Mutex // of a recording that is made: one act at a time
}

// Record begins a recording in a folder, which it creates. mask hides secrets in a text; version is that
// of covey; places are those of all members.
func Record(dir, version string, mask func(string) string, all []Place) (*Tape, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return &Tape{dir: dir, version: version, mask: mask, places: all, began: time.Now(), lanes: map[string]*Lane{}}, nil
}

// Replay reads the recording in a folder. mask must hide what it has hidden when the recording was made.
// Errors wrap ErrRecording.
func Replay(dir string, mask func(string) string, all []Place) (*Tape, error) {
	t := &Tape{dir: dir, replays: true, mask: mask, places: all, began: time.Now(), lanes: map[string]*Lane{}}
	names, err := filepath.Glob(filepath.Join(strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`).Replace(dir), "*"+Ext))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("there is no recording in %s (NAME%s); covey up --record %[1]s makes one", dir, Ext)
	}
	if err != nil {
		return nil, texts.Errorf(ErrRecording, "%v", err)
	}
	var errs []error
	for _, name := range names {
		r, err := read(name)
		if want := strings.TrimSuffix(filepath.Base(name), Ext); err == nil && r.Member != want {
			err = texts.Errorf(ErrRecording, "%s: it is the recording of %s; rename it, or record it again", name, r.Member)
		}
		errs = append(errs, err)
		t.lanes[r.Member] = newReplay(t, r)
	}
	t.order.lanes = slices.Collect(maps.Values(t.lanes))
	return t, errors.Join(errs...)
}

// ReplayFile reads the recording of one member, whoever plays it. Errors wrap ErrRecording.
func ReplayFile(path string, mask func(string) string, all []Place) (*Lane, error) {
	r, err := read(path)
	if err != nil {
		return nil, err
	}
	t := &Tape{replays: true, mask: mask, places: all, began: time.Now()}
	l := newReplay(t, r)
	l.setPlaces(all)
	t.lanes, t.order.lanes = map[string]*Lane{r.Member: l}, []*Lane{l}
	return l, nil
}

// CheckFile reports what keeps the recording of one member from being used.
func CheckFile(path string) error {
	_, err := read(path)
	return err
}

// Replays reports whether models are answered from a recording.
func (t *Tape) Replays() bool { return t != nil && t.replays }

// Members returns the members of a recording that is replayed, sorted.
func (t *Tape) Members() []string { return slices.Sorted(maps.Keys(t.lanes)) }

// Lane returns the lane of a member. own are its places besides those of the team; the last call counts.
func (t *Tape) Lane(member string, own ...Place) (*Lane, error) {
	if t == nil {
		return nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lanes[member]
	if l == nil {
		l = &Lane{tape: t, name: member}
		if !t.replays {
			if t.closed {
				return nil, errors.New("record: the run has ended")
			}
			var err error
			if l.file, err = create(t.dir, member, t.version); err != nil {
				return nil, err
			}
		}
		t.lanes[member] = l
	}
	l.setPlaces(slices.Concat(own, t.places))
	return l, nil
}

// Close completes the files of a recording. It may be called more than once.
func (t *Tape) Close() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.replays {
		return nil
	}
	t.closed = true
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(t.lanes)) {
		errs = append(errs, t.lanes[name].close())
	}
	return errors.Join(errs...)
}

// Lane is the part of a tape that belongs to one member. A nil Lane does nothing.
type Lane struct {
	tape *Tape
	name string

	mu     sync.Mutex
	places places

	equals map[string]string // texts that were made equal, because each request repeats most of them
	pace   pace

	// Of a recording that is made.
	file  *file
	asked int
	takes map[int]*take // by number: those under way, and those that wait for an earlier one
	wrong error         // what keeps it from being complete
	over  bool

	// Of one that is replayed.
	known    []Exchange
	served   []bool // which were asked for; guarded by the order's lock
	answered []bool // likewise
	acts     []act  // likewise
	strays   bool   // it does something else than it did, so nobody waits for it; likewise
	begun    int    // how many acts have begun; likewise
}

// newReplay returns the lane of a recording.
func newReplay(t *Tape, r recorded) *Lane {
	return &Lane{
		tape: t, name: r.Member, known: r.Exchanges, served: make([]bool, len(r.Exchanges)),
		answered: make([]bool, len(r.Exchanges)), pace: pace{portions: r.portions}, acts: r.acts,
	}
}

// Replays reports whether the lane answers.
func (l *Lane) Replays() bool { return l != nil && l.tape.replays }

func (l *Lane) setPlaces(all []Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places, l.equals = sorted(all), map[string]string{}
}

// equal makes the texts of a meaning equal to those of other runs, and hides secrets in them. l.mu must
// be held.
func (l *Lane) equal(m Meaning) Meaning {
	m.Items = slices.Clone(m.Items)
	for i := range m.Items {
		text, known := l.equals[m.Items[i].Text]
		if !known {
			text = l.equalText(m.Items[i].Text)
			l.equals[m.Items[i].Text] = text
		}
		m.Items[i].Text = text
	}
	return m
}

// take is a request whose answer is recorded.
type take struct {
	lane *Lane
	n    int
	x    Exchange
	size int
	over bool
}

// maxAnswer is the size of the longest answer that is recorded, in bytes.
const maxAnswer = 64 << 20

// begin records what was asked.
func (l *Lane) begin(m Meaning) *take {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	t := &take{lane: l, n: l.asked, x: Exchange{Asked: l.equal(m), At: time.Since(l.tape.began)}}
	if l.takes == nil {
		l.takes = map[int]*take{}
	}
	l.takes[t.n] = t
	return t
}

// answered records that the answer has begun.
func (t *take) answered(a Answer) {
	t.lane.mu.Lock()
	defer t.lane.mu.Unlock()
	t.x.Answer = a
	t.x.Answer.At = time.Since(t.lane.tape.began)
}

// add records a part of the answer.
func (t *take) add(data []byte) {
	t.lane.mu.Lock()
	defer t.lane.mu.Unlock()
	if t.size += len(data); t.size <= maxAnswer {
		t.x.Answer.Events = append(t.x.Answer.Events, Event{time.Since(t.lane.tape.began), slices.Clone(data)})
	}
}

// end records the end of the answer.
func (t *take) end(broken string) {
	t.lane.mu.Lock()
	defer t.lane.mu.Unlock()
	t.finish(broken)
	t.lane.flush()
}

// finish completes the exchange, once. The lock of the lane must be held.
func (t *take) finish(broken string) {
	if t.over {
		return
	}
	l, a := t.lane, &t.x.Answer
	t.over = true
	a.End, a.Broken = time.Since(l.tape.began), l.tape.mask(broken)
	if t.size > maxAnswer {
		l.wrong = fmt.Errorf("record: an answer to %s has more than %d MiB", l.name, maxAnswer>>20)
	}
	a.Events = rewriteEvents(inEvents(a.Events, strings.HasPrefix(a.Type, "text/event-stream")),
		func(text string) string { return l.tape.mask(l.places.name(text)) })
}

// rewriteEvents changes the texts of events.
func rewriteEvents(events []Event, change func(string) string) []Event {
	data := make([][]byte, len(events))
	for i, e := range events {
		data[i] = e.Data
	}
	out := slices.Clone(events)
	for i, changed := range rewrite(data, change) {
		out[i].Data = changed
	}
	return out
}

// flush writes what waits for no earlier request: files have requests in the order in which they were
// made. l.mu must be held.
func (l *Lane) flush() {
	for l.wrong == nil {
		next := len(l.file.written) + 1
		t := l.takes[next]
		if t == nil || !t.over {
			return
		}
		delete(l.takes, next)
		l.wrong = errors.Join(l.flushMail(next), l.file.add(t.x))
	}
}

// flushMail writes the letters that were shown before a request. l.mu must be held.
func (l *Lane) flushMail(before int) error {
	var errs []error
	for len(l.pace.portions) > 0 && l.pace.portions[0].after < before {
		errs = append(errs, l.file.addMail(l.pace.portions[0]))
		l.pace.portions = l.pace.portions[1:]
	}
	return errors.Join(errs...)
}

// close completes the file.
func (l *Lane) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	for _, t := range l.takes {
		t.finish("the run has ended")
	}
	l.flush()
	if l.wrong == nil {
		l.wrong = l.flushMail(len(l.file.written) + 1)
	}
	if l.wrong != nil {
		return errors.Join(l.wrong, l.file.f.Close())
	}
	return l.file.close()
}

// inEvents divides the parts of a stream, as they came, into its events.
func inEvents(parts []Event, isStream bool) []Event {
	if !isStream {
		whole := Event{}
		for _, p := range parts {
			whole.At, whole.Data = p.At, append(whole.Data, p.Data...)
		}
		if len(parts) == 0 {
			return nil
		}
		return []Event{whole}
	}
	var list []Event
	var rest []byte
	var at time.Duration
	for _, p := range parts {
		rest, at = append(rest, p.Data...), p.At
		for {
			end := endOfEvent(rest)
			if end < 0 {
				break
			}
			list = append(list, Event{p.At, slices.Clone(rest[:end])})
			rest = rest[end:]
		}
	}
	if len(rest) > 0 {
		list = append(list, Event{at, rest})
	}
	return list
}

// endOfEvent returns where the first event in the bytes of a stream ends; -1: it does not.
func endOfEvent(data []byte) int {
	end := -1
	for _, blank := range []string{"\n\n", "\r\n\r\n"} {
		if at := strings.Index(string(data), blank); at >= 0 && (end < 0 || at+len(blank) < end) {
			end = at + len(blank)
		}
	}
	return end
}
