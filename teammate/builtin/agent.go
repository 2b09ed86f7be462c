package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// Options configure an Agent. Model is required.
type Options struct {
	Model agent.Model
	// Fallbacks answer the rest of a turn, one after the other, when the model before them
	// cannot. Each says what it is (agent.Described).
	Fallbacks []agent.Model
	System    func() string // returns the system prompt for each request; nil means none
	Tools     []agent.Spec  // the tools of the model, team tools included
	// History is the conversation so far, from the transcript.
	History []agent.Message
}

// Agent is the builtin agent. It asks its model, runs the tool calls of the answer,
// adds their results and asks again, until an answer has no calls. It implements
// agent.Agent and agent.Resumer.
type Agent struct {
	models []agent.Model // its own, and those that answer in its place
	system func() string
	own    []agent.Spec // the tools that it was made with
	tools  []agent.Spec // and those that its member has now
	conv   conversation
	room   room
}

// New returns an agent that continues opts.History. Tool calls without a result get
// one, except those of the last answer, which are for Run and Resume.
func New(opts Options) (*Agent, error) {
	if opts.Model == nil {
		return nil, errors.New("builtin: an agent needs a model")
	}
	return &Agent{
		models: append([]agent.Model{opts.Model}, opts.Fallbacks...),
		system: opts.System,
		own:    opts.Tools, tools: opts.Tools,
		conv: newConversation(opts.History),
		room: room{ratio: 1},
	}, nil
}

// Run implements agent.Agent. It reports tool calls that a crash left without a
// result as interrupted, and then adds the prompt.
func (a *Agent) Run(ctx context.Context, prompt []agent.Input, h agent.Host) (agent.Reply, error) {
	// Run does not continue the old turn as Resume does, but its calls need results
	// before the next message.
	t := a.turn(h)
	for _, c := range a.conv.unanswered() {
		if err := t.answer(c, agent.Failed(lostText)); err != nil {
			return t.reply, err
		}
	}
	if custom, ok := compactCommand(prompt); ok {
		return t.compactByHand(ctx, prompt, custom)
	}
	// The feedback of a gate continues the turn; see room.reacted.
	refused := func(in agent.Input) bool { return in.Kind == agent.FromHook }
	t.room.reacted = t.room.reacted && slices.ContainsFunc(prompt, refused)
	if err := t.addInputs(prompt); err != nil {
		return t.reply, err
	}
	return t.run(ctx)
}

// Resume implements agent.Resumer. Of the calls without a result, it runs these:
// calls of team tools, because the store recognizes a call that took effect by its
// id; calls of read-only tools; a call that was waiting for
// permission, and all calls after it. Other calls may have done part of their work.
// They are reported as interrupted, and the model decides what to do.
func (a *Agent) Resume(ctx context.Context, h agent.Host) (agent.Reply, error) {
	t := a.turn(h)
	t.renewTools(ctx) // calls that waited for permission are made now
	unanswered := a.conv.unanswered()
	if len(unanswered) == 0 && a.conv.endsWithAnswer() {
		// The agent had finished before the crash, or had not begun. Only the turn end
		// is left.
		return t.done(), nil
	}
	// Calls begin in their order: after one that did not start, none has started.
	notStarted := false
	allowed := func(c agent.ToolCall) bool {
		notStarted = notStarted || waited(ctx, h, c)
		return notStarted || a.repeatable(c)
	}
	if err := t.batch(ctx, unanswered, allowed); err != nil || t.reply.Halted != "" {
		return t.done(), err
	}
	return t.run(ctx)
}

// Retains implements agent.Retainer: the conversation keeps each prompt, even if
// the turn fails.
func (a *Agent) Retains() {}

// repeatable reports whether a call that may have run before may run again.
func (a *Agent) repeatable(c agent.ToolCall) bool {
	spec := a.spec(c)
	return spec.Team || spec.ReadOnly
}

// spec returns the spec of a call's tool; it is empty if there is no such tool.
func (a *Agent) spec(c agent.ToolCall) agent.Spec {
	i := slices.IndexFunc(a.tools, func(s agent.Spec) bool { return s.Name == c.Name })
	if i < 0 {
		return agent.Spec{}
	}
	return a.tools[i]
}

// waited reports whether a call was interrupted while it waited for permission.
func waited(ctx context.Context, h agent.Host, c agent.ToolCall) bool {
	r, ok := h.(agent.Reminder)
	return ok && r.Unbegun(ctx, c.ID)
}

// turn is one Run or Resume of an agent.
type turn struct {
	*Agent
	host  agent.Host
	model int // index of the model that answers
	reply agent.Reply
	cut   int           // answers in a row that were cut off at the limit of output tokens
	asked []agent.Input // a person's command to compact the conversation, until it is recorded
}

// turn returns a turn of the agent, which its own model begins.
func (a *Agent) turn(h agent.Host) *turn {
	t := &turn{Agent: a, host: h}
	t.use(0)
	return t
}

// maxCut bounds what a model costs that never comes to an end: it is how many answers in a
// row may be cut off before the turn fails.
const maxCut = 3

// run asks the model until an answer has no calls, a hook halts, or an error
// occurs. The reply describes what was done even then.
func (t *turn) run(ctx context.Context) (agent.Reply, error) {
	for {
		mail, err := t.host.Pass(ctx)
		if err != nil {
			return t.done(), err
		}
		if err := t.addInputs(mail); err != nil {
			return t.done(), err
		}
		t.renewTools(ctx)
		if err := t.makeRoom(ctx); err != nil {
			return t.done(), err
		}
		calls, err := t.ask(ctx)
		if err != nil {
			return t.done(), err
		}
		if err := t.batch(ctx, calls, always); err != nil {
			return t.done(), err
		}
		if t.reply.Halted != "" || len(calls) == 0 && t.cut == 0 {
			return t.done(), nil
		}
		if err := t.continueCut(); err != nil {
			return t.done(), err
		}
	}
}

// renewTools takes up the tools that its member has now.
func (t *turn) renewTools(ctx context.Context) {
	if box, ok := t.host.(agent.Toolbox); ok {
		t.tools = slices.Concat(t.own, box.Tools(ctx))
	}
}

// continueCut asks the model to continue an answer that was cut off. An answer with calls
// needs no such request: their results are one, and a call that was cut in its middle is
// reported to the model as malformed.
func (t *turn) continueCut() error {
	switch {
	case t.cut == 0:
		return nil
	case t.cut > maxCut:
		return &agent.APIError{Type: "max_output_tokens", Message: fmt.Sprintf(
			"%d answers in a row reached the limit of output tokens; raise max_output of the model, or give smaller tasks", t.cut)}
	}
	return t.addInputs([]agent.Input{{Kind: agent.FromCovey, Text: cutText}})
}

// addInputs adds inputs to the conversation as one user message, with one block
// each.
func (t *turn) addInputs(inputs []agent.Input) error {
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
	t.conv.add(m)
	return nil
}

// ask makes one model request and returns the calls of the answer.
//
// A failed step of a script is recorded as an empty answer, so that a resumed
// script continues after it.
func (t *turn) ask(ctx context.Context) ([]agent.ToolCall, error) {
	response, err := t.request(ctx)
	if err == nil && response.CutOff && t.cut == 0 {
		response, err = t.raise(ctx, response)
	}
	if refusesImages(err) { // the next turn must not fail for the same image
		t.conv.dropImages()
	}
	// A model may return an error of its own for a cancelled request.
	if err != nil && ctx.Err() != nil {
		t.reply.Usage = t.reply.Usage.Plus(response.Usage)
		return nil, ctx.Err()
	}
	if err != nil && response.Step == nil {
		t.reply.Usage = t.reply.Usage.Plus(response.Usage)
		return nil, err
	}
	var m agent.Message
	var calls []agent.ToolCall
	if err == nil {
		m, calls = t.conv.sanitize(response.Content)
	} else {
		m.Role = agent.Assistant
	}
	record := agent.Record{Message: m, Step: response.Step, Usage: response.Usage, Model: t.other()}
	if err == nil {
		record.Context = t.contextUse(response.Usage)
	}
	if lost := t.record(record); lost != nil {
		return nil, errors.Join(err, lost)
	}
	if len(calls) > 0 {
		t.room.reacted = false
	}
	if had := t.room.cached; err == nil && t.room.lostCache(response.Usage) {
		t.observe(events.Warning{Text: fmt.Sprintf("the provider had %d tokens of the conversation in its cache, "+
			"and now none: until it keeps them again, each request costs its full price", had)})
	}
	if t.cut++; !response.CutOff {
		t.cut = 0
	}
	return calls, err
}

// record adds an answer to the conversation and to the transcript.
func (t *turn) record(r agent.Record) error {
	if err := t.host.Record(r); err != nil {
		return fmt.Errorf("builtin: recording an answer: %w", err)
	}
	t.conv.add(r.Message)
	t.reply.Usage = t.reply.Usage.Plus(r.Usage)
	return nil
}

// prompt returns the system prompt for the next request.
func (a *Agent) prompt() string {
	if a.system == nil {
		return ""
	}
	return a.system()
}

// always allows every call of a batch.
func always(agent.ToolCall) bool { return true }

// maxParallel is how many read-only calls run at the same time: enough that files and pages
// do not wait for each other, and few enough for one machine with a whole team.
const maxParallel = 8

// begun is a call of a batch, with the function that waits for its result.
type begun struct {
	agent.ToolCall
	result func() agent.ToolResult
}

// batch runs the calls of an answer: those of read-only tools that follow each other at
// the same time, every other by itself. Results are recorded in the order of the calls.
// When it returns, each call has exactly one result in the conversation: a call that
// allowed refuses, or that ctx's end prevented, is reported as interrupted. Only a call
// that is left to Resume has no result. After a halt the rest of the batch still runs.
func (t *turn) batch(ctx context.Context, calls []agent.ToolCall,
	allowed func(agent.ToolCall) bool) error {
	var broken error
	var open []begun // in the order of their calls
	finish := func(n int) {
		for _, b := range open[:n] {
			if err := t.finish(ctx, b); err != nil && broken == nil {
				broken = err
			}
		}
		open = open[n:]
	}
	for _, c := range calls {
		alone := !t.spec(c).ReadOnly
		if alone {
			finish(len(open))
		} else if len(open) == maxParallel {
			finish(1)
		}
		if broken == nil && t.leftToResume(ctx, c) {
			continue
		}
		open = append(open, begun{c, t.begin(ctx, c, broken == nil, allowed)})
		if alone {
			finish(1)
		}
	}
	finish(len(open))
	if broken != nil {
		return broken
	}
	return ctx.Err()
}

// begin starts a call, and returns the function that waits for its result. ok is false
// if the conversation can no longer be recorded.
func (t *turn) begin(ctx context.Context, c agent.ToolCall, ok bool,
	allowed func(agent.ToolCall) bool) (result func() agent.ToolResult) {
	failed := func(text string) func() agent.ToolResult {
		return func() agent.ToolResult { return agent.Failed("%s", text) }
	}
	switch {
	case ctx.Err() != nil || !ok:
		return failed(skippedText)
	case !allowed(c):
		return failed(lostText)
	case c.Input == nil: // see conversation.sanitize
		return failed(badInputText)
	}
	t.reply.ToolCalls++
	if s, ok := t.host.(agent.Starter); ok {
		return s.Start(ctx, c)
	}
	r := t.host.Call(ctx, c)
	return func() agent.ToolResult { return r }
}

// finish waits for the result of a call and adds it to the conversation.
func (t *turn) finish(ctx context.Context, b begun) error {
	result := b.result()
	if result.IsError && t.leftToResume(ctx, b.ToolCall) {
		return nil
	}
	if t.reply.Halted == "" {
		t.reply.Halted = result.Halted
	}
	return t.answer(b.ToolCall, result)
}

// leftToResume reports whether the member is stopping and a call is left to Resume, which
// runs it again as after a crash. Such a call gets no result now. Interrupts and deadlines
// end the turn: it is not resumed.
func (t *turn) leftToResume(ctx context.Context, c agent.ToolCall) bool {
	return errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), agent.ErrInterrupted) && t.repeatable(c)
}

// answer adds a call's result to the conversation, with the texts that hooks added
// to it. Each result is recorded at once, so that a crash loses no result of a
// finished call. The conversation has the result even if recording fails.
func (t *turn) answer(c agent.ToolCall, r agent.ToolResult) error {
	m := agent.Message{Role: agent.User, Content: []agent.Block{{
		Type:      agent.ToolResultBlock,
		ToolUseID: c.ID,
		Content:   r.Content,
		Images:    r.Images,
		IsError:   r.IsError,
	}}}
	record := agent.Record{}
	for _, text := range r.Extra {
		m.Content = append(m.Content, agent.Block{Type: agent.TextBlock, Text: text})
		record.Inputs = append(record.Inputs, agent.Input{Kind: agent.FromContext, Text: text})
	}
	t.conv.add(m)
	record.Message = m
	if err := t.host.Record(record); err != nil {
		return fmt.Errorf("builtin: recording the result of %s: %w", c.Name, err)
	}
	return nil
}

// done returns the reply, with the text of the last answer.
func (t *turn) done() agent.Reply {
	t.reply.Text = t.conv.lastText()
	return t.reply
}

// The results for the model of calls that did not run or did not finish.
const (
	skippedText = "Not run: the turn was interrupted before this call."
	lostText    = "interrupted: covey was stopped while this call was under way. It may have done all, " +
		"some or none of its work; look before you repeat it."
	cutText = "Your answer reached the limit of output tokens and was cut off there. Continue where it ends, without " +
		"repeating it; break what is left into smaller pieces."
	badInputText = "Not run: the input of this call is not a JSON object. Write it again as the tool's " +
		"schema says."
)

// textOf joins the text blocks of m, for last_assistant_message.
func textOf(m agent.Message) string {
	var texts []string
	for _, b := range m.Content {
		if b.Type == agent.TextBlock {
			texts = append(texts, b.Text)
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}
