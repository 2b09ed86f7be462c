package teammate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Record implements Host.
//
// The line is on disk before the message counts: the journal, the totals, and the
// confirmation of mail follow it. After a crash in between the transcript decides what was
// said. It may be called only from the agent's Run.
func (run *agentRun) Record(m agent.Record) error {
	if m.Message.Role != agent.User && m.Message.Role != agent.Assistant {
		return fmt.Errorf("record: role %q", m.Message.Role)
	}
	if err := run.u.t.calls.Check(m.Message); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	ln := transcript.LineOf(m)
	run.u.at.sign(&ln)
	if m.Message.Role == agent.User {
		ln.Refusals = run.u.refusals
	}
	if m.Message.Role == agent.Assistant {
		ln.Voice = cmp.Or(m.Model, run.u.t.voice)
	}
	if ln.Usage != nil {
		ln.CostUSD = run.u.t.price(*ln.Usage, m.Model)
	}
	if err := run.u.t.opts.Transcript.Append(ln); err != nil {
		return err
	}
	run.u.at.publish(m.Message)
	run.u.display(m.Message)
	run.u.t.calls.Add(m.Message)
	if m.Message.Role == agent.Assistant {
		run.count(m, ln.CostUSD)
		return nil
	}
	run.given = agent.Without(run.given, m.Inputs)
	run.asked = append(run.asked, m.Inputs...)
	return run.u.t.confirm(ln.Mail)
}

// count adds an assistant message to the turn's totals.
func (run *agentRun) count(m agent.Record, usd float64) {
	run.recorded = run.recorded.Plus(m.Usage)
	run.u.usage, run.u.usd = run.u.usage.Plus(m.Usage), run.u.usd+usd
	run.u.at.spend(events.TokensUsed{Model: m.Model, Usage: m.Usage, CostUSD: usd, Context: m.Context})
	run.u.last = m.Usage
	for _, c := range m.Message.ToolCalls() {
		run.u.uses = append(run.u.uses, c.Name)
	}
	run.answered = len(m.Message.ToolCalls()) == 0
	if !run.answered {
		run.u.refusals = 0 // a tool call starts the count of refusals again
	}
	if text := m.Message.Text(); text != "" {
		run.u.lastText = text
	}
}

// spend counts tokens for the member, and reports them. Those of a helper are also written to
// the member's transcript, for its next run.
func (s *hookContext) spend(used events.TokensUsed) {
	if used.Usage == (agent.Usage{}) && used.Context == (agent.ContextUse{}) {
		return
	}
	helper := s.t.helper != nil
	s.t.addUsage(used.Usage, used.CostUSD, helper)
	if helper {
		s.recordUse(used.Usage, used.CostUSD)
	}
	s.emit(used)
}

// recordUse writes tokens into the member's transcript that belong to none of its
// messages.
func (s *hookContext) recordUse(used agent.Usage, usd float64) {
	if used != (agent.Usage{}) {
		s.writeMemberLine(transcript.TokensUsed, used, usd)
	}
}

// publish reports a message's text and tool blocks to the journal.
func (s *hookContext) publish(m agent.Message) {
	for _, b := range m.Content {
		switch {
		case b.Type == agent.TextBlock && m.Role == agent.Assistant:
			s.emit(events.TextSaid{Text: b.Text})
		case b.Type == agent.ToolUseBlock:
			s.emit(events.ToolCalled{ID: b.ID, Name: b.Name, Input: agent.ValidInput(b.Input)})
		case b.Type == agent.ToolResultBlock:
			name, _ := s.t.calls.Tool(b.ToolUseID)
			s.emit(events.ToolReturned{ID: b.ToolUseID, Name: name, IsError: b.IsError, Content: b.Content})
		}
	}
}

// confirm marks these messages as delivered. It syncs the transcript first, because the
// store then forgets them. If the store cannot be reached nothing is lost: it returns
// them again, and they are confirmed then.
func (t *Teammate) confirm(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := t.opts.Transcript.Sync(); err != nil {
		return err
	}
	t.shown.Add(ids)
	notes, ids := agent.SplitNotes(ids)
	if len(notes) > 0 && t.opts.Purse != nil {
		t.opts.Purse.Shown(notes)
	}
	if len(ids) == 0 {
		return nil
	}
	// A message in the transcript is delivered even if the turn is over.
	ctx, cancel := context.WithTimeout(context.Background(), confirmLimit)
	defer cancel()
	err := t.opts.Inbox.Taken(ctx, ids)
	if err != nil {
		t.emit(events.Warning{Text: "mail is in the transcript but could not be confirmed yet: " + err.Error()})
	}
	t.shown.Confirm(ids, err == nil)
	return nil
}

// confirmLimit is how long a member waits for its inbox to confirm.
const confirmLimit = 10 * time.Second

// completeTranscript completes the transcript after a Run: it records what the agent has not
// recorded.
func (run *agentRun) completeTranscript(ctx context.Context, reply agent.Reply, err error) error {
	// An agent that resumes its turn leaves calls open that it makes again then.
	if _, resumes := run.u.t.opts.Agent.(agent.Resumer); !resumes || !stopping(ctx) {
		if closeErr := run.closeCalls(); closeErr != nil {
			return closeErr
		}
	}
	if len(run.u.t.calls.List) == 0 {
		if flushErr := run.flush(); flushErr != nil {
			return flushErr
		}
	}
	// An agent may report its use with each message, in its reply, or in both; only what no
	// message had is counted here.
	rest := reply.Usage.Less(run.recorded)
	if err == nil && !run.answered && reply.Text != "" {
		return run.Record(agent.Record{Message: agent.TextMessage(agent.Assistant, reply.Text), Usage: rest})
	}
	usd := run.u.t.price(rest, "")
	run.u.usage, run.u.usd = run.u.usage.Plus(rest), run.u.usd+usd
	run.u.at.spend(events.TokensUsed{Usage: rest, CostUSD: usd})
	if run.u.t.helper == nil {
		run.u.at.recordUse(rest, usd)
	}
	return nil
}

// closeCalls gives every open tool call a result.
func (run *agentRun) closeCalls() error {
	m := transcript.Interrupted(run.u.t.calls.List)
	if len(m.Content) == 0 {
		return nil
	}
	return run.Record(agent.Record{Message: m})
}

// flush records inputs that the agent was given and has not recorded.
func (run *agentRun) flush() error {
	if len(run.given) == 0 {
		return nil
	}
	return run.Record(agent.Record{Message: agent.TextMessage(agent.User, agent.Texts(run.given)...), Inputs: run.given})
}

// keepInputs stores inputs for the start of the next prompt, even over a restart.
func (s *hookContext) keepInputs(inputs []agent.Input) {
	if len(inputs) == 0 {
		return
	}
	for _, in := range inputs {
		in.MessageID = "" // confirmed now, not when it is shown
		s.t.kept = append(s.t.kept, in)
	}
	ln := s.line(transcript.InputsKept)
	ln.Inputs = inputs
	err := s.t.opts.Transcript.Append(ln)
	if err == nil {
		err = s.t.confirm(agent.MessageIDs(inputs))
	}
	if err != nil {
		s.warn("a prompt is kept for the next turn, but not on disk: %v", err)
	}
}

// keepInterruption makes the next prompt begin with the notice that this turn was
// interrupted, in the words of recorded hosts.
func (s *hookContext) keepInterruption(ctx context.Context) {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, agent.ErrCut): // the text that comes next says why
	case errors.Is(cause, agent.ErrInterrupted):
		s.keepInputs([]agent.Input{{Kind: agent.FromCovey, Text: "[Request interrupted by user]"}})
	case errors.Is(cause, errTurnTimeout):
		s.keepInputs([]agent.Input{{Kind: agent.FromCovey, Text: fmt.Sprintf("[Turn ended after %v, its time limit]",
			s.t.opts.Limits.TurnTimeout)}})
	}
}
