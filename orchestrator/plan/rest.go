package plan

import "github.com/coveyteam/covey/tasks"

// MaxDigests limits the lead's consecutive turns for notes only. Without it a
// lead that answers each note would keep the team up for ever.
const MaxDigests = 8

// atRest returns the moves when no member works and none has anything to do.
func atRest(s Scene) []Move {
	lead := s.Seats[0]
	leadHears := !lead.Gone && lead.Attention == "" && !lead.Held
	if reason, byPerson := heldWork(s); reason != "" {
		return []Move{{Kind: Finish, Reason: reason, Held: byPerson}}
	}
	open := tasks.OpenTasks(s.Tasks)
	if len(open) == 0 {
		mark := Fingerprint(s.Tasks)
		// A team without tasks needs no report: its answer is in the lead's
		// turns.
		if len(s.Tasks) > 0 && s.LastReport != mark && leadHears {
			return []Move{{Kind: AskReport, Member: lead.Name, Mark: mark}}
		}
		return unlessNoted(s, Move{Kind: Finish, Done: true, Reason: "all work is done"})
	}
	reason := impasse(s, open)
	mark := Fingerprint(open)
	// It tells the lead once per state of the list. A lead that changes nothing
	// is not told again; one that changes something is told what is left.
	if s.LastImpasse != mark && leadHears {
		return []Move{{Kind: TellLead, Member: lead.Name, Reason: reason, Mark: mark}}
	}
	return unlessNoted(s, Move{Kind: Finish, Reason: reason})
}

// unlessNoted returns the move end, or first a turn of the lead for waiting
// notes. All other turns of the lead include the notes, too.
//
// It skips the notes if the lead is gone, needs attention or is locked out,
// because the team would wait for its turn for ever, and after MaxDigests turns.
func unlessNoted(s Scene, end Move) []Move {
	lead := s.Seats[0]
	if !s.Noted || s.Digests >= MaxDigests || lead.Gone || lead.Attention != "" || lead.Lock != "" {
		return []Move{end}
	}
	return []Move{{Kind: GiveNotes, Member: lead.Name}}
}
