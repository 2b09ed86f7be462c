package teammate

import (
	"fmt"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// minNoted is the smallest limits.max_turns that has notes before it is reached.
const minNoted = 10

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
		list = append(list, u.note("max_turns", agent.Level(float64(u.passes), float64(limits.MaxTurns)), used)...)
	}
	if limits.TurnTimeout > 0 {
		past := time.Since(u.start)
		used := fmt.Sprintf("%v of the %v", past.Round(time.Second), limits.TurnTimeout)
		list = append(list, u.note("turn_timeout", agent.Level(float64(past), float64(limits.TurnTimeout)), used)...)
	}
	return list
}

// note returns a note about a limit of this turn, once for each level. The limit itself
// ends the turn, so the last note before it asks the agent to finish.
func (u *turn) note(limit string, level int, used string) []agent.Input {
	id := fmt.Sprintf("%sturn:%d:%s:%d", agent.NotePrefix, u.at.no, limit, level)
	if level == 0 || u.t.seen[id] {
		return nil
	}
	text := fmt.Sprintf("You have used %s that this turn may take (limits.%s).", used, limit)
	if level >= agent.LastLevel {
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
