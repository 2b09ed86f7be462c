package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Agent is a member's agent that thinks in a program of its own, one process
// and one prompt at a time. It is a agent.Agent and a agent.Resumer. The
// program starts with the first Run and lives until Close.
type Agent struct {
	opts Options
	busy sync.Mutex // held by Run, Resume and Close

	// What follows belongs to who holds busy.
	live     *live       // nil: no program runs
	servers  []MCPServer // of the program that runs, or ran last
	session  string      // the program's session; empty: none yet
	made     time.Time
	primed   bool // the session has its system prompt
	lost     bool // the session before this one could not be entered again
	failures int  // crashes in a row
	mute     int  // starts in a row after which the program gave no answer at all
	prompts  program.Prompts
	closed   bool
	eye      agent.Observer // of the Run; nil: nobody looks
}

// New checks opts and returns the agent. It starts nothing.
func New(opts Options) (*Agent, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	return &Agent{
		opts: opts, session: opts.Session, made: opts.SessionMade, primed: opts.Session != "",
	}, nil
}

// Close ends the program, and waits until it is gone. It waits for a Run, whose
// context must have ended. Closing twice is fine; a Run after it fails.
func (a *Agent) Close() error {
	a.busy.Lock()
	defer a.busy.Unlock()
	a.closed = true
	a.down()
	return nil
}

// down ends the program, if one runs. The session's id is kept: the next
// program enters it again. It is safe to call at any time by who holds busy.
func (a *Agent) down() {
	if a.live != nil {
		a.live.stop()
		a.live = nil
	}
}

// Run is agent.Agent's. Beside its errors there are *agent.LimitError and
// *agent.LoginError, which no restart mends.
func (a *Agent) Run(ctx context.Context, prompt []agent.Input, h agent.Host) (agent.Reply, error) {
	a.busy.Lock()
	defer a.busy.Unlock()
	return a.converse(ctx, prompt, h)
}

// Resume is agent.Resumer's. Tool calls that a crash of covey left without a
// result are interrupted: the program that made them is gone. The program is
// told what happened, and gets the prompt again that it may never have had.
func (a *Agent) Resume(ctx context.Context, h agent.Host) (agent.Reply, error) {
	a.busy.Lock()
	defer a.busy.Unlock()
	prompt, err := a.opts.History.Recover(h)
	if err != nil {
		return agent.Reply{}, fmt.Errorf("acp: %w", err)
	}
	a.opts.History = transcript.History{} // it is of an earlier life
	return a.converse(ctx, []agent.Input{prompt}, h)
}

// heldUp tells people what the turn waits for.
func (a *Agent) heldUp(format string, args ...any) {
	if a.eye != nil {
		a.eye.Observe(agent.HeldUp{For: fmt.Sprintf(format, args...)})
	}
}

// converse takes a turn's prompts to their end.
func (a *Agent) converse(ctx context.Context, inputs []agent.Input, h agent.Host) (agent.Reply, error) {
	if a.closed {
		return agent.Reply{}, errors.New("acp: the agent is closed")
	}
	a.eye, _ = h.(agent.Observer)
	return a.prompts.Converse(ctx, inputs, h,
		func(ctx context.Context, inputs []agent.Input, reply *agent.Reply) ([]agent.Input, error) {
			return a.ask(ctx, inputs, h, reply)
		})
}

// ask takes one prompt to its answer, over crashes of the program. later is
// what hooks and mail want said next. The loop ends with an answer, with the
// end of ctx, with an error that no restart mends, or when pause gives the
// program up. later is worth keeping with an error, too: what hooks said of a
// call that has run is not said again.
func (a *Agent) ask(
	ctx context.Context, inputs []agent.Input, h agent.Host, reply *agent.Reply,
) (later []agent.Input, err error) {
	for {
		err := a.up(ctx)
		var t *talk
		if err == nil {
			t, err = a.prompt(ctx, a.compose(inputs), h, reply)
			later = append(later, t.later...)
		}
		switch {
		// First: a program that is ended because ctx has is no crash, and must not
		// count as one.
		case ctx.Err() != nil:
			return later, ctx.Err()
		// The same process would answer the same again: only a new one makes a new
		// session, with the brief at its head.
		case errors.Is(err, errLost):
			a.session, a.lost = "", true
			a.down()
		case !errors.Is(err, errCrash):
			if err == nil {
				a.failures = 0
			}
			return later, err
		}
		if err := a.pause(ctx, err); err != nil {
			return later, err
		}
		// A prompt of which the program has said nothing may have been lost with
		// it, and is just sent again; otherwise the model has to know.
		if t != nil && t.touched {
			if inputs, err = program.Again(h, inputs); err != nil {
				return later, err
			}
		}
	}
}

// pause waits before the program is started again. A program that dies time
// and again is given up.
func (a *Agent) pause(ctx context.Context, err error) error {
	// The process may be half dead: it is never used again.
	a.down()
	// The count goes back to 0, for the member may be woken later, and has its
	// restarts then as well.
	if a.failures++; a.failures > a.opts.Restarts {
		died := a.failures
		a.failures = 0
		return fmt.Errorf("acp: the agent program died %d times in a row: %w", died, err)
	}
	if a.failures > 1 && a.session != "" { // it may be the session that kills it
		a.session, a.lost = "", true
	}
	wait := program.Rest(a.opts.Backoff, a.failures)
	a.tellOfRestart(err.Error(), wait)
	return program.Sleep(ctx, wait)
}

// tellOfRestart tells the journal that the program is about to be started again.
func (a *Agent) tellOfRestart(reason string, rest time.Duration) {
	if a.eye != nil {
		a.eye.Observe(agent.ProgramRestarts{Reason: reason, Rest: rest, Left: max(a.opts.Restarts-a.failures, 0)})
	}
}

// compose makes the blocks of a prompt. A new session begins with the system
// prompt, if the program takes it no other way, and with a written brief if it
// takes the place of one that was lost. Both stand until the program has shown
// that it got the prompt: one that is sent again begins with the same blocks.
func (a *Agent) compose(inputs []agent.Input) []json.RawMessage {
	var blocks []json.RawMessage
	if !a.primed && a.opts.System != nil && a.opts.SystemBy == SystemInPrompt {
		if prompt := a.opts.System(); prompt != "" {
			blocks = append(blocks, textBlock(prompt))
		}
	}
	if a.lost && a.opts.Brief != nil {
		if brief := a.opts.Brief(); brief != "" {
			blocks = append(blocks, textBlock(brief))
		}
	}
	return append(blocks, textBlocks(inputs)...)
}
