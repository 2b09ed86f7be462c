package teammate

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

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
func (t *Teammate) rotates(work Work) (Rotator, bool) {
	inbox, ok := t.opts.Inbox.(Rotator)
	if !ok || len(t.unconfirmed) > 0 || t.Helpers() > 0 {
		return nil, false
	}
	return inbox, t.opts.History.Handover != nil || inbox.Rotates(work)
}

// rotate ends the member's session: the agent writes a brief, and the session that begins with
// it takes work. It returns errRotated then. Interrupted, it keeps work for the next turn.
func (t *Teammate) rotate(ctx context.Context, inbox Rotator, work Work) error {
	if h := t.opts.History.Handover; h != nil { // a crash came after the brief
		return t.succeed(ctx, inbox, *h, work)
	}
	if err := t.equip(); err != nil {
		return err
	}
	t.turns++
	u := &turn{t: t, at: t.scope(t.turns, uuid.NewString()), start: time.Now(), cause: agent.ByRotation}
	t.current.Store(u)
	defer t.current.Store(nil)
	u.at.emit(agent.TurnStarted{Cause: agent.ByRotation, Prompt: agent.BriefRequest})
	within, stop := t.turnContext(ctx)
	brief, err := u.brief(within)
	interrupted := errors.Is(context.Cause(within), agent.ErrInterrupted)
	stop()
	switch {
	case ctx.Err() != nil:
		u.endBrief(agent.EndAbortedStreaming)
		return context.Cause(ctx)
	case interrupted:
		u.at.warn("no new session begins, because the member was interrupted while it wrote the brief for it")
		u.at.keepInputs(work.Inputs)
		u.endBrief(agent.EndAbortedStreaming)
		u.at.emit(agent.Idle{Reason: agent.IdleInterrupted, TaskIDs: t.tasksInProgress(ctx)})
		return nil
	}
	text := briefHead + brief.Text + briefEnd
	if err != nil {
		u.at.warn("the new session begins with a brief from the task list, because the agent wrote none: %v", err)
		text = inbox.Facts(ctx)
	}
	h := transcript.Handover{Next: uuid.NewString(), Brief: agent.Input{Kind: agent.FromCovey, Text: text}}
	if err := t.opts.Transcript.HandOver(h, u.handoverLine(brief)); err != nil {
		return err
	}
	u.endBrief(agent.EndCompleted)
	return t.succeed(ctx, inbox, h, work)
}

// succeed hands over to the next session.
func (t *Teammate) succeed(ctx context.Context, inbox Rotator, h transcript.Handover, work Work) error {
	t.waitForHooks(ctx)
	t.keepLater() // the next session begins with what the transcript keeps
	if err := inbox.Rotate(ctx, h, work); err != nil {
		return err
	}
	t.emit(agent.Rotated{Before: t.opts.SessionID, Session: h.Next, Brief: h.Brief.Text})
	return errRotated
}

// brief asks the agent for the brief. After an error the result says what was used and is not
// counted yet.
func (u *turn) brief(ctx context.Context) (agent.Brief, error) {
	run := &agentRun{u: u}
	if err := run.withinLimits(); err != nil {
		return agent.Brief{}, err
	}
	u.passes++
	u.at.emit(agent.PassStarted{Pass: u.passes})
	var brief agent.Brief
	reply, err := run.safely(ctx, func(ctx context.Context, run *agentRun) (agent.Reply, error) {
		if b, ok := u.t.opts.Agent.(agent.Briefer); ok {
			var err error
			brief, err = b.Brief(ctx, run)
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

// handoverLine counts what a brief has used, and returns the line that says so.
func (u *turn) handoverLine(b agent.Brief) transcript.Line {
	ln := transcript.Line{Step: b.Step, Voice: cmp.Or(b.Model, u.t.voice)}
	u.at.sign(&ln)
	if b.Usage != (agent.Usage{}) {
		ln.Usage, ln.CostUSD = &b.Usage, u.t.price(b.Usage, b.Model)
		u.usage, u.usd = u.usage.Plus(b.Usage), u.usd+ln.CostUSD
		u.at.spend(agent.TokensUsed{Model: b.Model, Usage: b.Usage, CostUSD: ln.CostUSD})
	}
	return ln
}

// endBrief reports the end of a turn that wrote a brief.
func (u *turn) endBrief(reason string) {
	owed, usd := u.t.used.drain()
	u.at.emit(agent.TurnEnded{Reason: reason, Usage: u.usage.Plus(owed), CostUSD: u.usd + usd, Passes: u.passes})
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
