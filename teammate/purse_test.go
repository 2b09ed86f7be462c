package teammate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// purse is a Purse with a limit of tokens, that cost a dollar each.
type purse struct {
	mu    sync.Mutex
	limit int64
	used  int64
	usd   float64
	notes []agent.Input
	shown []string
}

func (p *purse) Price(u agent.Usage, _ string) float64 { return float64(u.Total()) }

func (p *purse) Spend(u agent.Usage, usd float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used, p.usd = p.used+u.Total(), p.usd+usd
}

func (p *purse) Left(bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limit > 0 && p.used >= p.limit {
		return fmt.Errorf("%w: %d of %d tokens", agent.ErrMaxTokens, p.used, p.limit)
	}
	return nil
}

func (p *purse) Notes() []agent.Input {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.notes)
}

func (p *purse) Shown(ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = append(p.shown, ids...)
	p.notes = nil
}

// A note of the purse comes with the next request, once, and no inbox hears of
// its id. What requests cost stands in the transcript.
func TestPurse(t *testing.T) {
	r := newRig(t, say{calls: []agent.ToolCall{callTool("c1", "Bash", `{}`)}}, say{text: "done"})
	p := &purse{notes: []agent.Input{{Kind: agent.FromCovey, Text: "half is used", MessageID: agent.NotePrefix + "x"}}}
	r.opts.Purse = p
	r.mustRun(t)
	equal(t, "model", r.agent.seen, []string{"user: hello", "user: half is used", "result: ran", "assistant: done"})
	equal(t, "shown", p.shown, []string{agent.NotePrefix + "x"})
	equal(t, "taken", r.inbox.taken, []string{"m1"})
	equal(t, "spent", p.used, 22)
	_, h, err := transcript.Open(r.path)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "next life", h.Usage, agent.Usage{InputTokens: 20, OutputTokens: 2})
	equal(t, "its cost", h.CostUSD, 22)
	equal(t, "delivered", h.Delivered[agent.NotePrefix+"x"], true)
}

// Tokens that an agent counts but records nowhere are known to the next life too,
// as are those of hooks.
func TestUnrecordedTokensSurvive(t *testing.T) {
	r := newRig(t, say{err: errors.New("never")})
	r.opts.Purse = &purse{}
	m := r.member(t)
	if err := m.Spend(agent.Usage{InputTokens: 5}); err != nil {
		t.Fatal(err)
	}
	run := &agentRun{u: &turn{t: m, at: m.hookContext(1, "")}}
	if err := run.completeTranscript(t.Context(), agent.Reply{Usage: agent.Usage{InputTokens: 7, OutputTokens: 1}}, nil); err != nil {
		t.Fatal(err)
	}
	_, h, err := transcript.Open(r.path)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "usage", h.Usage, agent.Usage{InputTokens: 12, OutputTokens: 1})
	equal(t, "cost", h.CostUSD, 13)
}

// A team whose budget is used up ends the turn, and nobody has to look after the
// member for that.
func TestTeamBudgetEndsTurn(t *testing.T) {
	u := &turn{t: &Teammate{}}
	end := u.limited(fmt.Errorf("%w: 10 of 10 tokens", agent.ErrTeamBudget))
	equal(t, "reason", end.reason, events.EndTeamBudget)
	equal(t, "attention", end.attention, "")
	equal(t, "text", end.lastText, "the team's budget is used up: 10 of 10 tokens")
}

// The limits of a turn are told of at their levels, each once.
func TestNotesOfTurnLimits(t *testing.T) {
	r := newRig(t)
	r.opts.Limits.MaxTurns = 10
	for i := range 11 {
		r.agent.script = append(r.agent.script, say{calls: []agent.ToolCall{callTool(fmt.Sprintf("c%d", i),
			"Bash", `{}`)}})
	}
	r.mustRun(t)
	var notes []string
	for i, text := range r.agent.seen {
		if strings.Contains(text, "limits.max_turns") {
			notes = append(notes, fmt.Sprint(i, " ", strings.Fields(text)[4]))
		}
	}
	// After 5, 8 and 9 results.
	equal(t, "notes", notes, []string{"6 5", "10 8", "12 9"})
	if last := r.agent.seen[12]; !strings.Contains(last, "Finish now") {
		t.Errorf("the last note is %q", last)
	}
}

// Time passes in a turn as passes do.
func TestNotesOfTurnTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.opts.Limits.TurnTimeout = 10 * time.Minute
		m := r.member(t)
		u := &turn{t: m, at: m.hookContext(3, ""), start: time.Now()}
		var levels []string
		for range 10 {
			time.Sleep(time.Minute)
			for _, in := range u.notes() {
				levels = append(levels, in.MessageID)
				u.t.shown.Add([]string{in.MessageID})
			}
		}
		equal(t, "notes", levels, []string{
			"budget:turn:3:turn_timeout:50", "budget:turn:3:turn_timeout:75", // after 8 minutes
			"budget:turn:3:turn_timeout:90", "budget:turn:3:turn_timeout:100",
		})
	})
}

// Level never falls as use rises, and is none without a limit.
func TestLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(0.001, 1e9).Draw(t, "limit")
		a := rapid.Float64Range(0, 2e9).Draw(t, "a")
		b := rapid.Float64Range(a, 2e9).Draw(t, "b")
		if agent.Level(a, limit) > agent.Level(b, limit) || agent.Level(a, 0) != 0 {
			t.Fatalf("levels %d, %d", agent.Level(a, limit), agent.Level(b, limit))
		}
		if got := agent.Level(a, limit); (got == 100) != (a*100 >= limit*100) || (got == 0) != (a*100 < limit*50) {
			t.Fatalf("%v of %v is level %d", a, limit, got)
		}
	})
}
