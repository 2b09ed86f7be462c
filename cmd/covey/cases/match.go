package cases

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// judge compares a row of a table with what was decided.
func (c *Call) judge(got madeCall, r *record) (f Failure, failed bool) {
	if got.decision == c.Expect && got.matches(c.Reason) {
		return f, false
	}
	return Failure{
		Line: c.at.At.Line, What: got.String() + " of " + got.member,
		Expected: string(c.Expect) + like(", reason", c.Reason), Seen: got.verdict(), Journal: r.entries(ofCall(got.id)),
	}, true
}

// like describes a pattern after a word; empty: there is none.
func like(word string, re *regexp.Regexp) string {
	if re == nil {
		return ""
	}
	return fmt.Sprintf("%s ~ /%s/", word, re)
}

// sighting is something that a Sight is about.
type sighting struct {
	text string // for people
	fits bool   // it is what the Sight describes
	want func(events.Event) bool
}

// find lists what was seen of the kind that the sight is about.
func (s *Sight) find(r *record) []sighting {
	switch s.Kind {
	case SeesGate:
		return s.gates(r)
	case SeesTask:
		return s.tasks(r)
	case SeesCall:
		return s.calls(r)
	case SeesMessage:
		return s.messages(r)
	}
	fits := r.ending.Code == s.End && matches(s.Text, r.ending.Reason, strings.Join(r.ending.Problems, "\n"))
	text := fmt.Sprintf("%d, %s", r.ending.Code, texts.OneLine(r.ending.Reason))
	return []sighting{{text, fits, func(e events.Event) bool {
		switch e.Data.(type) {
		case events.TeamEnded, events.NeedsAttention, events.Warning, events.TurnFailed, events.MemberLeft:
			return true
		}
		return false
	}}}
}

// matches reports whether one of some texts fits a pattern.
func matches(re *regexp.Regexp, texts ...string) bool {
	return re == nil || slices.ContainsFunc(texts, re.MatchString)
}

// isGate reports whether a gate is of the event and the task that the sight names.
func (s *Sight) isGate(g *view.Gate) bool {
	event := g.Event
	if g.Merge != "" {
		event = atMerge
	}
	return event == s.Gate && (s.Task == "" || g.Task == s.Task)
}

// gates lists the gates of the event and the task.
func (s *Sight) gates(r *record) (list []sighting) {
	for _, g := range r.state.Gates {
		if !s.isGate(g) {
			continue
		}
		fits := (s.Decision == "" || decisionOfGate(g) == s.Decision) && (s.Member == "" || g.Member == s.Member) &&
			matches(s.Text, r.said(g)...)
		list = append(list, sighting{r.gateText(g), fits, r.ofGate(*s)})
	}
	return list
}

// tasks lists the task as it is at the end.
func (s *Sight) tasks(r *record) (list []sighting) {
	for _, t := range r.state.Tasks {
		if t.ID != s.Task {
			continue
		}
		status := string(t.Status)
		if t.Deleted {
			status = "deleted"
		}
		text := fmt.Sprintf("%s, owner %s", status, cmp.Or(t.Owner, "nobody"))
		if n := len(t.Returns); n > 0 && t.Status != tasks.Completed {
			text += ", refused last: " + texts.OneLine(t.Returns[n-1].Reason)
		}
		fits := (s.Status == "" || s.Status == status) && (s.Owner == "" || s.Owner == t.Owner)
		list = append(list, sighting{text, fits, func(e events.Event) bool {
			d, ok := e.Data.(events.TaskChanged)
			return ok && d.Task.ID == s.Task
		}})
	}
	return list
}

// calls lists the calls of the tool.
func (s *Sight) calls(r *record) (list []sighting) {
	for _, c := range r.calls() {
		if s.Call.Tool != c.Tool && !s.Call.Forbids(c.Call) {
			continue
		}
		fits := s.Call.Forbids(c.Call) && (s.Decision == "" || c.decision == s.Decision) &&
			(s.Member == "" || c.member == s.Member) && c.matches(s.Text)
		list = append(list, sighting{c.String() + " of " + c.member + ": " + c.verdict(), fits, ofCall(c.id)})
	}
	return list
}

// messages lists the messages to the member.
func (s *Sight) messages(r *record) (list []sighting) {
	for _, e := range r.lines {
		d, ok := e.Data.(events.MessageSent)
		if !ok || d.To != s.To {
			continue
		}
		from := cmp.Or(d.From, "covey")
		fits := (s.From == "" || s.From == from) && matches(s.Text, d.Text)
		list = append(list, sighting{fmt.Sprintf("from %s: %s", from, texts.OneLine(d.Text)), fits, func(o events.Event) bool { return o.Seq == e.Seq }})
	}
	return list
}

// String describes what is to be seen.
func (s *Sight) String() string {
	what := []string{}
	add := func(format, value string) {
		if value != "" {
			what = append(what, fmt.Sprintf(format, value))
		}
	}
	switch s.Kind {
	case SeesTask:
		add("%s", s.Status)
		add("owner %s", s.Owner)
	case SeesEnd:
		add("%s", fmt.Sprint(s.End))
	case SeesMessage:
		add("from %s", cmp.Or(s.From, "anybody"))
	default:
		add("%s", cmp.Or(string(s.Decision), "any decision"))
		add("member %s", s.Member)
	}
	add("%s", strings.TrimSpace(like("text", s.Text)))
	return strings.Join(what, ", ")
}

// subject names what the sight is about.
func (s *Sight) subject() string {
	switch s.Kind {
	case SeesGate:
		if s.Task != "" {
			return s.Gate + " of task " + s.Task
		}
		return s.Gate
	case SeesTask:
		return "task " + s.Task + " at the end"
	case SeesCall:
		return "a call of " + s.Call.String()
	case SeesMessage:
		return "a message to " + s.To
	}
	return "the end of the run"
}

// expected compares what is to be seen with what was.
func (s *Sight) expected(r *record) (f Failure, failed bool) {
	found := s.find(r)
	if slices.ContainsFunc(found, func(f sighting) bool { return f.fits }) {
		return f, false
	}
	f = Failure{Line: s.at.At.Line, What: s.subject(), Expected: s.String(), Seen: "nothing of the kind", Journal: []string{}}
	if len(found) == 0 {
		f.Seen += "; the run ended: " + texts.OneLine(r.ending.Reason)
		return f, true
	}
	var seen []string
	for _, one := range found {
		if !slices.Contains(seen, one.text) {
			seen = append(seen, one.text)
		}
	}
	const most = 5
	if over := len(seen) - most; over > 0 {
		seen = append(seen[:most], fmt.Sprintf("… and %d more", over))
	}
	f.Seen = strings.Join(seen, "\n")
	f.Journal = r.entries(func(e events.Event) bool {
		return slices.ContainsFunc(found, func(s sighting) bool { return s.want(e) })
	})
	return f, true
}

// unwanted returns a failure if what is not to be seen was.
func (s *Sight) unwanted(r *record) []Failure {
	for _, one := range s.find(r) {
		if one.fits {
			return []Failure{{
				Line: s.at.At.Line, What: s.subject(), Expected: "never: " + s.String(), Seen: one.text, Journal: r.entries(one.want),
			}}
		}
	}
	return nil
}
