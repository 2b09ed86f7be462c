package agent

import (
	"fmt"
	"strings"
)

// NotePrefix begins the MessageID of each input about a limit or a budget. No inbox
// knows these ids: they only make sure that a note is shown once, even over restarts.
const NotePrefix = "budget:"

// Purse limits what a member and its helpers may use. It is called from several
// goroutines, because helpers may run in the background.
type Purse interface {
	// Price returns the cost of a model's tokens in US dollars; 0 if no price is known. An
	// empty model is the member's own.
	Price(u Usage, model string) float64
	// Spend is called with the tokens of each model request as soon as they are
	// counted, and with their Price.
	Spend(u Usage, usd float64)
	// Left is called before each pass. Its error, which wraps ErrMaxTokens,
	// ErrMaxBudget or ErrTeamBudget, ends the turn.
	Left(helper bool) error
	// Notes returns the notes about usage that the member has not seen. Each has a
	// MessageID that begins with NotePrefix, and is omitted once it was Shown.
	Notes() []Input
	// Shown reports that the notes with these ids are in the transcript, on disk.
	Shown(ids []string)
}

// LastLevel is the share of a limit, in percent, at which the last note asks a member to
// finish.
const LastLevel = 90

// Level returns the highest of 50, 75, 90 and 100 percent of limit that used has
// reached; 0 if it has reached none, or there is no limit.
func Level(used, limit float64) int {
	if limit <= 0 {
		return 0
	}
	for _, level := range []int{100, LastLevel, 75, 50} {
		if used*100 >= limit*float64(level) {
			return level
		}
	}
	return 0
}

// SplitNotes separates ids of notes from those of the inbox.
func SplitNotes(ids []string) (notes, mail []string) {
	for _, id := range ids {
		if strings.HasPrefix(id, NotePrefix) {
			notes = append(notes, id)
		} else {
			mail = append(mail, id)
		}
	}
	return notes, mail
}

// LimitNote returns the note that a turn has reached a level of one of its limits. The limit
// itself ends the turn, so the last note before it asks the agent to finish.
func LimitNote(turn int, limit string, level int, used string) Input {
	text := fmt.Sprintf("You have used %s that this turn may take (limits.%s).", used, limit)
	if level >= LastLevel {
		text += " Finish now: save what you have, say in the task or in a message what is done and what is left, " +
			"and begin nothing new. The turn ends when the limit is reached."
	}
	id := fmt.Sprintf("%sturn:%d:%s:%d", NotePrefix, turn, limit, level)
	return Input{Kind: FromCovey, Text: text, MessageID: id}
}
