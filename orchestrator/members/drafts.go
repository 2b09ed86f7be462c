package members

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

const (
	// draftTail is how many bytes of a draft are kept and shown: its end.
	draftTail = 4 << 10
	// draftsShown bounds the drafts of one answer of Next together, and shortestTail is what is
	// shown of each even if there are many.
	draftsShown, shortestTail = 64 << 10, 256
	// draftPace is how long a reader waits at least between two changes: it sees text grow without
	// a break, and costs little however many models write however fast.
	draftPace = 100 * time.Millisecond
)

// Drafts holds what the models of a team write at the moment: text that the journal does not
// have yet, and never has if its answer fails. There is one text for each member and helper that
// has an answer under way, and only its end is kept. Members add to it and wait for nobody.
// Readers ask for the state when they can take it, so a slow one has no queue.
type Drafts struct {
	done chan struct{} // closed by Close

	mu      sync.Mutex
	texts   map[writer]*draftText
	last    uint64            // number of the last change
	seq     uint64            // of the journal's last line
	changed map[string]uint64 // the number of the last change of each member
	waiting map[string]chan struct{}
	closed  bool
}

// writer is a member, or a member's helper.
type writer struct{ member, helper string }

// draftText is the text of one answer.
type draftText struct {
	end      []byte
	cut      bool // there was more before end
	recorded bool // the journal gets it; what is added from now on is another answer
}

// Draft is what one model writes.
type Draft struct {
	Member string `json:"member"`
	Helper string `json:"helper,omitempty"` // the id of the member's helper that writes; empty: the member itself
	Text   string `json:"text"`
	Cut    bool   `json:"cut,omitempty"` // Text is only the end
}

// Drafting is the drafts at one moment.
type Drafting struct {
	// Number grows with each change of what was asked for; it is for the next call of Next.
	Number uint64 `json:"number"`
	// Seq is the number of the journal's last line at that moment. A later line may be the text
	// of one of the drafts.
	Seq    uint64  `json:"seq"`
	Drafts []Draft `json:"drafts"` // by member and helper
}

// NewDrafts returns Drafts without a text.
func NewDrafts() *Drafts {
	return &Drafts{
		done: make(chan struct{}), texts: map[writer]*draftText{}, changed: map[string]uint64{},
		waiting: map[string]chan struct{}{},
	}
}

// Of returns the Draft of a member, or of its helper.
func (d *Drafts) Of(member, helper string) agent.Draft { return pen{d, writer{member, helper}} }

// pen is the Draft of a writer. It implements agent.Draft.
type pen struct {
	drafts *Drafts
	writer writer
}

// Add implements agent.Draft.
func (p pen) Add(text string) { p.drafts.add(p.writer, text) }

// Withdraw implements agent.Draft.
func (p pen) Withdraw() {
	p.drafts.mu.Lock()
	defer p.drafts.mu.Unlock()
	p.drafts.remove(p.writer)
}

// add appends a piece to the text of an answer.
func (d *Drafts) add(w writer, piece string) {
	if piece == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.texts[w]
	if t == nil || t.recorded {
		t = &draftText{}
		d.texts[w] = t
	}
	t.add(piece)
	d.change(w.member)
}

// add appends a piece. Twice the tail is kept, so that old text is moved out only now and then.
func (t *draftText) add(piece string) {
	if len(t.end)+len(piece) > 2*draftTail {
		piece = piece[max(0, len(piece)-draftTail):]
		kept := max(0, len(t.end)-(draftTail-len(piece)))
		t.end, t.cut = t.end[:copy(t.end, t.end[kept:])], true
	}
	t.end = append(t.end, piece...)
}

// tail returns the last bytes of a text, from the beginning of a character.
func (t *draftText) tail(size int) (text string, cut bool) {
	from := max(0, len(t.end)-size)
	for cut = t.cut || from > 0; cut && from < len(t.end) && !utf8.RuneStart(t.end[from]); {
		from++
	}
	return string(t.end[from:]), cut
}

// change numbers a change of a member's drafts and wakes whoever waits for it. The caller holds
// mu.
func (d *Drafts) change(member string) {
	d.last++
	d.changed[member] = d.last
	for _, of := range [...]string{member, ""} {
		if c := d.waiting[of]; c != nil {
			delete(d.waiting, of)
			close(c)
		}
	}
}

// remove removes the text of an answer, if there is one. The caller holds mu.
func (d *Drafts) remove(w writer) {
	if d.texts[w] != nil {
		delete(d.texts, w)
		d.change(w.member)
	}
}

// Complete processes an event of a member before it goes to the journal. It implements crew.Completer.
func (d *Drafts) Complete(_ context.Context, _ *Member, e events.Event) (events.Event, error) {
	d.see(e)
	return e, nil
}

// see processes an event. A text that was recorded stays until Journaled, so that readers see it all
// the time. Whatever else ends an answer removes what is left of it.
func (d *Drafts) see(e events.Event) {
	w := writer{e.Member, e.Helper}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch e.Data.(type) {
	case events.TextSaid:
		if t := d.texts[w]; t != nil {
			t.recorded = true
		}
	case events.PassStarted, events.TurnEnded, events.HelperEnded, events.MemberEnded:
		d.remove(w)
	}
}

// Journaled processes a line that was written to the journal: a text has its line now.
func (d *Drafts) Journaled(l events.Line) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seq = l.Seq
	w := writer{l.Member, l.Helper}
	if t := d.texts[w]; t != nil && t.recorded && events.Is[events.TextSaid](l) {
		d.remove(w)
	}
}

// Now returns the drafts of a member; of all members if it is empty.
func (d *Drafts) Now(member string) Drafting {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now(member)
}

// now is Now for a caller that holds mu.
func (d *Drafts) now(member string) Drafting {
	var who []writer
	for w := range d.texts {
		if member == "" || w.member == member {
			who = append(who, w)
		}
	}
	slices.SortFunc(who, func(a, b writer) int {
		return cmp.Or(cmp.Compare(a.member, b.member), cmp.Compare(a.helper, b.helper))
	})
	drafting := Drafting{Number: d.number(member), Seq: d.seq, Drafts: make([]Draft, len(who))}
	size := min(draftTail, max(shortestTail, draftsShown/max(1, len(who))))
	for i, w := range who {
		text, cut := d.texts[w].tail(size)
		drafting.Drafts[i] = Draft{Member: w.member, Helper: w.helper, Text: text, Cut: cut}
	}
	return drafting
}

// number returns the number of the last change of a member's drafts, or of all. The caller holds
// mu.
func (d *Drafts) number(member string) uint64 {
	if member == "" {
		return d.last
	}
	return d.changed[member]
}

// Next waits until the drafts of a member (all if it is empty) have changed since the change with
// the number after, and returns them. With 0 it returns at once if anything was ever written.
// Calls of one reader follow each other at draftPace at least. Next fails when ctx ends, and with
// ErrOver after Close.
func (d *Drafts) Next(ctx context.Context, member string, after uint64) (Drafting, error) {
	if after > 0 {
		select {
		case <-time.After(draftPace):
		case <-d.done:
		case <-ctx.Done():
			return Drafting{}, ctx.Err()
		}
	}
	select {
	case <-d.changedAfter(member, after):
		return d.Now(member), nil
	case <-d.done:
		return Drafting{}, ErrOver
	case <-ctx.Done():
		return Drafting{}, ctx.Err()
	}
}

// changedAfter returns a channel that is closed once a member's drafts have changed.
func (d *Drafts) changedAfter(member string, after uint64) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.number(member) > after {
		now := make(chan struct{})
		close(now)
		return now
	}
	c := d.waiting[member]
	if c == nil {
		c = make(chan struct{})
		d.waiting[member] = c
	}
	return c
}

// Close ends the waits of all readers, which would hold up the end of the bus. It may be called
// more than once.
func (d *Drafts) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.closed = true
		close(d.done)
	}
}
