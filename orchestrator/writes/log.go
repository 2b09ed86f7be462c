package writes

import (
	"slices"
	"sync"
	"time"
)

// lag bounds how far the kernel's clock for files may be behind the clock of spans: it
// ticks some hundred times a second.
const lag = 20 * time.Millisecond

// Hooks is the writer of hooks and of covey itself. It is no member, and may write
// everywhere.
const Hooks = ""

// Log records who could write when in one folder. The zero value is empty and ready
// to use. It is safe for concurrent use, and is not persistent; see Add.
type Log struct {
	mu     sync.Mutex
	spans  []span
	claims map[string]claim     // by path
	kept   map[string]time.Time // by key; see Keep
}

// Span is a past time in which somebody could write.
type Span struct {
	Who      string
	From, To time.Time
}

// span is a time in which somebody could write.
type span struct {
	who      string
	key      string // distinguishes spans of the same writer
	from, to time.Time
}

// claim is an announced write to one path.
type claim struct {
	who   string
	print Print
	known bool // print is the result; false: the write is not finished
	leave bool // the writer may write there
}

// Add records past spans of an earlier process.
func (l *Log) Add(past []Span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range past {
		l.spans = append(l.spans, span{who: p.Who, from: p.From.Round(0), to: p.To.Round(0)})
	}
}

// Begin records that somebody can write from now on, until End with the same key.
func (l *Log) Begin(who, key string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spans = append(l.spans, span{who: who, key: key, from: at.Round(0)})
}

// End ends a span of Begin; it does nothing if there is none.
func (l *Log) End(who, key string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.spans {
		if s := &l.spans[i]; s.who == who && s.key == key && s.to.IsZero() {
			s.to = at.Round(0)
		}
	}
}

// Void removes a span of Begin that turned out not to allow writes.
func (l *Log) Void(who, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spans = slices.DeleteFunc(l.spans, func(s span) bool { return s.who == who && s.key == key })
}

// Announce records that somebody is about to write to a path. leave says whether it
// may.
func (l *Log) Announce(who, path string, leave bool) {
	l.setClaim(path, claim{who: who, leave: leave})
}

// Wrote records the result of an announced write.
func (l *Log) Wrote(who, path string, p Print, leave bool) {
	l.setClaim(path, claim{who: who, leave: leave, print: p, known: true})
}

func (l *Log) setClaim(path string, d claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.claims == nil {
		l.claims = map[string]claim{}
	}
	l.claims[path] = d
}

// Drop withdraws an announcement that led to no write.
func (l *Log) Drop(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.claims, path)
}

// Keep declares that nobody will ask about changes before since under this key. What
// ended before the earliest such time is forgotten.
func (l *Log) Keep(key string, since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil {
		l.kept = map[string]time.Time{}
	}
	l.kept[key] = since
	for _, at := range l.kept {
		if at.Before(since) {
			since = at
		}
	}
	l.spans = slices.DeleteFunc(l.spans, func(s span) bool { return !s.to.IsZero() && s.to.Before(since) })
}

// Release removes a key of Keep.
func (l *Log) Release(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.kept, key)
}

// Question asks who made a change.
type Question struct {
	Path  string
	Print Print                 // the current print of the path
	At    time.Time             // when the path was written
	Me    string                // the member that would be charged
	May   func(who string) bool // reports whether somebody may write there
}

// Ruling is the answer to a Question.
type Ruling struct {
	Mine bool // only Me can have made the change
	// Suspects could all have made the change, Me among them, and none of them may;
	// empty: a writer who may made it, or none of these.
	Suspects []string
}

// Judge answers a Question. If the path is still as an announced write left it, the
// announcing writer made the change. Otherwise each writer who could write at that time
// may have made it; if one of them may write there, it counts as that one's.
func (l *Log) Judge(q Question) Ruling {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, ok := l.said(q.Path, q.Print); ok {
		return Ruling{Mine: d.who == q.Me && !d.leave}
	}
	suspects := l.suspects(q.At)
	if !slices.Contains(suspects, q.Me) {
		return Ruling{}
	}
	if slices.ContainsFunc(suspects, func(who string) bool { return who == Hooks || who != q.Me && q.May(who) }) {
		return Ruling{}
	}
	if len(suspects) == 1 {
		return Ruling{Mine: true}
	}
	return Ruling{Suspects: suspects}
}

// Trace is the evidence of a change.
type Trace struct {
	Print Print     // the current print of the path
	At    time.Time // when the path was written
}

// Only reports whether who made a change of a path and no other member can have: it
// announced the write and the path is still as it left it, or no other member could
// write at that time. Hooks do not count, because they run when a member does
// something.
func (l *Log) Only(who, path string, t Trace) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, ok := l.said(path, t.Print); ok {
		return d.who == who
	}
	suspects := slices.DeleteFunc(l.suspects(t.At), func(name string) bool { return name == Hooks })
	return slices.Equal(suspects, []string{who})
}

// said returns the announced write to a path, if the path is as the write left it, or
// the write is not finished.
func (l *Log) said(path string, now Print) (claim, bool) {
	d, ok := l.claims[path]
	return d, ok && (!d.known || d.print.Same(now))
}

// suspects returns those who could write at a time, sorted by name.
func (l *Log) suspects(at time.Time) []string {
	var list []string
	for _, s := range l.spans {
		if !at.Before(s.from.Add(-lag)) && (s.to.IsZero() || !at.After(s.to)) {
			list = append(list, s.who)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
