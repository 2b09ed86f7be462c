package teammate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Call implements Host.
func (run *agentRun) Call(ctx context.Context, call agent.ToolCall) agent.ToolResult {
	if _, recorded := run.u.t.calls.Tool(call.ID); !recorded {
		return run.callAndRecord(ctx, call)
	}
	return run.Start(ctx, call)()
}

// Start implements agent.Starter. Only the tools themselves overlap: hooks, and the people who
// are asked, see one call at a time, in the order of the calls.
func (run *agentRun) Start(ctx context.Context, call agent.ToolCall) (result func() agent.ToolResult) {
	run.calls++
	used := run.use(ctx, &call)
	return func() agent.ToolResult {
		r, below := used()
		run.inTool = run.inTool || ctx.Err() != nil
		for _, in := range append(below, run.batched(ctx, call, r)...) {
			r.Content = strings.TrimPrefix(r.Content+"\n\n"+in.Text, "\n\n")
		}
		r.Content = strings.ToValidUTF8(r.Content, "\uFFFD")
		r.Halted = run.u.at.halted
		return r
	}
}

// callAndRecord is Call for agents that leave recording to the host.
func (run *agentRun) callAndRecord(ctx context.Context, call agent.ToolCall) agent.ToolResult {
	if call.ID == "" {
		call.ID = "call_" + uuid.NewString()
	}
	asked := agent.Message{Role: agent.Assistant, Content: []agent.Block{
		{Type: agent.ToolUseBlock, ID: call.ID, Name: call.Name, Input: call.Input},
	}}
	err := run.flush()
	if err == nil {
		err = run.Record(agent.Record{Message: asked})
	}
	if err != nil {
		return agent.Failed("The call could not be recorded and was not made: %v", err)
	}
	r := run.Call(ctx, call)
	answer := agent.Message{Role: agent.User, Content: []agent.Block{
		{Type: agent.ToolResultBlock, ToolUseID: call.ID, Content: r.Content, Images: r.Images, IsError: r.IsError},
	}}
	for _, text := range r.Extra {
		answer.Content = append(answer.Content, agent.Block{Type: agent.TextBlock, Text: text})
	}
	if err := run.Record(agent.Record{Message: answer, Inputs: agent.ContextInputs(r.Extra)}); err != nil {
		run.u.at.warn("the result of %s could not be recorded: %v", call.Name, err)
	}
	return r
}

// waiting waits for the result of a call. below is the output of hooks about the result, which
// goes below its content.
type waiting func() (r agent.ToolResult, below []agent.Input)

// unused returns the failure of a call whose tool was not run.
func unused(format string, args ...any) waiting {
	return func() (agent.ToolResult, []agent.Input) { return agent.Failed(format, args...), nil }
}

// use runs one call: input check, PreToolUse hooks, permission, the tool, PostToolUse
// hooks. It returns when the tool has begun.
//
// Every way out is a result, also where the tool has not run: the model reads why and goes
// on with something else.
func (run *agentRun) use(ctx context.Context, call *agent.ToolCall) waiting {
	g := run.guard(ctx, call)
	used := unused("%s", g.denial)
	if g.denial == "" {
		used = run.execute(markSettled(ctx, g.pre), g.tool, *call)
	}
	return func() (agent.ToolResult, []agent.Input) {
		r, below := used()
		r.Extra = slices.Concat(g.pre.AdditionalContext, g.extra, r.Extra)
		return r, below
	}
}

// guarded is a call that has been checked, and whether its tool may run.
type guarded struct {
	tool   *permission.Tool // nil: the member has no such tool
	denial string           // what the model reads instead of a result; empty: the tool may run
	wrong  bool             // the input is not one of the tool, so nothing was decided
	extra  []string         // additional text for the model
	pre    hooks.Outcome    // of the PreToolUse hooks
}

// guard checks a call and decides whether its tool may run, by PreToolUse hooks and permission. The
// hooks may change the input of call.
func (run *agentRun) guard(ctx context.Context, call *agent.ToolCall) guarded {
	tl, err := run.tool(ctx, call.Name)
	denied := func(format string, args ...any) guarded {
		return guarded{tool: tl, denial: fmt.Sprintf(format, args...)}
	}
	switch {
	case ctx.Err() != nil:
		return denied(transcript.InterruptedResult)
	case err != nil:
		return denied("<tool_use_error>Error: %s cannot be used now: %v</tool_use_error>", call.Name, err)
	case tl == nil:
		return denied("<tool_use_error>Error: No such tool available: %[1]s. %[1]s is not among the tools "+
			"available here. Continue with the tools you have.</tool_use_error>", call.Name)
	}
	if err := tl.Prepare(call, run.u.t.opts.Workdir.Dir()); err != nil {
		return guarded{tool: tl, denial: permission.Invalid(call.Name, err), wrong: true}
	}
	pre, err := run.u.at.fire(ctx, hooks.PreToolUseInput{
		ToolName: call.Name, ToolInput: call.Input, ToolUseID: call.ID, MCPServer: tl.Server(),
	})
	switch {
	case ctx.Err() != nil:
		return denied(transcript.InterruptedResult)
	case err != nil: // the hooks that guard the call have not run
		run.u.at.warn("PreToolUse hook failed, so %s was not run: %v", call.Name, err)
		return denied("The hooks that guard %s could not run, so it was not run.", call.Name)
	}
	run.u.at.reportFeedback(pre)
	if run.deferral(pre, call) {
		return denied("%s", deferredText)
	}
	g := guarded{tool: tl, pre: pre}
	if pre.UpdatedInput != nil {
		call.Input = pre.UpdatedInput
		if err := tl.Prepare(call, run.u.t.opts.Workdir.Dir()); err != nil {
			g.denial = permission.Invalid(call.Name, fmt.Errorf("a PreToolUse hook changed it: %w", err))
			return g
		}
	}
	l := permitter{run.u.at}.permit(ctx, tl, call, pre)
	g.denial, g.extra = l.denial, l.extra
	return g
}

// tool returns the tool of a call, or nil. It waits for one that is not there yet.
func (run *agentRun) tool(ctx context.Context, name string) (*permission.Tool, error) {
	tools, o := &run.u.t.tools, &run.u.t.opts
	if tl := tools.Named(name); tl != nil || o.Await == nil || o.Others == nil {
		return tl, nil
	}
	if err := o.Await(ctx, name); err != nil {
		return nil, err
	}
	tools.Replace(o.Others(ctx))
	return tools.Named(name), nil
}

// settled is the context key of a tool call that a hook has settled.
type settled struct{}

// markSettled marks ctx as settled if PreToolUse hooks have allowed the call with an input.
func markSettled(ctx context.Context, pre hooks.Outcome) context.Context {
	if permission.Behavior(pre.Permission.Decision) != permission.Allow || pre.UpdatedInput == nil {
		return ctx
	}
	return context.WithValue(ctx, settled{}, true)
}

// SettledByHook reports, to the tool whose call has this context, whether a PreToolUse hook
// has allowed the call and supplied its input. Tools that ask people something take that
// as the answer. A hook that allows a call without an input does not settle it, because it
// may allow everything (HOOKS.md 5.10).
func SettledByHook(ctx context.Context) bool { return ctx.Value(settled{}) != nil }

// execute starts the tool. When it has ended, the hooks run that see its result.
func (run *agentRun) execute(ctx context.Context, tl *permission.Tool, call agent.ToolCall) waiting {
	if ctx.Err() != nil {
		return unused(transcript.InterruptedResult)
	}
	began, dir := time.Now(), run.u.t.opts.Workdir.Dir()
	called, release := run.u.t.cut.begin(ctx)
	var r agent.ToolResult
	var took int64
	// The goroutine ends with the tool, which must return soon after ctx has ended. Whoever
	// called use calls the returned function and waits for it there, so no tool outlives
	// its turn.
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer release()
		if wasCut(ctx, called) { // before it began
			r = agent.Failed("%s The call was not made.", agent.CutShort)
			return
		}
		if r = run.runToolSafely(called, tl, call); wasCut(ctx, called) {
			r = cutResult(r)
		}
		took = time.Since(began).Milliseconds()
	}()
	return func() (agent.ToolResult, []agent.Input) {
		<-ended
		after := afterCall(madeCall{call, tl.Server(), took}, r, ctx.Err() != nil)
		ctx, cancel := lastingContext(ctx)
		defer cancel()
		run.u.at.moved(ctx, dir)
		if !r.IsError {
			r.Extra = append(r.Extra, run.u.at.nested(ctx, tl, call)...)
		}
		out, ok := run.u.at.try(ctx, after)
		if !ok {
			return r, nil
		}
		run.u.at.reportFeedback(out)
		run.u.at.replace(&r, tl, out)
		return r, hookInputs(out)
	}
}

// madeCall is a call whose tool has run.
type madeCall struct {
	agent.ToolCall
	server *hooks.MCPServer
	tookMS int64
}

// afterCall returns the input of the hooks that run after a call.
func afterCall(call madeCall, r agent.ToolResult, interrupted bool) hooks.Payload {
	if r.IsError {
		return hooks.PostToolUseFailureInput{
			ToolName: call.Name, ToolInput: call.Input, ToolUseID: call.ID,
			Error: texts.Middle(r.Content, maxFailure), IsInterrupt: interrupted,
			DurationMS: call.tookMS, MCPServer: call.server,
		}
	}
	return hooks.PostToolUseInput{
		ToolName: call.Name, ToolInput: call.Input, ToolUseID: call.ID,
		ToolResponse: r.Output(), DurationMS: call.tookMS, MCPServer: call.server,
	}
}

// lastingContext returns ctx or, if it has ended, a context that lasts for shutdownLimit, so that
// hooks still run for what happened.
func lastingContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
}

// runToolSafely runs the tool and turns a panic into a result, so that a fault in one tool
// neither ends the team nor leaves a call without a result.
func (run *agentRun) runToolSafely(ctx context.Context, tl *permission.Tool, call agent.ToolCall) (r agent.ToolResult) {
	defer func() {
		if p := recover(); p != nil {
			run.u.at.warn("tool %s panicked: %v", call.Name, p)
			r = agent.Failed("<tool_use_error>Error: internal error in %s: %v</tool_use_error>", call.Name, p)
		}
	}()
	if err := run.syncCall(tl); err != nil {
		return agent.Failed("%s was not run, because its call could not be written to the disk: %v", call.Name, err)
	}
	return run.delegate(ctx, tl, call)
}

// syncCall syncs the transcript before a tool that changes the team takes effect.
// Otherwise a power cut could keep the effect and lose the call, and the member would
// repeat it under an id without a receipt.
func (run *agentRun) syncCall(tl *permission.Tool) error {
	if !tl.Spec.Team || tl.Spec.ReadOnly {
		return nil
	}
	return run.u.t.opts.Transcript.Sync()
}

// reportFeedback reports to the journal what the hooks of a tool call said to the model, and
// records a continue:false. That ends the turn once the agent's calls are done; it does
// not deny the call (golden, pre_continue_false).
func (s *hookContext) reportFeedback(out hooks.Outcome) {
	for _, text := range out.Feedback {
		s.emit(events.HookFeedback{Event: string(out.Event), ToolUseID: out.ToolUseID, Text: text, Path: "tool"})
	}
	if out.Decision == hooks.Halt {
		s.halt(out.Event, out)
	}
}

// replace substitutes the response that a PostToolUse hook supplies for the tool's own,
// if the tool can render it.
func (s *hookContext) replace(r *agent.ToolResult, tl *permission.Tool, out hooks.Outcome) {
	if r.IsError {
		return
	}
	updated, ok := out.Output["updatedToolOutput"]
	if !ok && tl.Spec.Server != "" { // older hooks replace the content blocks of MCP tools
		updated, ok = out.Output["updatedMCPToolOutput"]
	}
	if !ok {
		return
	}
	renderer, ok := tl.Runner.(agent.Renderer)
	if !ok {
		s.warn("updatedToolOutput of a PostToolUse hook was ignored: %s cannot show it", tl.Spec.Name)
		return
	}
	shown, err := renderer.Render(updated)
	if err != nil {
		s.warn("updatedToolOutput of a PostToolUse hook was ignored: %v", err)
		return
	}
	r.Content, r.Images, r.Response = shown.Content, shown.Images, updated
}

// maxFailure is how many characters of an error PostToolUseFailure hooks get.
const maxFailure = 10_000
