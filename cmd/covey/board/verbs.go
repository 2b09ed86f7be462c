package board

import (
	"cmp"
	"errors"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
)

// Act is something that a person asks for on the board.
type Act struct {
	Verb    Verb
	Request string // of Approve and Deny: the id of the question
	Member  string // of Send, Hold, Release and Interrupt; empty: the lead; of Merge, if the work has no task
	Task    string // of Merge and Return
	Text    string // of Send and Return, and what goes along with an answer
}

// Verb describes what an Act does.
type Verb string

// The verbs.
const (
	Approve   Verb = "approve"
	Deny      Verb = "deny"
	Send      Verb = "send"
	Hold      Verb = "hold"
	Release   Verb = "release"
	Interrupt Verb = "interrupt"
	Merge     Verb = "merge"
	// MergeUnmarked merges all finished work without marks.
	MergeUnmarked Verb = "merge unmarked"
	Return        Verb = "send back"
	// Changes shows what work changes. It asks the team for nothing.
	Changes Verb = "diff"
)

// deed is what a key does with the chosen row.
type deed struct {
	key  string
	verb Verb
	// can reports whether the row is one that it can be done with.
	can func(r row) bool
	// ask is what the person is asked before it is done, by the name of what it is about; empty: it
	// is done at once, because the same key takes it back.
	ask string
	// typed describes what to type: nothing, a text if one likes, or a text.
	typed typed
}

// typed describes whether a text goes along with an act.
type typed int

const (
	nothing typed = iota
	maybe
	needed
)

// deeds are all that keys do with a row, in the order in which the last line names them: what a person is most likely here for first. What ends
// something, or cannot be taken back, is asked about first, with the name of what it is about: rows
// move while somebody reads, and a key must never answer another question than the one that was
// read.
var deeds = []deed{
	{"a", Approve, func(r row) bool { return r.request != "" }, "approve", maybe},
	{"d", Deny, func(r row) bool { return r.request != "" }, "deny", maybe},
	{"m", Merge, func(r row) bool { return r.merges }, "merge", nothing},
	{"d", Changes, func(r row) bool { return r.changes && r.request == "" }, "", nothing},
	{"D", Changes, func(r row) bool { return r.changes && r.request != "" }, "", nothing},
	{"r", Return, func(r row) bool { return r.returns }, "send back", needed},
	{"M", MergeUnmarked, func(r row) bool { return r.merges && r.request == "" }, "merge", nothing},
	send,
	{"h", Hold, func(r row) bool { return r.member != "" && !r.held }, "", nothing},
	{"h", Release, func(r row) bool { return r.member != "" && r.held }, "", nothing},
	{"i", Interrupt, func(r row) bool { return r.member != "" }, "interrupt", nothing},
}

// send is the deed of writing to somebody.
var send = deed{"s", Send, func(row) bool { return true }, "to", needed}

// commands are the lines that begin with a colon.
const commands = ":approve ID [TEXT] · :deny ID [TEXT] · :interrupt · :hold · :resume · :help"

// command returns what a line asks for that begins with a colon. Such a line is never sent to the member: a
// mistyped command must not become a prompt. It may name another member than the one that is shown.
func command(line, member string) (Act, error) {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	a := Act{Verb: Verb(word[1:]), Member: cmp.Or(rest, member)}
	switch a.Verb {
	case Approve, Deny:
		a.Member = ""
		if a.Request, a.Text, _ = strings.Cut(rest, " "); a.Request == "" {
			return Act{}, errors.New("not answered: name the request by its id, such as r7")
		}
		a.Text = strings.TrimSpace(a.Text)
		return a, nil
	case Hold, Interrupt:
		return a, nil
	case "resume":
		a.Verb = Release
		return a, nil
	}
	return Act{}, errors.New("there is no " + word + ": " + commands)
}

// act returns what a deed does with a row.
func (d deed) act(r row) Act {
	a := Act{Verb: d.verb}
	switch d.verb {
	case Approve, Deny:
		a.Request = r.request
	case Merge, Return:
		if a.Task = r.task; a.Task == "" {
			a.Member = r.member
		}
	case MergeUnmarked:
	default:
		a.Member = r.member
	}
	return a
}

// confirms returns the word that a person has to type before a deed that accepts work with marks: what is to
// be looked at first must not be passed over by two quick keys. A letter is enough from who reads its changes. Empty: Enter is.
func (d deed) confirms(r row, reads bool) string {
	switch {
	case !r.marked || d.verb != Merge && d.verb != Approve:
		return ""
	case reads:
		return "y"
	}
	return string(d.verb)
}

// question is what a person is asked before an act with a row.
func (d deed) question(a Act, r row, reads bool) string {
	about := a.Request + " of " + r.member
	switch {
	case a.Task != "":
		about = "task " + a.Task
	case d.verb == Send && a.Member == "":
		about = "the lead"
	case a.Member != "":
		about = a.Member
	}
	ask := d.ask
	if d.verb == Merge && r.again {
		ask = "ask again about"
	}
	text := ask + " " + term.PlainLine(about)
	switch word := d.confirms(r, reads); {
	case word != "" && reads:
		return "⚠ " + text + " with its marks? Type " + word + ": "
	case word != "":
		return "⚠ " + text + "? Read its marks (d shows its diff), then type " + word + ": "
	}
	switch d.typed {
	case nothing:
		return text + "? "
	case maybe:
		return text + " (a text may go along): "
	}
	return text + ": "
}
