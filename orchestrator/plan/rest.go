package plan

import "github.com/coveyteam/covey/tasks"

// MaxDigests is how many turns in a row the lead gets for notes alone: a lead
// that thanks for each would keep the team up for ever.
const MaxDigests = 8

// atRest decides what follows when nobody works and nobody has anything to do.
func atRest(s Scene) []Move {
	lead := s.Seats[0]
	leadHears := !lead.Gone && lead.Attention == "" && !lead.Held
	if reason := heldWork(s); reason != "" {
		return []Move{{Kind: Finish, Reason: reason}}
	}
	open := tasks.OpenTasks(s.Tasks)
	if len(open) == 0 {
		mark := Fingerprint(s.Tasks)
		// A team without tasks has had its answer in the lead's turns.
		if len(s.Tasks) > 0 && s.Reports != mark && leadHears {
			return []Move{{Kind: AskReport, Member: lead.Name, Mark: mark}}
		}
		return unlessNoted(s, Move{Kind: Finish, Done: true, Reason: "all work is done"})
	}
	reason := impasse(s, open)
	mark := Fingerprint(open)
	// Once for each state of the list: a lead that answers nothing must not be told
	// for ever, and one that changes something is told of what is left.
	if s.Told != mark && leadHears {
		return []Move{{Kind: TellLead, Member: lead.Name, Reason: reason, Mark: mark}}
	}
	return unlessNoted(s, Move{Kind: Finish, Reason: reason})
}

// unlessNoted is how a team at rest ends: the lead hears first what nobody has
// told it. Everything that gives the lead a turn takes the notes along.
//
// A lead that is gone, needs people or is locked out would never take the turn, and the
// team would wait for it for ever; then the end comes without the notes. The bound of
// MaxDigests is the same thought for a lead that answers each note.
func unlessNoted(s Scene, end Move) []Move {
	lead := s.Seats[0]
	if !s.Noted || s.Digests >= MaxDigests || lead.Gone || lead.Attention != "" || lead.Lock != "" {
		return []Move{end}
	}
	return []Move{{Kind: GiveNotes, Member: lead.Name}}
}
