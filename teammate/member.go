package teammate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/transcript"
	"github.com/coveyteam/covey/teammate/workspace"
)

// Teammate is one member of a team at work. Make it with New, let it Run once.
type Teammate struct {
	opts  Options
	tools map[string]*permission.Tool
	begun atomic.Bool // Run runs, or has ended for good

	leaving atomic.Bool // it has agreed to leave the team

	interrupter atomic.Pointer[context.CancelCauseFunc] // cancels the running turn; nil between turns

	current atomic.Pointer[turn] // the running turn; nil between turns

	rights *permission.Rights // what it may do
	later  later              // what hooks have for its next request
	// refusals is how many turn ends in a row had been refused when the last turn
	// ended.
	refusals int

	told sync.Map // warnings about the configuration of hooks that people have had

	helper *employment // whose helper this is; nil: of nobody, it is a member
	beside asides      // helpers that work beside the member
	staff  staff       // helpers that work now
	used   *meter      // tokens that no turn has told yet, of helpers and hooks

	// What follows belongs to the goroutine of Run.
	entered bool                 // the session has begun
	turns   int                  // number of the last turn begun
	seen    map[string]bool      // ids that the transcript shows
	kept    []agent.Input        // what the next prompt begins with
	calls   transcript.OpenCalls // tool calls without a result
	asides  asides               // hooks that run beside the turns

	title string // of the session, as hooks have named it
	first string // what a hook has the lead asked first; empty: nothing

	renewed atomic.Pointer[string] // the member is to have another agent: its voice
	voice   string                 // whose words the transcript takes down; empty: its own agent's

	watching watching // files
	nested   *workspace.Nested
}

// New checks opts and returns the member. It starts nothing.
func New(opts Options) (*Teammate, error) {
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("member %q: %w", opts.Name, err)
	}
	tools, err := permission.Index(opts.Tools)
	if err != nil {
		return nil, fmt.Errorf("member %q: %w", opts.Name, err)
	}
	t := &Teammate{
		opts:   opts,
		tools:  tools,
		turns:  max(opts.Turn, opts.History.Turns),
		used:   &meter{},
		nested: opts.Instructions.Nested(),
		rights: permission.NewRights(opts.Permissions, opts.Beside),
		seen:   maps.Clone(opts.History.Delivered),
		kept:   opts.History.Kept,
	}
	if opts.History.Cut != nil {
		t.calls.List = opts.History.Cut.Open
	}
	t.opts.History.Messages = nil // they may be large, and are the agent's now
	return t, nil
}

// Rights are what the member may do in this session. They may be read and changed
// at any time from any goroutine.
func (t *Teammate) Rights() *permission.Rights { return t.rights }

// see notes that the transcript shows these messages.
func (t *Teammate) see(ids []string) {
	if t.seen == nil {
		t.seen = map[string]bool{}
	}
	for _, id := range ids {
		t.seen[id] = true
	}
}

// check finds what is missing, so that nothing has to be checked later.
func (o Options) check() error {
	for _, field := range []struct {
		name    string
		missing bool
	}{
		{"Name", o.Name == ""}, {"Agent", o.Agent == nil && o.Equip == nil}, {"Hooks", o.Hooks == nil},
		{"Tasks", o.Tasks == nil && !o.Lead}, {"Inbox", o.Inbox == nil}, {"Sink", o.Sink == nil},
		{"SessionID", o.SessionID == ""}, {"Transcript", o.Transcript == nil}, {"Workdir", o.Workdir == nil},
	} {
		if field.missing {
			return fmt.Errorf("option %s is missing", field.name)
		}
	}
	return o.Permissions.Check()
}

// Run takes turns until the inbox says io.EOF or ErrAnew (it returns nil), ctx ends (it
// returns ctx's cause) or a hook halts the member for good (it returns an error
// that wraps ErrHalted). Any other error means that the member cannot go on:
// its transcript cannot be written, its inbox cannot be read, or its agent is
// broken. SessionEnd hooks have run when it returns. A Teammate runs once.
//
// An inbox that says ErrResting makes Run return just that, with nothing ended: whoever
// runs the member calls Run again, with the same ctx, once there is something to do.
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
	why := "other"
	if errors.Is(err, ErrAnew) {
		why, err = "resume", nil
	}
	t.unwatch()
	t.beside.stop()
	t.asides.end(ctx)
	t.settle(ctx)
	t.endSession(ctx, why)
	t.settle(ctx) // those of the session's end itself
	t.putBy()
	reason := endReason(ctx, err)
	if ctx.Err() != nil {
		reason = "stopped"
	}
	t.emit(agent.MemberEnded{Reason: reason})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("member %q: %w", t.opts.Name, err)
	}
	return err
}

// enter begins the session when Run is called first, with the turns that nobody has
// to hand out: the one that a crash cut off, and what a hook has the lead asked.
func (t *Teammate) enter(ctx context.Context) error {
	if t.entered {
		return nil
	}
	t.entered = true
	t.emit(agent.MemberStarted{Agent: t.opts.Kind, SessionID: t.opts.SessionID, Resumed: t.opts.Resumed})
	t.watchFiles(ctx)
	if err := t.startSession(ctx); err != nil {
		return err
	}
	if err := t.reportLostHelpers(ctx, t.opts.History.Helpers); err != nil {
		return err
	}
	if cut := t.opts.History.Cut; cut != nil {
		if err := t.admitted(ctx, func() error { return t.resumeTurn(ctx, cut) }); err != nil {
			return err
		}
	}
	if t.first == "" {
		return nil
	}
	first := Work{Cause: agent.ByGoal, Inputs: []agent.Input{{Kind: agent.FromPerson, Text: t.first}}}
	return t.admitted(ctx, func() error { return t.takeTurn(ctx, first) })
}

// work is the member's life: one turn for each piece of work.
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
		case errors.Is(err, ErrAnew):
			return ErrAnew
		case err != nil:
			return fmt.Errorf("inbox: %w", err)
		case len(work.Inputs) == 0:
			return fmt.Errorf("inbox: work without inputs (%s)", work.Cause)
		}
		work.Inputs = t.unseen(ctx, work.Inputs)
		if len(work.Inputs) == 0 {
			continue // all of it stands in the transcript from before a crash
		}
		if err := t.admitted(ctx, func() error { return t.takeTurn(ctx, work) }); err != nil {
			return err
		}
	}
}

// equip sees to it that the member has its agent and tools.
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

// Renew lets Equip make another agent when the next turn begins. What that one says
// stands in the transcript under its voice; empty is the member's own agent. It may
// be called from any goroutine, and before Run.
func (t *Teammate) Renew(voice string) { t.renewed.Store(&voice) }

// Interrupt ends the running turn with the cause ErrInterrupted; reason is
// what people read. The member goes on with its next work. Without a running
// turn nothing happens. It may be called at any time from any goroutine and
// does not wait.
func (t *Teammate) Interrupt(reason string) {
	if cancel := t.interrupter.Load(); cancel != nil {
		(*cancel)(fmt.Errorf("%w: %s", agent.ErrInterrupted, reason))
	}
}

// turnContext is the context of one turn: it ends with ctx, with Interrupt and
// with limits.turn_timeout. The turn is over for Interrupt once stop is called.
func (t *Teammate) turnContext(ctx context.Context) (turn context.Context, stop func()) {
	turn, cancel := context.WithCancelCause(ctx)
	release := func() {}
	if limit := t.opts.Limits.TurnTimeout; limit > 0 {
		turn, release = context.WithTimeoutCause(turn, limit, errTurnTimeout)
	}
	t.interrupter.Store(&cancel)
	return turn, func() {
		t.interrupter.Store(nil)
		release()
		cancel(nil)
	}
}

// emit sends an event that belongs to no turn in particular.
func (t *Teammate) emit(d agent.EventData) {
	t.opts.Sink(agent.Event{Member: t.opts.Name, Turn: t.turns, Data: d})
}

// endReason says in a word or two why a member took no more turns.
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
