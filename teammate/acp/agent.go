package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/program"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Agent is a member's agent that runs as a program of its own, with one process and one
// prompt at a time. It implements agent.Agent and agent.Resumer. The program starts with
// the first Run and runs until Close.
type Agent struct {
	*program.Conversation
	opts Options

	// The fields below belong to the goroutine of Run.
	live         *live       // nil: no program is running
	servers      []MCPServer // of the program that is running, or ran last
	session      string      // the program's session; empty: none yet
	made         time.Time
	primed       bool            // the session has its system prompt
	lost         bool            // the session before this one could not be resumed
	lostWhy      string          // of the next session: why it does not continue the one before; empty: it was never lost
	failures     int             // crashes in a row
	lateStarts   int             // starts in a row that were late
	silentStarts int             // those of them without any answer
	waited       int             // time of the late starts, in parts of Timeouts.Start
	observer     events.Observer // of the Run
}

// New checks opts and returns the agent. It does not start the program.
func New(opts Options) (*Agent, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	a := &Agent{opts: opts, session: opts.Session, made: opts.SessionMade, primed: opts.Session != ""}
	a.Conversation = program.NewConversation("acp", opts.History, a.opts.Watched(a.ask), a.down)
	a.opts.History = transcript.History{} // it belongs to the conversation
	return a, nil
}

// down ends the program, if one is running. It keeps the session's id, so that the next
// program resumes the session.
func (a *Agent) down() {
	if a.live != nil {
		a.live.stop()
		a.live = nil
	}
}

// reportHeldUp tells people what the turn waits for.
func (a *Agent) reportHeldUp(format string, args ...any) {
	a.observer.Observe(events.HeldUp{For: fmt.Sprintf(format, args...)})
}

// reportStart tells people that the program starts, or that it is ready.
func (a *Agent) reportStart(ready bool) {
	a.observer.Observe(events.ProgramStarts{Program: filepath.Base(a.opts.Command[0]), Ready: ready})
}

// ask sends one prompt until it is answered, over crashes of the program. later holds
// messages of hooks and mail for the next prompt; it is valid even with an error, because
// hooks do not repeat what they said of a call. The loop ends with an answer, when ctx
// ends, with an error that a restart does not fix, or when pause gives up.
func (a *Agent) ask(
	ctx context.Context, inputs []agent.Input, h agent.Host, reply *agent.Reply,
) (later []agent.Input, err error) {
	a.observer = events.ObserverOf(h)
	for {
		err := a.up(ctx)
		var t *talk
		if err == nil {
			t, err = a.prompt(ctx, a.compose(inputs), h, reply)
			later = append(later, t.Later...)
		}
		switch {
		// First: a program that ended because ctx has is not a crash, and must not
		// count as one.
		case ctx.Err() != nil:
			return later, ctx.Err()
		// The same process would give the same answer. Only a new process makes a new
		// session, which begins with the brief.
		case errors.Is(err, errLost):
			a.drop(err)
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
		// A prompt without any response may have been lost, and is sent again
		// unchanged; otherwise the model must know what happened.
		if t != nil && t.Touched {
			if inputs, err = program.Again(h, inputs); err != nil {
				return later, err
			}
		}
	}
}

// pause waits before the program is started again. It returns an error if the program has
// crashed too often in a row.
func (a *Agent) pause(ctx context.Context, err error) error {
	hint := ""
	if a.live == nil {
		hint = "; run that program by hand to see what is wrong with it"
	}
	// The process may be in a bad state and is not used again.
	a.down()
	// The count is reset, because the member may be woken later and then has its
	// restarts again.
	if a.failures++; a.failures > a.opts.Restarts {
		died := a.failures
		a.failures = 0
		return fmt.Errorf("acp: the agent program crashed %d times in a row: %w%s", died, err, hint)
	}
	// The session may cause the crash. A start that was late says nothing about it, but the last
	// one is tried without the session that no start before has opened.
	late := errors.Is(err, errLate)
	if !late && a.failures > 1 || late && !errors.Is(err, errNoAnswer) && a.failures == a.opts.Restarts {
		a.drop(err)
	}
	wait := program.Rest(a.opts.Backoff, a.failures)
	a.reportRestart(err.Error(), wait)
	return agent.Sleep(ctx, wait)
}

// drop drops the session: the next program begins a new one.
func (a *Agent) drop(why error) {
	if a.session != "" {
		a.session, a.lost, a.lostWhy = "", true, why.Error()
	}
}

// reportRestart reports to the journal that the program is about to be restarted.
func (a *Agent) reportRestart(reason string, rest time.Duration) {
	a.observer.Observe(events.ProgramRestarts{Reason: reason, Rest: rest, Left: max(a.opts.Restarts-a.failures, 0)})
}

// compose makes the blocks of a prompt. A new session begins with the system prompt, if the
// program takes it in no other way, and with a brief if it replaces a lost session. Both
// are repeated until the program has shown that it received the prompt.
func (a *Agent) compose(inputs []agent.Input) []json.RawMessage {
	var before []agent.Input
	if !a.primed && a.opts.SystemBy == SystemInPrompt {
		before = append(before, agent.Input{Text: a.opts.System()})
	}
	if a.lost {
		before = append(before, agent.Input{Text: a.opts.Brief()})
	}
	before = slices.DeleteFunc(before, func(in agent.Input) bool { return in.Text == "" })
	return textBlocks(append(before, inputs...))
}
