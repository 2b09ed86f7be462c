package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Agent is a member's agent that runs a program once for each prompt. It implements
// agent.Agent and agent.Resumer.
type Agent struct {
	*program.Conversation
	opts Options

	// The fields below belong to the goroutine of Run.
	session  string       // the id to resume; empty: none
	primed   bool         // the session has its system prompt
	spoken   bool         // there was a conversation, which a new session does not know
	lostWhy  string       // why the session before was dropped, until a new one is made; empty: it was not
	before   *agent.Usage // what the session had used before; nil: unknown
	failures int          // in a row: programs that were killed, and prompts that failed without a reason
	restarts int          // of one prompt, in a row
}

// New checks opts and returns the agent. It does not start the program.
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
	a.Conversation = program.NewConversation("command", opts.History, a.opts.Watched(a.ask), func() {})
	a.opts.History = transcript.History{} // it belongs to the conversation
	return a, nil
}

// sessionID matches a session's id that is safe in a command line: it cannot be an
// option.
var sessionID = texts.Pattern(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$`)

// ask sends one prompt until it is answered, over lost sessions and killed programs. later
// holds messages of hooks for the next prompt; it is valid even with an error.
func (a *Agent) ask(
	ctx context.Context, inputs []agent.Input, h agent.Host, reply *agent.Reply,
) (later []agent.Input, err error) {
	defer func() { a.spoken = true }()
	for a.restarts = 0; ; {
		if err := a.pause(ctx); err != nil {
			return later, err
		}
		t, err := a.prompt(ctx, inputs, h, reply)
		later = append(later, t.Later...)
		switch {
		case ctx.Err() != nil:
			return later, ctx.Err()
		case errors.Is(err, errLost):
			a.dropSession(err)
		case !errors.Is(err, errCrash):
			return later, a.countFailedTurn(err)
		}
		reason := err.Error()
		if err := a.countKill(err); err != nil {
			return later, err
		}
		t.Observer.Observe(events.ProgramRestarts{Reason: reason, Rest: a.rest(), Left: a.opts.Restarts - a.restarts})
		// A prompt without any response is sent again unchanged; otherwise the model must
		// know what happened.
		if t.Touched {
			if inputs, err = program.Again(h, inputs); err != nil {
				return later, err
			}
		}
	}
}

// countFailedTurn counts a turn in which the program failed. A turn that completed, or whose model
// request failed, resets the count. The caller of the agent decides how often to retry a
// failed turn.
func (a *Agent) countFailedTurn(err error) error {
	if failed, ok := errors.AsType[*failedError](err); ok {
		a.countFailure(err)
		return failed.api()
	}
	if err == nil || program.IsAPIError(err) {
		a.failures = 0
	}
	return err
}

// countKill records that the program was killed. After too many times in a row it returns an
// error, which ends the member.
func (a *Agent) countKill(err error) error {
	if a.restarts++; a.restarts > a.opts.Restarts {
		// The count is reset, because the member may be woken later and then has its
		// session again.
		a.failures = 0
		return fmt.Errorf("command: the agent program failed %d times in a row: %w", a.restarts, err)
	}
	a.countFailure(err)
	return nil
}

// countFailure records a failure of the program.
func (a *Agent) countFailure(err error) {
	if a.failures++; a.failures > 1 { // the session may be the cause
		a.dropSession(err)
	}
}

// dropSession drops the session: the next prompt begins a new one.
func (a *Agent) dropSession(why error) {
	if a.session != "" {
		a.lostWhy = why.Error()
	}
	a.spoken = a.spoken || a.primed
	a.session, a.primed, a.before = "", false, &agent.Usage{}
}

// pause waits before a killed program is started again.
func (a *Agent) pause(ctx context.Context) error {
	if a.restarts == 0 {
		return nil
	}
	return agent.Sleep(ctx, a.rest())
}

// rest returns how long to wait before a killed program is started again.
func (a *Agent) rest() time.Duration { return program.Rest(a.opts.Backoff, a.restarts) }

// compose makes the text of a prompt. A session begins with the system prompt and, if there
// was a conversation before it, with a brief of that. Both are repeated until the program has
// shown that it received the prompt; a program without sessions gets them each time.
func (a *Agent) compose(inputs []agent.Input) string {
	var parts []string
	if fresh := a.session == "" || !a.primed; fresh {
		parts = append(parts, a.opts.System())
		if a.spoken {
			parts = append(parts, a.opts.Brief())
		}
	}
	for _, in := range inputs {
		parts = append(parts, in.Text)
	}
	return strings.Join(slices.DeleteFunc(parts, func(text string) bool { return text == "" }), "\n\n")
}
