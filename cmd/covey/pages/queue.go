package pages

import (
	"fmt"
	"slices"
	"strings"
	"time"

	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// Piece is a piece of work in the review queue: finished work, or work whose completion a person has to
// approve.
type Piece struct {
	Key         string // names it in the page: its first task, or whose work it is
	Task        string // its first task; empty: it belongs to none
	Member      string // the author
	Title       string
	Into        string
	Commit      string // empty: it is not finished
	Ask         string // the open question that decides about it; empty: none
	Merge       tasks.MergeState
	Word, Class string // its state, and the class of its colour
	Reason      string
	Size        hints.Size
	Gates       []gateSign
	Hints       []hints.Hint // marks first
	Decide      bool         // it waits for a person
	Over        bool         // it is decided: merged, dropped, or back with its author
	Ended       time.Time    // with Over, since when
}

// Version names the piece as it is now, so that nobody decides about another one than was shown.
func (p Piece) Version() string { return p.Key + "@" + p.Commit }

// Marks are the words of what a person should look at first.
func (p Piece) Marks() []string { return hints.Words(p.Hints) }

// Notes are the words of what is good to know.
func (p Piece) Notes() []string { return hints.NoteWords(p.Hints) }

// Clean reports whether the piece waits, was looked at, and has no marks.
func (p Piece) Clean() bool {
	return p.Decide && p.Commit != "" && p.Size.Files > 0 && len(p.Marks()) == 0
}

// Queue returns the pieces of work of a team, in the order of a review queue: it does not change with what
// becomes of them.
func Queue(s *view.State, w view.Works) (list []Piece) {
	asked := map[string]*view.Request{}
	for _, r := range s.Requests {
		if r.Open() && r.To == actors.Operator && (r.Kind == requests.AskApproval || r.Kind == requests.AskMerge) {
			asked[r.ID] = r
		}
	}
	seen := map[string]bool{}
	for _, m := range slices.Backward(s.Merges) {
		one := pieceOf(s, w, m, asked)
		if seen[one.Key] || one.Task != "" && w.Merges[one.Task] != m { // there is newer work
			continue
		}
		list = append(list, one)
		seen[one.Key] = true
	}
	for _, r := range s.Requests {
		if t := s.Task(r.Task); asked[r.ID] != nil && t != nil && !slices.ContainsFunc(list, func(p Piece) bool { return p.Task == t.ID && !p.Over }) {
			list = slices.DeleteFunc(list, func(p Piece) bool { return p.Task == t.ID })
			list = append(list, Piece{
				Key: t.ID, Task: t.ID, Member: r.Member, Title: t.Subject, Ask: r.ID, Decide: true, Word: "awaits approval", Class: "wait",
				Gates: signs(w.Gates[t.ID], shownGates), Hints: w.Hints(s, t),
			})
		}
	}
	slices.SortStableFunc(list, func(a, b Piece) int { return api.InQueue(a.Hints, b.Hints, a.Task, b.Task) })
	return list
}

// pieceOf returns finished work as a piece. It takes the question about it from asked.
func pieceOf(s *view.State, w view.Works, m *view.Merge, asked map[string]*view.Request) Piece {
	word, style := termview.MergeWord(m.State)
	one := Piece{
		Key: "of " + m.Member, Member: m.Member, Title: m.Title, Into: m.Into, Commit: m.Commit, Merge: m.State, Reason: m.Reason, Size: m.Size,
		Hints: m.Hints, Decide: m.State.Stands(), Word: word, Class: classOf(style),
		Over: m.State.Over() || m.State == tasks.MergeReturned, Ended: m.Updated,
	}
	if len(m.Tasks) > 0 {
		one.Task, one.Key = m.Tasks[0], m.Tasks[0]
		if t := s.Task(one.Task); t != nil {
			one.Title, one.Hints, one.Gates = t.Subject, w.Hints(s, t), signs(w.Gates[t.ID], shownGates)
		}
		if more := len(m.Tasks) - 1; more > 0 {
			one.Title += " and " + strings.Join(m.Tasks[1:], ", ")
		}
	}
	if asked[m.Asked] != nil {
		one.Ask = m.Asked
	}
	if m.State == tasks.MergeReturned && m.Fix != "" {
		one.Reason = phrase(one.Reason) + "; goes on as task " + m.Fix
	}
	return one
}

// isPiece reports whether a need is about a piece of work, which the review queue shows.
func isPiece(s *view.State, n api.Need) bool {
	if n.Kind == api.NeedsAnswer {
		return s.Task(n.Task) != nil && (n.Asks == requests.AskApproval || n.Asks == requests.AskMerge)
	}
	return n.Kind == api.NeedsMerge || n.Kind == api.NeedsDecision
}

// review is the queue of the work that a person reviews. What is decided is folded, but for what an open page
// shows among the others.
func (d *Drawing) review() *Section {
	s := &Section{ID: "review", Class: "review", Title: "Review"}
	var list, over []Piece
	for _, p := range Queue(d.State, d.State.Works()) {
		if p.Over && !d.Places[p.Key] {
			over = append(over, p)
			continue
		}
		list = append(list, p)
		if d.Places != nil {
			d.Places[p.Key] = true
		}
	}
	if len(list)+len(over) == 0 {
		s.Class = "review empty"
		return s
	}
	head := struct {
		Form           string
		Up             bool
		Waiting, Marks int
		Clean          []string // the versions of those without marks
		Choose         bool     // some can be chosen
	}{Form: d.Form, Up: d.Now != nil}
	for _, p := range list {
		if p.Decide {
			head.Waiting++
			head.Marks += min(len(p.Marks()), 1)
			head.Choose = head.Choose || len(p.Marks()) == 0
		}
		if p.Clean() {
			head.Clean = append(head.Clean, p.Version())
		}
	}
	s.Head = d.drawn("review-head", "review-head", head)
	s.Open = len(list)
	if n := min(len(over), d.most.Merges); n > 0 {
		s.Fold = fmt.Sprintf("%d decided", len(over))
		slices.SortStableFunc(over, func(a, b Piece) int { return b.Ended.Compare(a.Ended) })
		list = append(list, over[:n]...)
	}
	for _, p := range list {
		d.row(s, "piece-"+DomID(p.Key), "piece", p)
	}
	return s
}
