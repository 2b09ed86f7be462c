package recordings

import (
	"slices"

	"github.com/coveyteam/covey/hooks/texts"
)

// Letter is a message that a member is shown besides what its tools return: mail, or a note.
type Letter struct {
	ID   string // unique in its run
	Text string // with its sender
}

// portion is the letters that a member was shown at once.
type portion struct {
	after  int  // how many requests the member had made
	begins bool // a turn began with it; otherwise it came between two requests of one
	texts  []string
}

// pace is what a lane knows of its member's letters. The lock of the lane guards it.
type pace struct {
	portions []portion // of a recording: those that are not written yet; of a replay: those that are to come
	shown    map[string]bool
	lost     string // of a replay: the letter of the next request that never came; empty: none
	isFree   bool   // of a replay: the member is shown all that comes
}

// Shown records that a member is shown letters. begins says that a turn begins with them.
func (l *Lane) Shown(letters []Letter, begins bool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := portion{after: l.asked, begins: begins}
	for _, letter := range letters {
		if !l.pace.shown[letter.ID] {
			p.texts = append(p.texts, l.equalText(letter.Text))
		}
		if l.pace.shown == nil {
			l.pace.shown = map[string]bool{}
		}
		l.pace.shown[letter.ID] = true
	}
	switch {
	case len(p.texts) == 0:
	case !l.Replays():
		l.pace.portions = append(l.pace.portions, p)
	case !l.pace.isFree && len(l.pace.portions) > 0 && slices.Contains(l.pace.portions[0].texts, p.texts[0]):
		l.pace.portions = l.pace.portions[1:]
	}
}

// Due returns the places of the unread letters of a member that may be shown now, in the order in which
// they were shown. It is for replays only.
//
// Members get mail when others send it, which is a matter of moments, so a replay shows it in the portions
// in which it was shown then. whole is false while a letter of the next portion is missing; the member
// waits for it then.
func (l *Lane) Due(letters []Letter, begins bool) (now []int, whole bool) {
	l.tape.order.mu.Lock()
	asked := count(l.served)
	l.tape.order.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, letter := range letters {
		if l.pace.isFree || l.pace.shown[letter.ID] { // the latter after a turn that was cut off
			now = append(now, i)
		}
	}
	if l.pace.isFree || len(l.pace.portions) == 0 {
		return now, true
	}
	next := l.pace.portions[0]
	if next.after > asked || next.begins != begins {
		return now, true
	}
	taken, missing := l.take(next, letters, now)
	return taken, missing == ""
}

// take adds the places of a portion's letters to those of taken letters, or returns the text of one that
// is not there.
func (l *Lane) take(p portion, letters []Letter, taken []int) (_ []int, missing string) {
	with := slices.Clone(taken)
	for _, text := range p.texts {
		at := 0
		for at < len(letters) && (slices.Contains(with, at) || l.equalText(letters[at].Text) != text) {
			at++
		}
		if at == len(letters) {
			return taken, text
		}
		with = append(with, at)
	}
	return with, ""
}

// Free lets a member be shown all letters that come from now on, because those that it waits for cannot
// come any more. letters are those that are unread. If one is missing, its next request is a miss.
func (l *Lane) Free(letters []Letter, begins bool) {
	_, whole := l.Due(letters, begins)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !whole {
		_, l.pace.lost = l.take(l.pace.portions[0], letters, nil)
	}
	l.pace.isFree = true
}

// lostLetter returns the letter that a request lacks, once.
func (l *Lane) lostLetter() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := l.pace.lost
	l.pace.lost = ""
	return texts.Short(lost, 200)
}

// equalText makes a text equal to those of other runs. l.mu must be held.
func (l *Lane) equalText(text string) string { return l.tape.mask(l.places.equal(text)) }

// count returns how many elements are set.
func count(list []bool) int {
	n := 0
	for _, is := range list {
		if is {
			n++
		}
	}
	return n
}
