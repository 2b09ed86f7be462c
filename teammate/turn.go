package teammate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/transcript"
)

// errTurnTimeout is the cause of a turn's context after limits.turn_timeout.
var errTurnTimeout = errors.New("limits.turn_timeout reached")

// errHookStopped is returned by Pass after a hook has ended the turn.
var errHookStopped = errors.New("a hook stopped the turn")

// turn is one turn while it runs.
type turn struct {
	t     *Teammate
	at    *hookContext
	start time.Time // when this run began or resumed the turn
	cause events.Cause

	passes    int         // model requests so far
	refusals  int         // refused turn ends in a row
	refused   bool        // a turn end was refused: stop_hook_active
	lastText  string      // last assistant text, trimmed
	usage     agent.Usage // tokens of the turn
	usd       float64     // what they cost, where a price was known
	last      agent.Usage // of the last model request
	uses      []string    // tools called, one entry per call
	ended     string      // for a helper: why it ended, an End constant
	displayID string      // of the turn, for MessageDisplay; empty before the first
	unheard   string      // the hook that refused what a person asked the lead, and why; or empty
	gated     bool        // the member agreed to leave while its gates ran

	permitted permission.Permitted // calls of an agent program; see Supervisor
}

// agentRun is one Run of a turn's agent. It implements agent.Host.
type agentRun struct {
	u        *turn
	given    []agent.Input     // inputs that the agent got and has not recorded yet
	asked    []agent.Input     // inputs that the agent got and has recorded
	answered bool              // it has recorded an assistant message without tool calls
	calls    int               // tool calls made
	recorded agent.Usage       // tokens of the messages it recorded
	refusal  error             // the error of Pass, if it refused
	deferred string            // the call that a hook deferred, which ended the turn; or empty
	inTool   bool              // a tool call was running when ctx ended
	batch    []hooks.BatchCall // calls made so far of the model's last message
}

// ending describes how a turn ended.
type ending struct {
	reason    string // of TurnEnded
	idle      string // of Idle; empty: the member does not go idle
	attention string // of NeedsAttention; empty: it needs none
	lastText  string // of Idle, if it is not the agent's text
	stopped   string // of Idle: the hook that ended the turn, and why
	err       error  // the member cannot continue
	open      bool   // the member resumes the turn when it is started again

	failure *hooks.StopFailureInput // after an API error: the input of the StopFailure hooks

	// The agent cannot continue for now: a usage limit, no login, or its model failed.
	lockout events.Data   // Limited, LoggedOut or TurnFailed; or nil
	owed    []agent.Input // the turn's inputs, for the next turn
	kind    string        // of NeedsAttention
	notice  string        // of a Notification without NeedsAttention
	quiet   bool          // no Notification, because a hook chose this end
}

// takeTurn takes one turn with work. Its error ends the member.
func (t *Teammate) takeTurn(ctx context.Context, work Work) error {
	if err := t.equip(); err != nil {
		return err
	}
	t.handover = nil // the session goes on
	t.turns++
	u := &turn{t: t, at: t.hookContext(t.turns, uuid.NewString()), start: time.Now(), cause: work.Cause}
	t.current.Store(u)
	defer t.current.Store(nil)
	u.applyHookFeedback(work.Inputs)
	u.at.emit(events.TurnStarted{Cause: work.Cause, Prompt: hooks.Unframed(agent.PromptText(work.Inputs))})
	within, stop := t.turnContext(ctx)
	end := u.begin(within, work.Inputs)
	stop()
	return u.finish(ctx, end)
}

// begin runs the UserPromptSubmit hooks and takes the turn with the inputs that pass.
func (u *turn) begin(ctx context.Context, inputs []agent.Input) ending {
	inputs = u.submit(ctx, inputs)
	if u.t.opts.Lead { // what a person asks of the team has not been done, whatever else the turn does
		u.unheard = u.at.stopped
	}
	switch {
	case ctx.Err() != nil:
		end := u.aborted(ctx, false)
		if !end.open {
			u.at.keepInputs(inputs)
			u.at.keepInterruption(ctx)
		}
		return end
	case u.at.halted != "":
		u.at.keepInputs(inputs)
		return u.stopped()
	case len(inputs) == 0:
		return u.stopped()
	case u.overCap(): // by a background hook's refusal
		return u.override(Verdict{Feedback: inputs})
	}
	started := u.at.line(transcript.TurnStarted)
	started.Cause, started.PromptID = u.cause, u.at.promptID
	// Kept inputs are taken only after the turn is in the transcript: up to here a crash
	// leaves them kept.
	if err := u.t.opts.Transcript.Append(started); err != nil {
		return broken(err)
	}
	inputs = slices.Concat(u.t.kept, u.t.later.Drain(), inputs)
	u.t.kept = nil
	return u.converse(ctx, u.prompt(inputs))
}

// resumeTurn continues a turn that a crash interrupted.
func (t *Teammate) resumeTurn(ctx context.Context, cut *transcript.Cut) error {
	if err := t.equip(); err != nil {
		return err
	}
	u := &turn{
		t: t, at: t.hookContext(cut.Turn, cut.PromptID), start: time.Now(), cause: cut.Cause,
		passes: cut.Passes, refusals: cut.Refusals, refused: cut.Refused ||
			cut.Cause == events.ByHook, lastText: cut.LastText,
	}
	t.current.Store(u)
	defer t.current.Store(nil)
	u.at.emit(events.TurnStarted{Cause: events.ByResume})
	within, stop := t.turnContext(ctx)
	end := u.converse(within, u.resumption(cut))
	stop()
	return u.finish(ctx, end)
}

// finish closes the turn in the transcript and the journal, and notifies people.
//
// It gets the member's ctx and not the turn's, which has ended. The transcript has the end
// of the turn before the journal and people hear of it: they may give the member its next
// work at once.
func (u *turn) finish(ctx context.Context, end ending) error {
	u.t.refusals = u.refusals
	if end.lockout != nil {
		// Reported, and so stored, before the turn ends on disk: after a crash in between
		// the turn is resumed. In the other order a crash could lose the lockout.
		u.at.emit(end.lockout)
		u.at.keepInputs(end.owed)
	}
	if !end.open {
		ended := u.at.line(transcript.TurnEnded)
		ended.Reason = end.reason
		end.err = errors.Join(end.err, u.t.opts.Transcript.Append(ended))
	}
	if end.failure != nil {
		u.at.fireInBackground(ctx, *end.failure)
	}
	u.lastStop(ctx, end)
	owed, usd := u.t.used.Drain()
	u.at.emit(events.TurnEnded{Reason: end.reason, Usage: u.usage.Plus(owed), CostUSD: u.usd + usd, Passes: u.passes,
		ModelFailed: end.failure != nil})
	notice := end.notice
	if end.attention != "" {
		u.at.emit(events.NeedsAttention{Reason: end.attention, Kind: end.kind})
		if !end.quiet {
			notice = u.t.opts.Name + " needs attention: " + end.attention
		}
	}
	if notice != "" {
		u.at.notify(ctx, "agent_needs_input", notice)
	}
	if end.idle != "" && end.err == nil {
		text := end.lastText
		if text == "" {
			text = u.lastText
		}
		u.at.emit(events.Idle{Reason: end.idle, LastText: text, TaskIDs: u.t.tasksInProgress(ctx),
			Stopped: cmp.Or(end.stopped, u.unheard)})
	}
	return end.err
}

// tasksInProgress returns the ids of the tasks that the member has in progress, for people; none
// if the list cannot be read.
func (t *Teammate) tasksInProgress(ctx context.Context) []string {
	ids := []string{}
	if t.opts.Tasks == nil {
		return ids
	}
	owned, err := t.opts.Tasks.InProgress(ctx, t.opts.Name)
	if err != nil {
		return ids
	}
	for _, task := range owned {
		ids = append(ids, task.ID)
	}
	return ids
}
