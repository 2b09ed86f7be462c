package program

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Ask sends one prompt and returns the inputs for the next one. They are valid even with an error,
// because hooks do not repeat what they said of a call.
type Ask func(ctx context.Context, inputs []agent.Input, h agent.Host, reply *agent.Reply) (later []agent.Input, err error)

// Conversation takes the turns of an agent that is a program, one at a time, and keeps inputs that
// its model has not seen for the next one. It implements agent.Agent and agent.Resumer.
type Conversation struct {
	name    string             // of the agent's package, for errors
	history transcript.History // of the turn that was cut off
	ask     Ask
	end     func() // ends the program

	busy   sync.Mutex // held by Run, Resume and Close, and while ask and end run
	held   []agent.Input
	closed bool
}

// NewConversation returns the conversation of an agent whose package has that name. end ends the
// program, if it runs.
func NewConversation(name string, past transcript.History, ask Ask, end func()) *Conversation {
	c := &Conversation{name: name, ask: ask, end: end}
	if past.Cut != nil { // it may be large, and only Resume needs it
		c.history = past
	}
	return c
}

// Run implements agent.Agent. Its errors include *agent.LimitError and *agent.LoginError,
// which a restart does not fix.
func (c *Conversation) Run(ctx context.Context, prompt []agent.Input, h agent.Host) (agent.Reply, error) {
	c.busy.Lock()
	defer c.busy.Unlock()
	return c.converse(ctx, prompt, h)
}

// Resume implements agent.Resumer. Tool calls without a result are recorded as interrupted,
// because the program that made them is gone. The program is told what happened, and gets
// the prompt again, since it may not have received it.
func (c *Conversation) Resume(ctx context.Context, h agent.Host) (agent.Reply, error) {
	c.busy.Lock()
	defer c.busy.Unlock()
	prompt, err := c.history.Recover(h)
	if err != nil {
		return agent.Reply{}, fmt.Errorf("%s: %w", c.name, err)
	}
	c.history = transcript.History{} // it belongs to an earlier run
	return c.converse(ctx, []agent.Input{prompt}, h)
}

// Close ends the program and waits for its end. It waits for a Run, whose context must
// have ended. Close may be called twice; a Run after it fails.
func (c *Conversation) Close() error {
	c.busy.Lock()
	defer c.busy.Unlock()
	c.closed = true
	c.end()
	return nil
}

// converse sends inputs, and then all that must be said before the gates. Each prompt counts as a
// pass, because the model requests within it are not visible.
func (c *Conversation) converse(ctx context.Context, inputs []agent.Input, h agent.Host) (agent.Reply, error) {
	var reply agent.Reply
	if c.closed {
		return reply, fmt.Errorf("%s: the agent is closed", c.name)
	}
	inputs = append(c.drain(), inputs...)
	var after Afterwards
	for {
		mail, err := h.Pass(ctx)
		if err != nil {
			c.Hold(inputs...)
			return reply, err
		}
		inputs = append(inputs, mail...)
		if err := h.Record(agent.PromptRecord(inputs)); err != nil {
			return reply, fmt.Errorf("the prompt could not be recorded: %w", err)
		}
		later, err := c.ask(ctx, inputs, h, &reply)
		if err != nil || reply.Halted != "" || len(later) == 0 || after.Enough(later, events.ObserverOf(h)) {
			c.Hold(later...)
			return reply, err
		}
		inputs = append(c.drain(), later...)
	}
}

// Hold keeps inputs that the model has not seen for the start of the next prompt. It drops their ids,
// because they count as delivered. Only ask may call it.
func (c *Conversation) Hold(inputs ...agent.Input) {
	for _, in := range inputs {
		in.MessageID = ""
		c.held = append(c.held, in)
	}
}

// drain removes and returns the held inputs, oldest first.
func (c *Conversation) drain() []agent.Input {
	held := c.held
	c.held = nil
	return held
}

// Talk is one running prompt, as far as it is the same for all programs. It belongs to the
// goroutine of Run.
type Talk struct {
	Sup      agent.Supervisor // nil: the Host is none
	Observer events.Observer
	Later    []agent.Input // for a prompt of their own
	Touched  bool          // the program has said something
	Halted   string        // by a hook
	Err      error         // why the prompt is given up

	notice string // the last retry notice that people were shown
}

// NewTalk returns a prompt that has not been sent. The interfaces are optional: a test or another
// host may implement fewer than a member does.
func NewTalk(h agent.Host) Talk {
	sup, _ := h.(agent.Supervisor)
	return Talk{Sup: sup, Observer: events.ObserverOf(h)}
}

// GiveUp records why the prompt is given up; the first error counts.
func (t *Talk) GiveUp(err error) {
	if t.Err == nil {
		t.Err = err
	}
}

// ReportRetry tells people what the turn waits for, unless that repeats the previous notice.
func (t *Talk) ReportRetry(what string) {
	if what != t.notice {
		t.notice = what
		t.Observer.Observe(events.HeldUp{For: what})
	}
}

// Account adds what the prompt has said and spent to the reply.
func (t *Talk) Account(reply *agent.Reply, rec *Recorder, spent Spent) {
	reply.ToolCalls += rec.Made
	reply.Usage = reply.Usage.Plus(spent.Usage)
	reply.Halted = t.Halted
	if rec.Last != "" {
		reply.Text = rec.Last
	}
}

// TranscriptFailed reports whether the prompt was given up because the transcript cannot be written.
func (t *Talk) TranscriptFailed() bool { return t.Err != nil && !IsAPIError(t.Err) }

// Silence returns the error of a program that says nothing for too long, and what was done about
// it. It counts as a failed model request, because an endpoint that does not answer looks the same.
func Silence(limit time.Duration, done string) error {
	return &agent.APIError{
		Type: "server_error", Message: fmt.Sprintf("the agent program has not said anything for %v; it was %s", limit, done),
	}
}

// Continues reports whether the next run continues the turn, because covey is stopped. Text after
// the last call would tell that run that only the gates are left. Interrupts and deadlines end the
// turn, so their text stays.
func Continues(ctx context.Context) bool {
	return errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), agent.ErrInterrupted)
}

// CrashNotice tells a model that its program crashed while covey was running. The prompt follows it,
// because it is unknown how much of it the program had stored.
const CrashNotice = "Your program ended in the middle of this turn and was started again. " +
	"Go on where you were; tool calls without a result may have had an effect, so look first. " +
	"What you were asked is repeated below."

// Again records the notice of a crash and returns the prompt with the notice before it.
func Again(h agent.Host, inputs []agent.Input) ([]agent.Input, error) {
	notice := agent.Input{Kind: agent.FromCovey, Text: CrashNotice}
	if err := h.Record(agent.PromptRecord([]agent.Input{notice})); err != nil {
		return nil, fmt.Errorf("the notice of a crash could not be recorded: %w", err)
	}
	return append([]agent.Input{notice}, inputs...), nil
}

// Rest returns the wait before the given restart of a program: first, doubled with each restart, and
// at most twenty times first.
func Rest(first time.Duration, restart int) time.Duration {
	wait := first
	for range min(restart-1, 10) { // ten doublings exceed the cap, and more could overflow
		wait = min(2*wait, 20*first)
	}
	return wait
}

// DefaultTimes sets each time that is not positive.
func DefaultTimes(defaults map[*time.Duration]time.Duration) {
	for field, value := range defaults {
		if *field <= 0 {
			*field = value
		}
	}
}

// IsAPIError reports whether err is a failed model request. Then the transcript is intact, unlike
// after a failure to write it.
func IsAPIError(err error) bool {
	var e *agent.APIError
	return errors.As(err, &e)
}

// afterwardsCap is how often in a row an agent program is prompted only with the output of hooks.
// It equals the default of limits.stop_block_cap.
const afterwardsCap = 8

// Afterwards limits prompts that contain only what hooks said about calls that have already run. A
// hook that objects to every call would otherwise keep a turn going for ever, because each prompt
// leads to another call. It counts between two visits of the gates; the zero value is ready to use.
type Afterwards struct{ inARow int }

// Enough counts the next prompt and reports whether it must wait for a prompt with another cause.
// In that case it tells eye.
func (a *Afterwards) Enough(next []agent.Input, eye events.Observer) bool {
	if slices.ContainsFunc(next, func(in agent.Input) bool {
		return in.Kind != agent.FromHook &&
			in.Kind != agent.FromContext
	}) {
		a.inARow = 0 // mail, or a message of covey
		return false
	}
	if a.inARow++; a.inARow <= afterwardsCap {
		return false
	}
	eye.Observe(events.Warning{Text: "hooks objected to finished tool calls after each of the last prompts: their " +
		"last messages wait for the next prompt, because this could go on for ever"})
	return true
}
