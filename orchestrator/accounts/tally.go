package accounts

import (
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// Done is what one member has done in this run.
type Done struct {
	Counts
	Passes    int      `json:"passes"`
	Useful    bool     `json:"useful,omitempty"`    // its current turn has done something
	Completed []string `json:"completed,omitempty"` // tasks
	CostUSD   float64  `json:"cost_usd,omitempty"`
}

// See counts an event of the member.
func (d *Done) See(e events.Event) {
	switch data := e.Data.(type) {
	case events.HookFeedback:
		d.Refusals++
	case events.PermissionDecided:
		d.Counts.deny(data)
	}
	if e.Helper != "" {
		return // a helper's turns are part of its member's turn
	}
	switch data := e.Data.(type) {
	case events.TurnStarted:
		d.Turns, d.Useful = d.Turns+1, data.Cause == events.ByPerson || data.Cause == events.ByRotation
	case events.PassStarted:
		d.Passes++
	case events.ToolCalled:
		d.Useful = true
	case events.TokensUsed:
		if data.Context.Window > 0 {
			d.Context = data.Context
		}
	case events.Compacted:
		if d.Context.Window > 0 {
			d.Context.Tokens = data.After
		}
	case events.Rotated:
		d.Context = agent.ContextUse{} // the new session has said nothing yet
	case events.FreshSession:
		d.FreshSessions++
	case events.TurnEnded:
		d.Tokens, d.CostUSD = d.Tokens+data.Usage.Total(), d.CostUSD+data.CostUSD
		d.FailedTokens += data.Usage.FailedTokens
		d.TokensUnknown = d.TokensUnknown || data.UsageUnknown
		if data.Empty {
			d.Empty++
		}
	}
}

// Complete counts a task that the member has completed, perhaps in an earlier turn: the call comes
// when the journal has it.
func (d *Done) Complete(task string) {
	d.Completed, d.TasksDone = append(d.Completed, task), d.TasksDone+1
}

// Spend adds usage outside of turns.
func (d *Done) Spend(u agent.Usage) { d.Tokens += u.Total() }

// Counts are what `covey ps` shows of a Done; see package view.
type Counts struct {
	Turns        int   `json:"turns"`
	Empty        int   `json:"empty_turns"` // turns that did nothing
	TasksDone    int   `json:"tasks_done"`  // tasks that it completed
	Refusals     int   `json:"refusals"`    // by hooks and gates
	Tokens       int64 `json:"tokens"`
	FailedTokens int64 `json:"failed_tokens,omitempty"` // part of Tokens: of requests that failed
	// TokensUnknown is set if the agent program did not report all tokens that it
	// used; Tokens counts the reported ones.
	TokensUnknown bool `json:"tokens_unknown,omitempty"`
	// Context is how full its conversation is, as last reported; zero: not reported.
	Context agent.ContextUse `json:"context,omitzero"`
	// FreshSessions counts how often its agent program could not continue its conversation.
	FreshSessions int `json:"fresh_sessions,omitempty"`
	// DeniedCalls counts the tool calls that did not run because nobody could be asked, or because the
	// permission mode asks nobody. FirstDenied is the first of them: its tool, and what it would do.
	DeniedCalls int    `json:"denied_calls,omitempty"`
	FirstDenied string `json:"first_denied,omitempty"`
}

// deny counts a call that was denied although no rule, hook or person decided against it. A member
// in plan mode is told to plan without such calls.
func (c *Counts) deny(p events.PermissionDecided) {
	if p.Decision != "deny" || p.By != "nobody" && p.By != "mode" || p.Mode == "plan" {
		return
	}
	if c.DeniedCalls++; c.DeniedCalls == 1 {
		c.FirstDenied = p.Tool
		if p.Call != "" {
			c.FirstDenied += ": " + p.Call
		}
	}
}
