package teammate

import (
	"fmt"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// minNoted is the smallest limits.max_turns that has notes before it is reached.
const minNoted = 10

// notes returns the notes about limits for the next pass. Helpers get none: they are
// short, and their member is told.
//
// A note has a message id like mail, made from the limit, its level and the turn. It is
// shown once: the transcript knows the ids that it has shown.
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
		list = append(list, u.limitNotes("max_turns", agent.Level(float64(u.passes), float64(limits.MaxTurns)), used)...)
	}
	if limits.TurnTimeout > 0 {
		past := time.Since(u.start)
		used := fmt.Sprintf("%v of the %v", past.Round(time.Second), limits.TurnTimeout)
		list = append(list, u.limitNotes("turn_timeout", agent.Level(float64(past), float64(limits.TurnTimeout)), used)...)
	}
	return list
}

// limitNotes returns a note about a limit of this turn, once for each level.
func (u *turn) limitNotes(limit string, level int, used string) []agent.Input {
	in := agent.LimitNote(u.at.no, limit, level, used)
	if level == 0 || u.t.shown.Has(in.MessageID) {
		return nil
	}
	return []agent.Input{in}
}

// price returns the cost of a model's tokens, or 0 if it is unknown. An empty model is the
// member's own.
func (t *Teammate) price(used agent.Usage, model string) float64 {
	if t.opts.Purse == nil || used == (agent.Usage{}) {
		return 0
	}
	return t.opts.Purse.Price(used, model)
}

// Spend counts tokens that were used for the member elsewhere and are already in the
// journal, such as those of a model that answered one of its hooks. It may be called from
// any goroutine.
func (t *Teammate) Spend(used agent.Usage) error {
	if used == (agent.Usage{}) {
		return nil
	}
	usd := t.price(used, "")
	ln := t.hookContext(0, "").line(transcript.TokensUsed)
	ln.Usage, ln.CostUSD = &used, usd
	t.addUsage(used, usd, false)
	return t.opts.Transcript.Append(ln)
}

// Count counts a model request that the member's agent program has made, which does not report it itself.
// It may be called from any goroutine.
func (t *Teammate) Count(used events.TokensUsed) {
	at := t.hookContext(0, "")
	if u := t.current.Load(); u != nil {
		at = t.hookContext(u.at.no, "")
	}
	t.addUsage(used.Usage, used.CostUSD, true)
	at.recordUse(used.Usage, used.CostUSD)
	at.emit(used)
}

// addUsage adds tokens to the member's totals. owed says that no turn has reported them yet.
func (t *Teammate) addUsage(used agent.Usage, usd float64, owed bool) {
	if owed {
		t.used.Add(used, usd)
	}
	if t.opts.Purse != nil {
		t.opts.Purse.Spend(used, usd)
	}
}
