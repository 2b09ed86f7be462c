package owned

import (
	"slices"
	"sync"
	"time"
)

// lag is how far the kernel's clock for files may be behind the one that spans are
// taken from: it ticks some hundred times a second.
const lag = 20 * time.Millisecond

// Hooks is who writes when a hook does, or covey itself: nobody's member, and allowed to.
const Hooks = ""

// Ledger knows who could have written when in one ground. Its zero value is an empty
// one. It is safe for concurrent use, and nothing of it outlives the process; see Add.
type Ledger struct {
	mu    sync.Mutex
	spans []span
	deeds map[string]deed      // by path
	kept  map[string]time.Time // by key; see Keep
}

// Span is a time in which somebody could write, and that is over.
type Span struct {
	Who      string
	From, To time.Time
}

// span is a time in which somebody could write.
type span struct {
	who      string
	key      string // tells it apart from others of the same one
	from, to time.Time
}

// deed is a write of one path that somebody said it would make.
type deed struct {
	who   string
	print Print
	known bool // print is what it came to; false: that is not over
	leave bool // it may
}

// Add notes times that are over: those of an earlier process, of which this one has read.
func (l *Ledger) Add(past []Span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range past {
		l.spans = append(l.spans, span{who: p.Who, from: p.From.Round(0), to: p.To.Round(0)})
	}
}

// Begin notes that somebody can write from now on, until End with the same key.
func (l *Ledger) Begin(who, key string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spans = append(l.spans, span{who: who, key: key, from: at.Round(0)})
}

// End ends what Begin began; where nothing was begun it does nothing.
func (l *Ledger) End(who, key string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.spans {
		if s := &l.spans[i]; s.who == who && s.key == key && s.to.IsZero() {
			s.to = at.Round(0)
		}
	}
}

// Void takes back what Begin began: it tells nothing about who could write when.
func (l *Ledger) Void(who, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spans = slices.DeleteFunc(l.spans, func(s span) bool { return s.who == who && s.key == key })
}

// Announce notes that somebody is about to write to a path. leave says that it may.
func (l *Ledger) Announce(who, path string, leave bool) {
	l.note(path, deed{who: who, leave: leave})
}

// Wrote notes what came of it.
func (l *Ledger) Wrote(who, path string, p Print, leave bool) {
	l.note(path, deed{who: who, leave: leave, print: p, known: true})
}

func (l *Ledger) note(path string, d deed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deeds == nil {
		l.deeds = map[string]deed{}
	}
	l.deeds[path] = d
}

// Drop takes back what was said about a path: it has come to nothing.
func (l *Ledger) Drop(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.deeds, path)
}

// Keep notes that somebody will ask about changes since a moment, and no earlier ones. What
// was over before all such moments is forgotten. Each key stands for one asker.
func (l *Ledger) Keep(key string, since time.Time) {
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

// Release notes that an asker of Keep will not ask.
func (l *Ledger) Release(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.kept, key)
}

// Question is whose doing a change was.
type Question struct {
	Path  string
	Print Print                 // of the path as it is now
	At    time.Time             // when it was written to
	Me    string                // who is to answer for it
	May   func(who string) bool // reports whether somebody may write there
}

// Ruling answers a Question.
type Ruling struct {
	Mine bool // nobody else's: Me has to answer for it
	// Suspects may all have done it, Me among them, and none of them may; empty: it was
	// somebody who may, or nobody of these.
	Suspects []string
}

// Judge answers a Question. What somebody said it would write, and what is as it left it,
// is its doing and nobody else's. Else it may be the doing of each who could write at
// that moment; where one of them may, it was that one, and nobody is blamed.
func (l *Ledger) Judge(q Question) Ruling {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, ok := l.said(q.Path, q.Print); ok {
		return Ruling{Mine: d.who == q.Me && !d.leave}
	}
	suspects := l.suspects(q.At)
	if !slices.Contains(suspects, q.Me) {
		return Ruling{}
	}
	for _, who := range suspects {
		if who == Hooks || who != q.Me && q.May(who) {
			return Ruling{}
		}
	}
	if len(suspects) == 1 {
		return Ruling{Mine: true}
	}
	return Ruling{Suspects: suspects}
}

// Trace is what is left of a change.
type Trace struct {
	Print Print     // of the path as it is now
	At    time.Time // when it was written to
}

// Only reports whether a change of a path was somebody's doing and no other member's: it
// said it would write there and the path is as it left it, or no other one could write at
// that moment. Hooks are nobody's excuse: they run when a member does something.
func (l *Ledger) Only(who, path string, t Trace) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, ok := l.said(path, t.Print); ok {
		return d.who == who
	}
	suspects := slices.DeleteFunc(l.suspects(t.At), func(name string) bool { return name == Hooks })
	return slices.Equal(suspects, []string{who})
}

// said is what somebody said it would write to a path, if the path is as it left it, or
// that is not over.
func (l *Ledger) said(path string, now Print) (deed, bool) {
	d, ok := l.deeds[path]
	return d, ok && (!d.known || d.print.Same(now))
}

// suspects are those who could write at a moment, by name.
func (l *Ledger) suspects(at time.Time) []string {
	var list []string
	for _, s := range l.spans {
		if !at.Before(s.from.Add(-lag)) && (s.to.IsZero() || !at.After(s.to)) {
			list = append(list, s.who)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
