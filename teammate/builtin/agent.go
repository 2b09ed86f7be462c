package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/teammate/agent"
)

// Options make an Agent. Model is required.
type Options struct {
	Model  agent.Model
	System func() string // gives the system prompt, request by request; nil: none
	Tools  []agent.Spec  // what the model may call, team tools included
	// History is the conversation so far, as the transcript tells it.
	History []agent.Message
}

// Agent is the builtin agent: it asks its model, makes the tool calls that the
// model wants, shows it the results and asks again, until an answer calls
// nothing. It is a agent.Agent and a agent.Resumer.
type Agent struct {
	model  agent.Model
	system func() string
	tools  []agent.Spec
	talk   conversation
}

// New returns an agent that goes on with opts.History. Tool calls in the
// middle of the history that never got a result are given one.
func New(opts Options) (*Agent, error) {
	if opts.Model == nil {
		return nil, errors.New("builtin: an agent needs a model")
	}
	return &Agent{
		model:  opts.Model,
		system: opts.System,
		tools:  opts.Tools,
		talk:   newConversation(opts.History),
	}, nil
}

// Run is agent.Agent's. Tool calls that an earlier crash left without a
// result are told to be interrupted before the prompt is added.
func (a *Agent) Run(ctx context.Context, prompt []agent.Input, h agent.Host) (agent.Reply, error) {
	// Whoever calls Run instead of Resume does not go on with the old turn; its
	// calls must have results all the same before anything else is said.
	t := turn{Agent: a, host: h}
	for _, c := range a.talk.open() {
		if err := t.answer(c, agent.Failed(lostText)); err != nil {
			return t.reply, err
		}
	}
	if err := t.hear(prompt); err != nil {
		return t.reply, err
	}
	return t.run(ctx)
}

// Resume is agent.Resumer's. Of the calls that have no result yet, those of
// team tools and of tools that only read are made (again): the store answers a
// team call that had its effect from its id (DESIGN 10.6). So are one that still
// waited for somebody's leave and those behind it. All others may have done half of
// their work; they are told to be interrupted, and the model decides what to do about it.
func (a *Agent) Resume(ctx context.Context, h agent.Host) (agent.Reply, error) {
	t := turn{Agent: a, host: h}
	open := a.talk.open()
	if len(open) == 0 && a.talk.silent() {
		// The agent had fallen silent before the crash, or had never begun: only
		// the turn end is left to do.
		return t.done(), nil
	}
	unbegun := false // calls come one after another: behind one that never began none has
	may := func(c agent.ToolCall) bool {
		unbegun = unbegun || waited(ctx, h, c)
		return unbegun || a.repeatable(c)
	}
	if err := t.batch(ctx, open, may); err != nil || t.reply.Halted != "" {
		return t.done(), err
	}
	return t.run(ctx)
}

// Retains is agent.Retainer's: the conversation has each prompt, whatever came of it.
func (a *Agent) Retains() {}

// repeatable reports whether a call that may have been made may be made again.
func (a *Agent) repeatable(c agent.ToolCall) bool {
	for _, s := range a.tools {
		if s.Name == c.Name {
			return s.Team || s.ReadOnly
		}
	}
	return false
}

// waited reports whether a call was cut off while it waited to be allowed.
func waited(ctx context.Context, h agent.Host, c agent.ToolCall) bool {
	r, ok := h.(agent.Reminder)
	return ok && r.Unbegun(ctx, c.ID)
}

// turn is one Run or Resume of an agent.
type turn struct {
	*Agent
	host  agent.Host
	reply agent.Reply
}

// run asks the model until it calls nothing, a hook halts, or something fails.
// The reply tells what was done even then.
func (t *turn) run(ctx context.Context) (agent.Reply, error) {
	for {
		mail, err := t.host.Pass(ctx)
		if err != nil {
			return t.done(), err
		}
		if err := t.hear(mail); err != nil {
			return t.done(), err
		}
		calls, err := t.ask(ctx)
		if err != nil {
			return t.done(), err
		}
		if err := t.batch(ctx, calls, always); err != nil {
			return t.done(), err
		}
		if len(calls) == 0 || t.reply.Halted != "" {
			return t.done(), nil
		}
	}
}

// hear adds inputs to the conversation as one user message, one block each.
func (t *turn) hear(inputs []agent.Input) error {
	if len(inputs) == 0 {
		return nil
	}
	m := agent.Message{Role: agent.User}
	for _, in := range inputs {
		m.Content = append(m.Content, agent.Block{Type: agent.TextBlock, Text: in.Text})
	}
	if err := t.host.Record(agent.Record{Message: m, Inputs: inputs}); err != nil {
		return fmt.Errorf("builtin: recording a prompt: %w", err)
	}
	t.talk.add(m)
	return nil
}

// ask makes one model request and returns the calls that the answer holds.
//
// A step of a script that failed is recorded as an empty answer, so that a
// resumed script goes on behind it.
func (t *turn) ask(ctx context.Context) ([]agent.ToolCall, error) {
	response, err := t.model.Generate(ctx, t.talk.request(t.prompt(), t.tools))
	// A model whose request was cut off may call that an error of its own.
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && response.Step == nil {
		return nil, err
	}
	var m agent.Message
	var calls []agent.ToolCall
	if err == nil {
		m, calls = t.talk.tidy(response.Content)
	} else {
		m.Role = agent.Assistant
	}
	record := agent.Record{Message: m, Step: response.Step, Usage: response.Usage}
	if lost := t.host.Record(record); lost != nil {
		return nil, errors.Join(err, fmt.Errorf("builtin: recording an answer: %w", lost))
	}
	t.talk.add(m)
	t.reply.Usage = t.reply.Usage.Plus(response.Usage)
	return calls, err
}

// prompt is the system prompt for the next request.
func (a *Agent) prompt() string {
	if a.system == nil {
		return ""
	}
	return a.system()
}

// always lets every call of a batch be made.
func always(agent.ToolCall) bool { return true }

// batch makes calls one after another. Each has exactly one result in the
// conversation when batch returns: a call that may not be made, or that ctx's
// end came before, is told to be interrupted. Only a call that is left to
// Resume has none. A halt lets the rest of the batch finish.
func (t *turn) batch(ctx context.Context, calls []agent.ToolCall,
	may func(agent.ToolCall) bool) error {
	var broken error
	for _, c := range calls {
		var result agent.ToolResult
		switch {
		case broken == nil && t.leaves(ctx, c):
			continue
		case ctx.Err() != nil || broken != nil:
			result = agent.Failed(skippedText)
		case !may(c):
			result = agent.Failed(lostText)
		case c.Input == nil: // see conversation.tidy
			result = agent.Failed(badInputText)
		default:
			result = t.host.Call(ctx, c)
			t.reply.ToolCalls++
			if result.IsError && t.leaves(ctx, c) {
				continue
			}
		}
		if t.reply.Halted == "" {
			t.reply.Halted = result.Halted
		}
		if err := t.answer(c, result); err != nil && broken == nil {
			broken = err
		}
	}
	if broken != nil {
		return broken
	}
	return ctx.Err()
}

// leaves reports whether the member stops and leaves a call to Resume, which makes it as
// after a crash: such a call gets no result now. After an interrupt no turn is resumed.
func (t *turn) leaves(ctx context.Context, c agent.ToolCall) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), agent.ErrInterrupted) && t.repeatable(c)
}

// answer adds a call's result to the conversation, with the texts that hooks
// put beside it. Each result is recorded by itself as soon as it is there, so
// that a crash takes the result of no call that had ended. The conversation
// has it even when recording fails.
func (t *turn) answer(c agent.ToolCall, r agent.ToolResult) error {
	m := agent.Message{Role: agent.User, Content: []agent.Block{{
		Type:      agent.ToolResultBlock,
		ToolUseID: c.ID,
		Content:   r.Content,
		IsError:   r.IsError,
	}}}
	record := agent.Record{}
	for _, text := range r.Extra {
		m.Content = append(m.Content, agent.Block{Type: agent.TextBlock, Text: text})
		record.Inputs = append(record.Inputs, agent.Input{Kind: agent.FromContext, Text: text})
	}
	t.talk.add(m)
	record.Message = m
	if err := t.host.Record(record); err != nil {
		return fmt.Errorf("builtin: recording the result of %s: %w", c.Name, err)
	}
	return nil
}

// done completes the reply with the last answer's text.
func (t *turn) done() agent.Reply {
	t.reply.Text = t.talk.lastText()
	return t.reply
}

// What a model is told of calls that have no result of their own.
const (
	skippedText = "Not run: the turn was interrupted before this call."
	lostText    = "interrupted: covey was stopped while this call was under way. It may have done all, " +
		"some or none of its work; look before you repeat it."
	badInputText = "Not run: the input of this call is not a JSON object. Write it again as the tool's " +
		"schema says."
)

// textOf joins the text blocks of m, as last_assistant_message wants it.
func textOf(m agent.Message) string {
	var texts []string
	for _, b := range m.Content {
		if b.Type == agent.TextBlock {
			texts = append(texts, b.Text)
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}
