package teammate

import (
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// NotePrefix begins the MessageID of each input about a limit or a budget. No inbox
// knows these ids: they only make sure that a note is shown once, even over restarts.
const NotePrefix = "budget:"

// Purse limits what a member and its helpers may use. It is called from several
// goroutines, because helpers may run in the background.
type Purse interface {
	// Price returns the cost of tokens in US dollars; 0 if no price is known.
	Price(u agent.Usage) float64
	// Spend is called with the tokens of each model request as soon as they are
	// counted, and with their Price.
	Spend(u agent.Usage, usd float64)
	// Left is called before each pass. Its error, which wraps ErrMaxTokens,
	// ErrMaxBudget or ErrTeamBudget, ends the turn.
	Left(helper bool) error
	// Notes returns the notes about usage that the member has not seen. Each has a
	// MessageID that begins with NotePrefix, and is omitted once it was Shown.
	Notes() []agent.Input
	// Shown reports that the notes with these ids are in the transcript, on disk.
	Shown(ids []string)
}

// noteLevels are the shares of a limit, in percent, at which a member gets a note about
// it.
var noteLevels = []int{90, 75, 50}

// minNoted is the smallest limits.max_turns that has notes before it is reached.
const minNoted = 10

// Level returns the highest of 50, 75, 90 and 100 percent of limit that used has
// reached; 0 if it has reached none, or there is no limit.
func Level(used, limit float64) int {
	if limit <= 0 {
		return 0
	}
	for _, level := range append([]int{100}, noteLevels...) {
		if used*100 >= limit*float64(level) {
			return level
		}
	}
	return 0
}

// notes returns the notes about limits for the next pass. Helpers get none: they are
// short, and their member is told.
func (u *turn) notes() []agent.Input {
	if u.t.helper != nil {
		return nil
	}
	var list []agent.Input
	if u.t.opts.Purse != nil {
		list = u.t.opts.Purse.Notes()
	}
	limits := u.t.opts.Limits
	if limits.MaxTurns >= minNoted {
		used := fmt.Sprintf("%d of the %d model requests", u.passes, limits.MaxTurns)
		list = append(list, u.note("max_turns", Level(float64(u.passes), float64(limits.MaxTurns)), used)...)
	}
	if limits.TurnTimeout > 0 {
		past := time.Since(u.start)
		used := fmt.Sprintf("%v of the %v", past.Round(time.Second), limits.TurnTimeout)
		list = append(list, u.note("turn_timeout", Level(float64(past), float64(limits.TurnTimeout)), used)...)
	}
	return list
}

// note returns a note about a limit of this turn, once for each level. The limit itself
// ends the turn, so the last note before it asks the agent to finish.
func (u *turn) note(limit string, level int, used string) []agent.Input {
	id := fmt.Sprintf("%sturn:%d:%s:%d", NotePrefix, u.at.no, limit, level)
	if level == 0 || u.t.seen[id] {
		return nil
	}
	text := fmt.Sprintf("You have used %s that this turn may take (limits.%s).", used, limit)
	if level >= noteLevels[0] {
		text += " Finish now: save what you have, say in the task or in a message what is done and what is left, " +
			"and begin nothing new. The turn ends when the limit is reached."
	}
	return []agent.Input{{Kind: agent.FromCovey, Text: text, MessageID: id}}
}

// price returns the cost of tokens, or 0 if it is unknown.
func (t *Teammate) price(used agent.Usage) float64 {
	if t.opts.Purse == nil || used == (agent.Usage{}) {
		return 0
	}
	return t.opts.Purse.Price(used)
}

// Spend counts tokens that were used for the member elsewhere and are already in the
// journal, such as those of a model that answered one of its hooks. It may be called from
// any goroutine.
func (t *Teammate) Spend(used agent.Usage) error {
	if used == (agent.Usage{}) {
		return nil
	}
	usd := t.price(used)
	ln := t.scope(0, "").line(transcript.TokensUsed)
	ln.Usage, ln.CostUSD = &used, usd
	t.addUsage(used, usd, false)
	return t.opts.Transcript.Append(ln)
}

// addUsage adds tokens to the member's totals. owed says that no turn has reported them yet.
func (t *Teammate) addUsage(used agent.Usage, usd float64, owed bool) {
	if used == (agent.Usage{}) {
		return
	}
	if owed {
		t.used.add(used)
	}
	if t.opts.Purse != nil {
		t.opts.Purse.Spend(used, usd)
	}
}

// splitNotes separates ids of notes from those of the inbox.
func splitNotes(ids []string) (notes, mail []string) {
	for _, id := range ids {
		if strings.HasPrefix(id, NotePrefix) {
			notes = append(notes, id)
		} else {
			mail = append(mail, id)
		}
	}
	return notes, mail
}
