package teammate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/transcript"
	"github.com/coveyteam/covey/teammate/workspace"
)

// Teammate is one member of a team. Make it with New and call Run.
type Teammate struct {
	opts  Options
	tools permission.Toolset
	begun atomic.Bool // Run is running, or has ended for good

	leaving atomic.Bool // it has agreed to leave the team

	interrupter atomic.Pointer[context.CancelCauseFunc] // cancels the running turn; nil between turns
	clock       atomic.Pointer[turnClock]               // of a running turn with a turn_timeout

	current atomic.Pointer[turn] // the running turn; nil between turns

	cut   cutter      // of its tool calls
	later agent.Later // hook output for its next request
	// refusals is the number of refused turn ends in a row when the last turn ended.
	refusals int

	told told // warnings about the configuration of hooks that were shown already

	helper     *helperRole      // nil for a member; otherwise what makes this a helper
	helperRuns agent.Background // background helpers
	helpers    helperSet        // all running helpers
	used       *agent.Meter     // tokens of helpers and hooks that no turn has reported yet

	// The fields below belong to the goroutine of Run.
	turns    int                  // number of the last turn begun
	shown    transcript.Shown     // mail
	kept     []agent.Input        // the start of the next prompt
	calls    transcript.OpenCalls // tool calls without a result
	hookRuns agent.Background     // background hooks

	handover *transcript.Handover // of an earlier run, whose session has not ended; nil: none

	title string // of the session, if a hook has set it
	first string // the lead's first prompt, if a hook has set one

	renewed atomic.Pointer[string] // if set, Equip makes another agent, with this voice
	voice   string                 // the agent that the transcript names; empty: the member's own

	watching workspace.Watching
	nested   *workspace.Nested
}

// New checks opts and returns the member. It does not start anything.
func New(opts Options) (*Teammate, error) {
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("member %q: %w", opts.Name, err)
	}
	tools, err := permission.Index(opts.Tools)
	if err != nil {
		return nil, fmt.Errorf("member %q: %w", opts.Name, err)
	}
	past := cmp.Or(opts.History, &transcript.History{New: true})
	t := &Teammate{
		opts:     opts,
		tools:    tools,
		turns:    past.Turns,
		used:     &agent.Meter{},
		nested:   opts.Instructions.Nested(),
		shown:    past.Shown(),
		kept:     past.Kept,
		watching: workspace.Watching{Files: opts.Files.Watcher, Dir: opts.Workdir, Names: opts.Files.Names},
	}
	if past.Cut != nil {
		t.calls.List = past.Cut.Open
	}
	t.handover, t.opts.History = past.Handover, past
	return t, nil
}

// Rights returns the member's permissions in this session. They may be read and changed
// at any time from any goroutine.
func (t *Teammate) Rights() *permission.Rights { return t.opts.Rights }

// check reports the first missing option.
func (o Options) check() error {
	for _, field := range []struct {
		name    string
		missing bool
	}{
		{"Name", o.Name == ""}, {"Agent", o.Agent == nil && o.Equip == nil}, {"Hooks", o.Hooks == nil},
		{"Tasks", o.Tasks == nil && !o.Lead}, {"Inbox", o.Inbox == nil}, {"Sink", o.Sink == nil},
		{"SessionID", o.SessionID == ""}, {"Transcript", o.Transcript == nil}, {"Workdir", o.Workdir == nil},
		{"Rights", o.Rights == nil},
	} {
		if field.missing {
			return fmt.Errorf("option %s is missing", field.name)
		}
	}
	return o.Rights.Now().Check()
}

// Run takes turns until the inbox returns io.EOF or ErrContinued (Run returns nil), ctx ends
// (it returns ctx's cause) or a hook halts the member for good (it returns an error
// that wraps ErrHalted). Any other error means that the member cannot continue: its
// transcript cannot be written, its inbox cannot be read, or its agent is broken.
// SessionEnd hooks have run when Run returns. A Teammate runs once. If the inbox is a
// Rotator, Run also returns nil once it has given the member another session.
//
// If the inbox returns ErrResting, so does Run, and nothing has ended: the caller calls
// Run again with the same ctx when there is work.
func (t *Teammate) Run(ctx context.Context) error {
	if !t.begun.CompareAndSwap(false, true) {
		return fmt.Errorf("member %q: Run was called twice", t.opts.Name)
	}
	err := t.enter(ctx)
	if err == nil {
		err = t.work(ctx)
	}
	if errors.Is(err, ErrResting) {
		t.begun.Store(false)
		return err
	}
	why, again := "other", true
	switch {
	case errors.Is(err, ErrContinued):
		why, err = "resume", nil
	case errors.Is(err, errRotated): // what /clear does in recorded hosts
		why, err = "clear", nil
	default:
		again = false
	}
	// The end has an order. Nothing new may begin: files are no longer watched and helpers
	// are stopped. Hooks that run are waited for, because their output belongs to this
	// session. SessionEnd hooks come when all that is over, and what hooks have left for
	// the next request is stored last.
	t.watching.End()
	t.helperRuns.Stop()
	t.hookRuns.End(ctx)
	t.waitForHooks(ctx)
	t.endSession(ctx, why)
	t.waitForHooks(ctx) // hooks that the end of the session started
	t.keepLater()
	reason := endReason(ctx, err)
	if ctx.Err() != nil {
		reason = "stopped"
	}
	t.emit(events.MemberEnded{Reason: reason, Again: again})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("member %q: %w", t.opts.Name, err)
	}
	return err
}

// enter begins the session at the first call of Run. It takes the turns that do not come
// from the inbox: a turn that a crash interrupted, and the lead's first prompt if a hook
// has set one.
//
// The history is dropped before the first turn: after ErrResting Run is called again, and the
// session must not begin twice. After any other error Run has ended for good.
func (t *Teammate) enter(ctx context.Context) error {
	past := t.opts.History
	if past == nil {
		return nil
	}
	t.emit(events.MemberStarted{Agent: t.opts.Kind, SessionID: t.opts.SessionID, Resumed: t.opts.Resumed && !t.opts.Program})
	t.watchFiles(ctx)
	if err := t.startSession(ctx); err != nil {
		return err
	}
	t.opts.History = nil // it may be large, and the agent has it
	if err := t.reportLostHelpers(ctx, past.Helpers); err != nil {
		return err
	}
	if cut := past.Cut; cut != nil {
		if err := t.admitted(ctx, func() error { return t.resumeTurn(ctx, cut) }); err != nil {
			return err
		}
	}
	if t.first == "" {
		return nil
	}
	first := Work{Cause: events.ByGoal, Inputs: []agent.Input{{Kind: agent.FromPerson, Text: t.first}}}
	return t.admitted(ctx, func() error { return t.takeTurn(ctx, first) })
}

// work takes one turn for each piece of work until the inbox ends.
func (t *Teammate) work(ctx context.Context) error {
	for {
		work, err := t.opts.Inbox.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, ErrResting):
			return ErrResting
		case errors.Is(err, ErrContinued):
			return ErrContinued
		case err != nil:
			return fmt.Errorf("inbox: %w", err)
		case len(work.Inputs) == 0:
			return fmt.Errorf("inbox: work without inputs (%s)", work.Cause)
		}
		work.Inputs = t.unseen(ctx, work.Inputs)
		if len(work.Inputs) == 0 {
			continue // a crash came after all of it was written to the transcript
		}
		do := t.takeTurn
		if inbox, ok := rotates(t, work); ok {
			do = rotation{t, inbox}.take
		}
		if err := t.admitted(ctx, func() error { return do(ctx, work) }); err != nil {
			return err
		}
	}
}

// equip makes the agent and tools if the member does not have them.
func (t *Teammate) equip() error {
	if voice := t.renewed.Swap(nil); voice != nil && t.opts.Equip != nil {
		t.opts.Agent, t.voice = nil, *voice
	}
	if t.opts.Agent != nil {
		return nil
	}
	agent, list, err := t.opts.Equip()
	if err == nil {
		t.tools, err = permission.Index(list)
	}
	if err != nil {
		return fmt.Errorf("its agent cannot be made: %w", err)
	}
	t.opts.Agent = agent
	return nil
}

// Renew makes Equip make another agent when the next turn begins. The transcript marks
// that agent's messages with voice; empty is the member's own agent. Renew may be called
// from any goroutine, and before Run.
func (t *Teammate) Renew(voice string) { t.renewed.Store(&voice) }

// Interrupt ends the running turn with the cause ErrInterrupted; reason is shown to
// people. The member continues with its next work. Without a running turn Interrupt does
// nothing. It does not wait, and may be called at any time from any goroutine.
func (t *Teammate) Interrupt(reason string) {
	if cancel := t.interrupter.Load(); cancel != nil {
		(*cancel)(fmt.Errorf("%w: %s", agent.ErrInterrupted, reason))
	}
}

// CutShort ends the tool calls that run, and those that the agent makes before its next request, so
// that a message in the mailbox is read next. With turn, it ends the running turn instead, for agents
// that take mail only between turns. It does not wait, and may be called from any goroutine.
func (t *Teammate) CutShort(message string, turn bool) {
	if cancel := t.interrupter.Load(); cancel != nil && turn {
		(*cancel)(agent.ErrCut)
	} else if t.current.Load() != nil {
		t.cut.now(message)
	}
}

// turnContext returns the context of one turn: it ends with ctx, with Interrupt and
// after limits.turn_timeout. After stop, Interrupt no longer affects the turn.
func (t *Teammate) turnContext(ctx context.Context) (turn context.Context, stop func()) {
	turn, cancel := context.WithCancelCause(ctx)
	release := func() {}
	if limit := t.opts.Limits.TurnTimeout; limit > 0 {
		clock := &turnClock{left: limit, over: func() { cancel(errTurnTimeout) }}
		release = clock.stop
		clock.pause()() // starts it
		t.clock.Store(clock)
	}
	// From here on Interrupt reaches this turn. It cancels with a cause of its own, by
	// which aborted tells an interrupt from a time limit and from the end of the member.
	t.interrupter.Store(&cancel)
	return turn, func() {
		t.interrupter.Store(nil)
		t.clock.Store(nil)
		release()
		cancel(nil)
	}
}

// emit sends an event that belongs to no particular turn.
func (t *Teammate) emit(d events.Data) {
	t.opts.Sink(events.Event{Member: t.opts.Name, Turn: t.turns, Data: d})
}

// endReason returns why a member takes no more turns, in a word or two.
func endReason(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return "done"
	case ctx.Err() != nil:
		return "stopped: " + context.Cause(ctx).Error()
	case errors.Is(err, ErrHalted):
		return err.Error()
	}
	return "failed: " + err.Error()
}
