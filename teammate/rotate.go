package teammate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Rotator is an Inbox that gives its member new sessions. A new session begins when work
// arrives, and not at the end of the turn before: a member that gets no more work needs no
// brief. The provider may no longer have the conversation in its cache then, so the brief can
// cost more; but one that nobody reads would cost a request each time.
type Rotator interface {
	// Rotates reports whether work, which Next has just returned, is for a new session.
	Rotates(work Work) bool
	// Facts returns what is known of the member's work, for a brief that its agent has not
	// written.
	Facts(ctx context.Context) string
	// Rotate makes h.Next the member's session: it begins with h.Brief and then takes work.
	// It is called again for the same session if a crash came before it returned. No work
	// follows it, and Run returns.
	Rotate(ctx context.Context, h transcript.Handover, work Work) error
}

// errRotated ends the life of a member whose session has been replaced.
var errRotated = errors.New("another session takes the place of this one")

// rotates returns the inbox if it gives the member a new session before work. It does not while
// helpers of the old session work, or mail that the old session shows is not confirmed.
func rotates(t *Teammate, work Work) (Rotator, bool) {
	inbox, ok := t.opts.Inbox.(Rotator)
	if !ok || !t.shown.Confirmed() || t.Helpers() > 0 {
		return nil, false
	}
	return inbox, t.handover != nil || inbox.Rotates(work)
}

// rotation ends a member's session.
type rotation struct {
	t     *Teammate
	inbox Rotator
}

// take ends the session: the agent writes a brief, and the session that begins with it takes
// work. It returns errRotated then. Interrupted, it keeps work for the next turn.
//
// After the handover is written the old session only hands over: after a crash its next
// work leads to succeed again, with the same brief. Before it, an interrupt or the end of
// the member leaves the session as it was.
func (n rotation) take(ctx context.Context, work Work) error {
	t, inbox := n.t, n.inbox
	if h := t.handover; h != nil { // a crash came after the brief
		return n.succeed(ctx, *h, work)
	}
	if err := t.equip(); err != nil {
		return err
	}
	t.turns++
	u := &turn{t: t, at: t.hookContext(t.turns, uuid.NewString()), start: time.Now(), cause: events.ByRotation}
	t.current.Store(u)
	defer t.current.Store(nil)
	u.at.emit(events.TurnStarted{Cause: events.ByRotation, Prompt: agent.BriefRequest})
	within, stop := t.turnContext(ctx)
	brief, err := briefing{u}.brief(within)
	interrupted := errors.Is(context.Cause(within), agent.ErrInterrupted)
	stop()
	switch {
	case ctx.Err() != nil:
		briefing{u}.end(events.EndAbortedStreaming)
		return context.Cause(ctx)
	case interrupted:
		u.at.warn("no new session begins, because the member was interrupted while it wrote the brief for it")
		u.at.keepInputs(work.Inputs)
		briefing{u}.end(events.EndAbortedStreaming)
		u.at.emit(events.Idle{Reason: events.IdleInterrupted, TaskIDs: t.tasksInProgress(ctx)})
		return nil
	}
	text := briefHead + brief.Text + briefEnd
	if err != nil {
		u.at.warn("the new session begins with a brief from the task list, because the agent wrote none: %v",
			err)
		text = inbox.Facts(ctx)
	}
	h := transcript.Handover{Next: uuid.NewString(), Brief: agent.Input{Kind: agent.FromCovey, Text: text}}
	if err := t.opts.Transcript.HandOver(h, briefing{u}.line(brief)); err != nil {
		return err
	}
	briefing{u}.end(events.EndCompleted)
	return n.succeed(ctx, h, work)
}

// succeed hands over to the next session.
func (n rotation) succeed(ctx context.Context, h transcript.Handover, work Work) error {
	t := n.t
	t.waitForHooks(ctx)
	t.keepLater() // the next session begins with what the transcript keeps
	if err := n.inbox.Rotate(ctx, h, work); err != nil {
		return fmt.Errorf("inbox: %w", err)
	}
	t.emit(events.Rotated{Before: t.opts.SessionID, Session: h.Next, Brief: h.Brief.Text})
	return errRotated
}

// briefing is a turn that writes a brief.
type briefing struct{ u *turn }

// brief asks the agent for the brief. After an error the result says what was used and is not
// counted yet.
func (b briefing) brief(ctx context.Context) (agent.Brief, error) {
	u := b.u
	run := &agentRun{u: u}
	if err := run.withinLimits(); err != nil {
		return agent.Brief{}, err
	}
	u.passes++
	u.at.emit(events.PassStarted{Pass: u.passes})
	var brief agent.Brief
	reply, err := run.safely(ctx, func(ctx context.Context, run *agentRun) (agent.Reply, error) {
		if own, ok := u.t.opts.Agent.(agent.Briefer); ok {
			var err error
			brief, err = own.Brief(ctx, run)
			return agent.Reply{}, err
		}
		run.given = []agent.Input{{Kind: agent.FromCovey, Text: agent.BriefRequest}}
		return u.t.opts.Agent.Run(ctx, run.given, briefRun{run})
	})
	brief.Usage = brief.Usage.Less(run.recorded)
	if recordErr := run.completeTranscript(ctx, reply, err); recordErr != nil {
		return brief, errors.Join(err, recordErr)
	}
	brief.Text = cmp.Or(brief.Text, strings.TrimSpace(reply.Text))
	if err == nil && brief.Text == "" {
		err = errors.New("its answer has no text")
	}
	return brief, err
}

// line counts what a brief has used, and returns the line that says so.
func (b briefing) line(written agent.Brief) transcript.Line {
	u := b.u
	ln := transcript.Line{Step: written.Step, Voice: cmp.Or(written.Model, u.t.voice)}
	u.at.sign(&ln)
	if used := written.Usage; used != (agent.Usage{}) {
		ln.Usage, ln.CostUSD = &used, u.t.price(used, written.Model)
		u.usage, u.usd = u.usage.Plus(used), u.usd+ln.CostUSD
		u.at.spend(events.TokensUsed{Model: written.Model, Usage: used, CostUSD: ln.CostUSD})
	}
	return ln
}

// end reports the end of a turn that wrote a brief.
func (b briefing) end(reason string) {
	u := b.u
	owed, usd := u.t.used.Drain()
	u.at.emit(events.TurnEnded{Reason: reason, Usage: u.usage.Plus(owed), CostUSD: u.usd + usd, Passes: u.passes})
}

// briefRun is the host of an agent that answers agent.BriefRequest. Mail is for the next session,
// and calls are refused, because no gates look at what they do.
type briefRun struct{ *agentRun }

// noCalls tells an agent why a call was not made.
const noCalls = "No calls now: answer with the brief alone."

// Pass implements agent.Host.
func (run briefRun) Pass(ctx context.Context) ([]agent.Input, error) { return nil, ctx.Err() }

// Mail implements agent.Correspondent.
func (run briefRun) Mail(context.Context) []agent.Input { return nil }

// Call implements agent.Host.
func (run briefRun) Call(context.Context, agent.ToolCall) agent.ToolResult {
	return agent.Failed(noCalls)
}

// Start implements agent.Starter.
func (run briefRun) Start(context.Context, agent.ToolCall) func() agent.ToolResult {
	return func() agent.ToolResult { return agent.Failed(noCalls) }
}

// Permit implements agent.Supervisor.
func (run briefRun) Permit(context.Context, agent.ToolCall) agent.Permission {
	return agent.Permission{Reason: noCalls}
}

// The texts around a brief, in the first input of a new session.
const (
	briefHead = "You have worked in this team before, in a session that ended with its task. This is the brief that " +
		"you wrote there for this one:\n\n<brief>\n"
	briefEnd = "\n</brief>\n\nFiles and tasks may have changed since: look again where it matters."
)
