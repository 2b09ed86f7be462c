package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Agent is a member's agent that thinks in a program which is started anew for
// each prompt. It is a agent.Agent and a agent.Resumer.
type Agent struct {
	opts Options
	busy sync.Mutex // held by Run, Resume and Close

	// What follows belongs to who holds busy.
	session  string       // the id to resume; empty: none
	primed   bool         // the session has its system prompt
	spoken   bool         // there is a conversation that a new session knows nothing of
	before   *agent.Usage // what the session had used before; nil: not known
	failures int          // in a row: programs that were killed, and prompts that failed without a word why
	restarts int          // of one prompt, in a row
	prompts  program.Prompts
	closed   bool
}

// New checks opts and returns the agent. It starts nothing.
func New(opts Options) (*Agent, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	a := &Agent{opts: opts, spoken: len(opts.History.Messages) > 0}
	if len(opts.Resume) > 0 && sessionID().MatchString(opts.Session) {
		a.session, a.primed = opts.Session, true
	}
	if a.session == "" {
		a.before = &agent.Usage{}
	}
	if opts.History.Cut == nil {
		a.opts.History = transcript.History{} // it may be large, and is for Resume alone
	}
	return a, nil
}

// sessionID is what may stand in a command line as a session's id: never an
// option.
var sessionID = notation.Pattern(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$`)

// Close waits for a Run, whose context must have ended; no program runs then.
// Closing twice is fine; a Run after it fails.
func (a *Agent) Close() error {
	a.busy.Lock()
	defer a.busy.Unlock()
	a.closed = true
	return nil
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
		return agent.Reply{}, fmt.Errorf("command: %w", err)
	}
	a.opts.History = transcript.History{} // it is of an earlier life
	return a.converse(ctx, []agent.Input{prompt}, h)
}

// converse takes a turn's prompts to their end.
func (a *Agent) converse(ctx context.Context, inputs []agent.Input, h agent.Host) (agent.Reply, error) {
	if a.closed {
		return agent.Reply{}, errors.New("command: the agent is closed")
	}
	return a.prompts.Converse(ctx, inputs, h,
		func(ctx context.Context, inputs []agent.Input, reply *agent.Reply) ([]agent.Input, error) {
			later, err := a.ask(ctx, inputs, h, reply)
			a.spoken = true
			return later, err
		})
}

// ask takes one prompt to its answer, over lost sessions and programs that were
// killed. later is what hooks want said next; it is worth keeping with an
// error, too.
func (a *Agent) ask(
	ctx context.Context, inputs []agent.Input, h agent.Host, reply *agent.Reply,
) (later []agent.Input, err error) {
	for a.restarts = 0; ; {
		if err := a.pause(ctx); err != nil {
			return later, err
		}
		t, err := a.prompt(ctx, inputs, h, reply)
		later = append(later, t.later...)
		switch {
		case ctx.Err() != nil:
			return later, ctx.Err()
		case errors.Is(err, errLost):
			a.lose()
		case !errors.Is(err, errCrash):
			return later, a.judge(err)
		}
		reason := err.Error()
		if err := a.count(err); err != nil {
			return later, err
		}
		if t.eye != nil {
			t.eye.Observe(agent.ProgramRestarts{Reason: reason, Rest: a.rest(), Left: a.opts.Restarts - a.restarts})
		}
		// A prompt of which the program has said nothing is just sent again;
		// otherwise the model has to know.
		if t.touched {
			if inputs, err = program.Again(h, inputs); err != nil {
				return later, err
			}
		}
	}
}

// judge counts a turn that the program has failed. A turn that came to its end,
// or that failed at the model's door, ends the count. Whoever runs the agent decides
// how often a turn that failed is tried again.
func (a *Agent) judge(err error) error {
	var failed *failedError
	if errors.As(err, &failed) {
		a.fail()
		return failed.api()
	}
	if err == nil || program.IsAPIError(err) {
		a.failures = 0
	}
	return err
}

// count notes that the program was killed. One that is killed time and again is
// given up: the error ends its member.
func (a *Agent) count(err error) error {
	if a.restarts++; a.restarts > a.opts.Restarts {
		// It goes back to 0, for the member may be woken later, and has its session
		// then as well.
		a.failures = 0
		return fmt.Errorf("command: the agent program failed %d times in a row: %w", a.restarts, err)
	}
	a.fail()
	return nil
}

// fail notes a failure of the program.
func (a *Agent) fail() {
	if a.failures++; a.failures > 1 { // it may be the session that makes it fail
		a.lose()
	}
}

// lose gives the session up: the next prompt begins a new one.
func (a *Agent) lose() {
	a.spoken = a.spoken || a.primed
	a.session, a.primed, a.before = "", false, &agent.Usage{}
}

// pause waits before a program that was killed is started again.
func (a *Agent) pause(ctx context.Context) error {
	if a.restarts == 0 {
		return nil
	}
	return program.Sleep(ctx, a.rest())
}

// rest is how long a program that was killed rests before it is started again.
func (a *Agent) rest() time.Duration { return program.Rest(a.opts.Backoff, a.restarts) }

// compose makes the text of a prompt. A session begins with the system prompt
// and, if there was talk before it, with a brief of that. Both stand until the
// program has shown that it got the prompt; a program without sessions gets
// them each time.
func (a *Agent) compose(inputs []agent.Input) string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if fresh := a.session == "" || !a.primed; fresh {
		if a.opts.System != nil {
			add(a.opts.System())
		}
		if a.spoken && a.opts.Brief != nil {
			add(a.opts.Brief())
		}
	}
	for _, in := range inputs {
		add(in.Text)
	}
	return strings.Join(parts, "\n\n")
}
