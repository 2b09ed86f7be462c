package view

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
)

// Apply changes the State by the next event of the journal.
func (s *State) Apply(l events.Event) {
	if s.isAnother(l) {
		*s = State{}
	}
	if l.Seq <= s.Seq {
		return
	}
	s.count(l)
	if l.Report > 0 {
		s.member(l.Member).Reported = l.Report
	}
	// Each part knows its types of events; one that no part knows changes nothing more.
	switch {
	case (teamFold{s}).apply(l), (workFold{s}).apply(l), (gateFold{s}).apply(l):
		s.Work = l.Seq
	case (turnFold{s}).apply(l):
		switch l.Data.(type) {
		case events.TurnStarted, events.TurnEnded, events.Idle:
			s.Work = l.Seq
		}
	default:
		_ = memberFold{s}.apply(l)
	}
	s.extend(l)
}

// isAnother reports whether a line begins another journal than that of the State: `covey up
// --fresh` forgets the old one, and its numbers begin again.
func (s *State) isAnother(l events.Event) bool {
	return s.Seq > 0 && l.Seq == 1 && begins(l) && l.Time.After(s.Time)
}

// begins reports whether an event begins a run.
func begins(l events.Event) bool {
	_, ok := l.Data.(events.TeamStarted)
	return ok
}

// count notes the number of the line.
func (s *State) count(l events.Event) {
	if s.Seq == 0 {
		s.First = l.Seq
	} else if l.Seq != s.Seq+1 {
		gap := Gap{After: s.Seq, Before: l.Seq, Restart: begins(l)}
		s.Gaps = newest(append(s.Gaps, gap), maxGaps)
	}
	s.Version, s.Team = Version, l.Team
	s.Seq, s.Time = l.Seq, l.Time
}

// extend adds the line to what it is a part of: the run, the turn of its member, and the
// member's tasks in progress. It comes after the line's own effect: the line that begins a turn
// or claims a task is the first one of it.
func (s *State) extend(l events.Event) {
	if len(s.Runs) > 0 {
		s.Runs[len(s.Runs)-1].Last = l.Seq
	}
	m := s.Member(l.Member)
	if m == nil {
		return
	}
	m.Turn = max(m.Turn, l.Turn)
	var answer uint64
	if t := s.index.turns[m.Name]; t != nil {
		t.Last = l.Seq
		if t.Number == l.Turn {
			answer = t.Answer
		}
	}
	for _, id := range m.InProgress {
		if t := s.index.tasks[id]; t != nil {
			t.extend(l, answer)
		}
	}
}

// lineWidth is the length in characters of the texts of a State.
const lineWidth = 200

// cut makes one line of a text that may be long.
func cut(text string) string {
	text = strings.TrimSpace(text)
	if isLine(text) {
		return strings.Clone(text) // of a long text, too, which must not be kept for one line
	}
	return unbroken(text, lineWidth)
}

// reason is cut for a text that says what a person has to do, of which little may be lost.
func reason(text string) string { return unbroken(text, 4*lineWidth) }

// unbroken makes one line of at most width characters of a text.
func unbroken(text string, width int) string {
	if len(text) > 8*width {
		text = strings.ToValidUTF8(text[:8*width], "") // the rest is not kept; do not process megabytes
	}
	return texts.Short(texts.Unbroken(text), width)
}

// isLine reports whether nothing of a text would be cut. Most texts are such.
func isLine(text string) bool {
	space := true // none may begin the text or follow another
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= utf8.RuneSelf || c == ' ' && space || i == lineWidth {
			return false
		}
		space = text[i] == ' '
	}
	return !space
}

// firstLine is cut for the first line of an output that says something.
func firstLine(text string) string {
	if len(text) > 64*lineWidth {
		text = text[:64*lineWidth]
	}
	return cut(texts.FirstLine(text))
}

// The bounds of the lists of a State. They hold a day of a team of 200 members in a few
// megabytes.
const (
	maxGaps      = 100
	maxRuns      = 100
	maxWarnings  = 200
	maxMoves     = 50
	maxRequests  = 500  // closed ones
	maxMail      = 1000 // delivered messages
	maxMerges    = 500  // those that are over
	maxTurns     = 1000
	maxGates     = 2000
	maxHookRuns  = 50 // of a gate
	maxTexts     = 5
	maxIncidents = 20
	maxCalls     = 20
	maxLines     = 200 // of a task; likewise the next ones
	maxSpans     = 100
	maxOwners    = 50
	maxReturns   = 50
	maxSteps     = 50 // of a merge
	maxPayload   = 64 << 10
)

// newest returns the last most elements of a list.
func newest[T any](list []T, most int) []T {
	if len(list) > most {
		list = slices.Delete(list, 0, len(list)-most)
	}
	return list
}

// bounded returns a list without its oldest elements that are over, if more than most are in
// it, and the number of those that it left out. It lets the list grow by a quarter before, so
// that a long list is not copied for each new element.
func bounded[T any](list []T, most int, over func(T) bool) ([]T, int) {
	if len(list) <= most+most/4 {
		return list, 0
	}
	before := len(list)
	surplus := before - most
	list = slices.DeleteFunc(list, func(e T) bool {
		if surplus == 0 || !over(e) {
			return false
		}
		surplus--
		return true
	})
	return list, before - len(list)
}
