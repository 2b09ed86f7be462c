package teammate

import (
	"fmt"
	"strings"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// NotePrefix begins the MessageID of each input that is about a limit or a
// budget. No inbox knows of these ids: they only see to it that a note is shown
// once, over restarts too.
const NotePrefix = "budget:"

// Purse says what a member and its helpers may use. It is asked and told from
// several goroutines, since helpers may work beside their member.
type Purse interface {
	// Price is what tokens cost, in US dollars; 0 where no price is known.
	Price(u agent.Usage) float64
	// Spend is told of the tokens of a model request as soon as they are counted,
	// with what Price made of them.
	Spend(u agent.Usage, usd float64)
	// Left is asked before each pass. Its error, which wraps ErrMaxTokens,
	// ErrMaxBudget or ErrTeamBudget, ends the turn and says why.
	Left(helper bool) error
	// Notes are what the member is to be told of its use now. Each has a MessageID
	// that begins with NotePrefix, and is not given again once it was Shown.
	Notes() []agent.Input
	// Shown says that the notes with these ids stand in the transcript, on disk.
	Shown(ids []string)
}

// noteLevels are the shares of a limit, in percent, at which a member is told
// how much of it is used.
var noteLevels = []int{90, 75, 50}

// minNoted is the least limits.max_turns of which there is something to say
// before it is reached.
const minNoted = 10

// Level is the highest of the shares 50, 75, 90 and 100 percent of a limit that
// used has reached; 0: none, or there is no limit.
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

// notes are what the member has to hear of its limits before the next pass.
// Helpers hear nothing: they are short, and their member is told.
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

// note tells of a limit of this turn, once for each level. The limit itself is
// hard, so the last note before it is the one that asks to finish.
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

// price is what tokens cost, as far as anybody knows.
func (t *Teammate) price(used agent.Usage) float64 {
	if t.opts.Purse == nil || used == (agent.Usage{}) {
		return 0
	}
	return t.opts.Purse.Price(used)
}

// Spend counts tokens that somebody else has used for the member, such as a
// model that answered one of its hooks, and has told the journal of. It may be called from any goroutine.
func (t *Teammate) Spend(used agent.Usage) error {
	if used == (agent.Usage{}) {
		return nil
	}
	usd := t.price(used)
	ln := t.scope(0, "").line(transcript.TokensUsed)
	ln.Usage, ln.CostUSD = &used, usd
	t.book(used, usd, false)
	return t.opts.Transcript.Append(ln)
}

// book counts tokens for the member's life. Those that are owed, no turn has told
// of yet.
func (t *Teammate) book(used agent.Usage, usd float64, owed bool) {
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

// splitNotes tells ids of notes from those of an inbox.
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
