package teammate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
	"github.com/coveyteam/covey/teammate/workspace"
)

// Help implements Employer.
func (u *turn) Help(ctx context.Context, h Helper) Help {
	if u.t.helper != nil {
		return Help{Problem: "a helper has no helpers of its own"}
	}
	if h.Done != nil && u.t.opts.PostNotice == nil {
		return Help{Problem: "helpers cannot run in the background here; call it without run_in_background"}
	}
	c, closer, err := u.employ(h)
	if err != nil {
		return Help{Problem: err.Error()}
	}
	u.t.helpers.add(c.t.helper)
	if h.Done == nil {
		defer u.t.helpers.remove(c.t.helper)
		defer closer()
		help := c.runHelper(ctx, c.startHelper(ctx))
		c.reportHelperEnd(help)
		return help
	}
	// The call waits for the SubagentStart hooks, but not for the helper.
	inputs := c.startHelper(ctx)
	c.at.writeMemberLine(transcript.HelperStarted, agent.Usage{}, 0)
	u.t.helperRuns.Start(ctx, func(ctx context.Context) {
		defer closer()
		c.runInBackground(ctx, inputs)
	})
	return Help{ID: c.t.helper.id, Background: true, Transcript: c.t.opts.Transcript.Path()}
}

// employ makes a helper: a Teammate with its own transcript and tools, and with the
// member's hooks, permissions and limits.
func (u *turn) employ(h Helper) (*turn, func(), error) {
	// A copy: what follows changes it for the helper alone.
	o := u.t.opts
	e := &helperRole{Helper: h, id: helperID(o.SessionID, h.Call), caller: u}
	file, past, err := u.openHelper(e)
	if err != nil {
		return nil, nil, err
	}
	dir := workspace.NewWorkdir(o.Workdir.Root())
	dir.Move(o.Workdir.Dir())
	gear, err := h.Equip(HelperSetting{ID: e.id, Type: e.Type, Dir: dir, Past: past})
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	// It runs long after this function, or before it returns an error of its own.
	closer := func() {
		var err error
		if gear.Close != nil {
			err = gear.Close()
		}
		if err = errors.Join(err, file.Close()); err != nil {
			u.at.warn("helper %s: %v", e.id, err)
		}
	}
	if others := o.Others; others != nil && gear.May != nil {
		o.Others = func(ctx context.Context) []agent.Tool {
			return slices.DeleteFunc(others(ctx), func(t agent.Tool) bool { return !gear.May(t.Spec().Name) })
		}
	}
	sink := o.Sink
	o.Drafts = func(string) agent.Draft { return u.t.opts.Drafts.Of(e.id) }
	o.Equip, o.Agent, o.Tools, o.Inbox = nil, gear.Agent, gear.Tools, noMail{}
	o.Transcript, o.History, o.Workdir = file, &transcript.History{Cut: past.Cut}, dir
	o.Limits.MaxTurns = gear.MaxPasses
	o.Sink = func(event events.Event) {
		event.Helper = e.id
		sink(event)
	}
	t, err := New(o)
	if err != nil {
		closer()
		return nil, nil, err
	}
	// What the helper uses counts for the member. What people allow one of them holds for both, because
	// they share Rights.
	t.helper, t.used = e, u.t.used
	return &turn{t: t, at: t.hookContext(u.at.no, u.at.promptID), cause: u.cause}, closer, nil
}

// openHelper opens the transcript of a helper. A continued helper keeps its id and
// type.
func (u *turn) openHelper(e *helperRole) (*transcript.File, transcript.History, error) {
	member := u.t.opts.Transcript.Path()
	if e.Continue == "" {
		return transcript.Open(transcript.OfHelper(member, e.id))
	}
	e.id = e.Continue
	path := transcript.OfHelper(member, e.id)
	// Any other id could name a path anywhere on the disk.
	if !IsHelperID(e.id) {
		return nil, transcript.History{}, fmt.Errorf("%q is not a helper", e.id)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, transcript.History{}, fmt.Errorf("there is no helper %s", e.id)
	}
	if u.t.helpers.has(e.id) {
		return nil, transcript.History{}, fmt.Errorf("helper %s is still running; you get its result when it ends", e.id)
	}
	file, past, err := transcript.Open(path)
	if err != nil {
		return nil, past, err
	}
	e.Type = past.HelperType
	if past.HelperCall == e.Call { // made before a crash
		return nil, past, errors.Join(errors.New(transcript.InterruptedResult), file.Close())
	}
	return file, past, nil
}

// startHelper runs the SubagentStart hooks, which may add context but refuse nothing. It
// returns the helper's first inputs.
func (u *turn) startHelper(ctx context.Context) []agent.Input {
	e := u.t.helper
	u.at.emit(events.HelperStarted{
		ID: e.id, AgentType: e.Type, Description: e.Description, Prompt: e.Prompt, ToolUseID: e.Call,
		Background: e.Done != nil,
	})
	out, _ := u.at.try(ctx, hooks.SubagentStartInput{})
	return append(agent.ContextInputs(out.AdditionalContext), agent.Input{Kind: agent.FromCaller, Text: e.Prompt})
}

// runHelper runs a helper to its end. over reports that to the journal.
func (u *turn) runHelper(ctx context.Context, inputs []agent.Input) Help {
	began := time.Now()
	e := u.t.helper
	end := u.serve(ctx, inputs)
	if end.failure != nil {
		u.at.fireInBackground(ctx, *end.failure)
	}
	u.ended = end.reason
	return Help{
		ID: e.id, Text: u.lastText, Tools: u.uses, Passes: u.passes, Usage: u.usage, Last: u.last,
		Took: time.Since(began), Problem: u.problem(ctx, end), Transcript: u.t.opts.Transcript.Path(),
	}
}

// reportHelperEnd reports to the journal that the helper has ended.
func (u *turn) reportHelperEnd(h Help) {
	e := u.t.helper
	u.at.emit(events.HelperEnded{
		ID: e.id, AgentType: e.Type, Reason: u.ended, Problem: h.Problem, Usage: h.Usage, Passes: h.Passes,
		ToolUses: len(h.Tools), DurationMS: h.Took.Milliseconds(),
	})
}

// serve runs a helper's only turn, whose gates are the SubagentStop hooks.
//
// A helper that is cut off by the end of its member writes no end into its transcript, so
// one that continues it later finds its turn cut off and does not take it for complete.
func (u *turn) serve(ctx context.Context, inputs []agent.Input) ending {
	if ctx.Err() != nil {
		return u.aborted(ctx, false)
	}
	started := u.at.line(transcript.TurnStarted)
	started.Cause, started.PromptID = u.cause, u.at.promptID
	started.AgentType, started.Call = u.t.helper.Type, u.t.helper.Call
	if err := u.t.opts.Transcript.Append(started); err != nil {
		return broken(err)
	}
	end := u.converse(ctx, u.prompt(inputs))
	if !end.open {
		ended := u.at.line(transcript.TurnEnded)
		ended.Reason = end.reason
		end.err = errors.Join(end.err, u.t.opts.Transcript.Append(ended))
	}
	return end
}

// problem returns why a helper did not finish, or "". A hook that ends the helper is
// not a problem: what it has said so far is its result.
func (u *turn) problem(ctx context.Context, end ending) string {
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case end.failure != nil:
		return end.failure.LastAssistantMessage
	case end.err != nil:
		return end.err.Error()
	case end.reason == events.EndMaxTurns:
		return fmt.Sprintf("it reached the limit of %d passes for a helper", u.passes)
	case end.reason == events.EndMaxTokens, end.reason == events.EndMaxBudget, end.reason == events.EndTeamBudget:
		return cmp.Or(end.attention, end.lastText)
	}
	return ""
}

// subagentStopInput returns the input of the SubagentStop hooks.
func (u *turn) subagentStopInput() hooks.SubagentStopInput {
	return hooks.SubagentStopInput{
		StopHookActive:       u.refused,
		AgentTranscriptPath:  u.t.opts.Transcript.Path(),
		LastAssistantMessage: u.lastText,
		BackgroundTasks:      u.t.root().inBackground(),
		SessionCrons:         u.t.root().crons(),
	}
}
