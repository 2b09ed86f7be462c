package plan

import (
	"slices"

	"github.com/coveyteam/covey/tasks/mail"
)

// leadWaits reports whether the lead's mail begins no turn yet, because the lead
// could only reply that it waits: the mail is its first goal or reports of
// members, and members that can act own all open tasks, except those that are
// being merged. The lead gets the mail together with the next message, impasse,
// or request for its report.
func leadWaits(s Scene, lead Seat, show []mail.Message) bool {
	if !lead.Lead || len(show) == 0 || len(s.Tasks) == 0 {
		return false
	}
	if slices.ContainsFunc(show, func(m mail.Message) bool { return !isReport(m) && (m.Kind != mail.Goal || lead.Turn > 0) }) {
		return false
	}
	x := withIndexes(s).index
	for name := range x.owned {
		owner, ok := s.seat(name)
		if !ok || owner.Lead || owner.Gone || owner.Held || owner.Spent != "" || owner.Attention != "" || owner.Lock != "" {
			return false
		}
	}
	return len(x.wants) == 0
}

// isReport reports whether a member has sent m with team_report, so that it needs
// no answer.
func isReport(m mail.Message) bool {
	return m.Kind == mail.Text && m.From != "" && m.Summary == mail.ReportSummary
}

// withMail returns the moves of a team at rest. Before the team ends, the lead
// gets mail that still waits.
func withMail(s Scene, moves []Move) []Move {
	lead := s.Seats[0]
	if len(moves) != 1 || moves[0].Kind != Finish || len(lead.Unread) == 0 ||
		lead.Gone || lead.Held || lead.Attention != "" || lead.Spent != "" || lead.Lock != "" || lead.HeldBy != "" {
		return moves
	}
	if show, _ := SortMail(lead.Unread, s.Tasks, lead.Name); len(show) == 0 {
		return moves
	}
	return []Move{{Kind: GiveMail, Member: lead.Name}}
}
