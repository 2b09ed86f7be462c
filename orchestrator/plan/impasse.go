package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/mail"
)

// mostNamed is how many members and tasks an impasse names, because a long list hides what to do.
const mostNamed = 5

// impasse describes the open tasks that no member can take, and the reasons. What a member needs
// attention for comes first, and once for all of its tasks.
func impasse(s Scene, open []tasks.Task) string {
	var causes, why []string
	for _, seat := range s.Seats {
		if !seat.Gone && !seat.Held && seat.Attention != "" && slices.ContainsFunc(open, func(t tasks.Task) bool {
			return t.Owner == seat.Name && len(tasks.OpenBlockers(t, s.Tasks)) == 0
		}) {
			causes = append(causes, seat.Name+" needs attention: "+seat.Attention)
		}
	}
	for _, t := range open {
		why = append(why, tasks.Named(t.ID)+" "+strconv.Quote(SubjectLine(t))+" "+stuck(s, t))
	}
	text := "nobody can go on: " + firstOf(why) + inCircle(s)
	if len(causes) > 0 {
		text = firstOf(causes) + "; " + text
	}
	for _, list := range [][]string{missed(s, open), keptMail(s)} {
		if len(list) > 0 {
			text += "; " + firstOf(list)
		}
	}
	return text
}

// firstOf joins the first mostNamed of a list, and counts the rest.
func firstOf(list []string) string {
	text := strings.Join(list[:min(len(list), mostNamed)], "; ")
	if more := len(list) - mostNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// stuck explains why an open task makes no progress while all members are idle.
func stuck(s Scene, t tasks.Task) string {
	if by := tasks.OpenBlockers(t, s.Tasks); len(by) > 0 {
		return "is blocked by " + tasks.NamesOf(by)
	}
	if t.Owner == "" {
		return "is ready, but " + untaken(s, t)
	}
	owner, ok := s.seat(t.Owner)
	switch {
	case !ok:
		return "belongs to " + t.Owner + ", who is no member"
	case owner.Gone:
		return "belongs to " + t.Owner + ", who takes no more turns"
	case owner.Held:
		return "belongs to " + t.Owner + ", who is held"
	case owner.Attention != "":
		return "belongs to " + t.Owner + ", who needs attention"
	}
	if owner.Awaits != "" {
		return "belongs to " + t.Owner + ", who waits for " + owner.Awaits
	}
	if by := heldBy(s, *owner, nil); by != "" {
		return "belongs to " + t.Owner + ", who waits until " + by + " has no open work (depends_on)"
	}
	return "belongs to " + t.Owner
}

// untaken explains why no member takes a ready task. If members lack skills that
// the task wants, it names them, so that the lead can see which member to give it
// to.
func untaken(s Scene, t tasks.Task) string {
	var lacks []string
	for _, seat := range s.Seats {
		if seat.Gone || !seat.SelfClaim {
			continue
		}
		missing := seat.lacks(t.Wants)
		if len(missing) == 0 {
			lacks = nil
			break // missing skills are not the reason
		}
		lacks = append(lacks, seat.Name+" lacks "+strings.Join(missing, ", "))
	}
	if len(lacks) == 0 && len(couldHave(s, t)) > 0 {
		return "nobody is left who takes it by itself"
	}
	if len(lacks) == 0 {
		return "no idle member takes it by itself"
	}
	return "nobody suits it (" + firstOf(lacks) + "); somebody has to give it to a member"
}

// couldHave returns the members that have left and would have taken a task.
func couldHave(s Scene, t tasks.Task) []Seat {
	var gone []Seat
	for _, seat := range s.Seats {
		if seat.Gone && seat.GoneFor != "" && !seat.Lead && len(seat.lacks(t.Wants)) == 0 {
			gone = append(gone, seat)
		}
	}
	return gone
}

// missed names the members that have left and would have taken an open task, and
// why they take no more turns, because that is why the team cannot go on.
func missed(s Scene, open []tasks.Task) (list []string) {
	told := map[string]bool{}
	for _, t := range open {
		if t.Owner != "" || len(tasks.OpenBlockers(t, s.Tasks)) > 0 {
			continue
		}
		for _, seat := range couldHave(s, t) {
			if !told[seat.Name] {
				told[seat.Name] = true
				list = append(list, seat.Name+" takes no more turns: "+seat.GoneFor)
			}
		}
	}
	return list
}

// keptMail names the members whose mail waits for tasks that nobody does.
func keptMail(s Scene) (list []string) {
	for _, seat := range s.Seats {
		if len(seat.MailWaits) > 0 {
			list = append(list, "mail for "+seat.Name+" waits for "+tasks.NamesOf(onceEach(seat.MailWaits)))
		}
	}
	return list
}

// onceEach drops repeated tasks.
func onceEach(list []tasks.Task) (once []tasks.Task) {
	for _, t := range list {
		if !slices.ContainsFunc(once, func(o tasks.Task) bool { return o.ID == t.ID }) {
			once = append(once, t)
		}
	}
	return once
}

// TellText returns the text that tells the lead of an impasse.
func TellText(m Move) string {
	if !strings.HasPrefix(m.Mark, markWaits) {
		return impasseText(m.Reason)
	}
	return strings.ToUpper(m.Reason[:1]) + m.Reason[1:] + ".\nGive the tasks that they wait for to others or delete them, " +
		"or write to who does not answer. Questions end by themselves when their time is over."
}

// impasseText tells the lead that the team makes no progress.
func impasseText(reason string) string {
	return "Everyone is idle and open tasks remain; " + reason +
		"\nReassign, unblock, change or delete them, or message the member who can; otherwise the team ends unfinished."
}

// SubjectLine returns a task's subject on one line, for lists.
func SubjectLine(t tasks.Task) string {
	return mail.Summary(texts.Defuse(texts.Unbroken(t.Subject)))
}
