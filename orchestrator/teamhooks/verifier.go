package teamhooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin"
	"github.com/coveyteam/covey/teammate/builtin/tools"
	"github.com/coveyteam/covey/teammate/workspace"
)

// VerifierTools returns the tools of agent hooks, which only read. A command runs only if a
// rule or the member's mode allows it without asking.
func VerifierTools() []string { return []string{"Read", "Grep", "Glob", "Bash"} }

// verifier is the host of an agent hook's agent. Its conversation is separate and is not
// stored. The member's hooks and permissions apply to its calls.
type verifier struct {
	member Member
	dir    *workspace.Workdir
	tools  []agent.Tool
	asked  *events.ModelAsked
	answer string // the input of AnswerTool; empty: it has not been called
}

// verify runs an agent that answers an agent hook.
func (m *Models) verify(
	ctx context.Context, who answerer, q runner.Question, asked *events.ModelAsked,
) (text string, err error) {
	member := who.member.Spec
	dir := workspace.NewWorkdir(member.Dir)
	dir.Move(q.Input.Cwd)
	id := "hook_" + uuid.NewString()
	output := filepath.Join(m.Scratch, id)
	// A set of its own: it remembers which files were read, and that must not count for the
	// member.
	set := tools.New(tools.Env{
		Workdir:   dir,
		Environ:   append(slices.Clone(m.Environ), "COVEY_MEMBER="+member.Name),
		OutputDir: output,
		Started:   func(pid int) func() { return m.Started(pid, member.Name) },
	})
	defer func() { err = errors.Join(err, set.Close(), os.RemoveAll(output)) }()
	v := &verifier{member: who.member, dir: dir, asked: asked, tools: []agent.Tool{answerTool{}}}
	for _, t := range set.List() {
		name := t.Spec().Name
		if slices.Contains(VerifierTools(), name) && members.MayUse(member.Tools, name) {
			v.tools = append(v.tools, t)
		}
	}
	judge, err := builtin.New(builtin.Options{
		Model:  who.mind(id + "_"),
		System: func() string { return q.System },
		Tools:  v.specs(),
	})
	if err != nil {
		return "", err
	}
	return v.talk(ctx, judge, q.Text)
}

// talk runs the agent until it answers, and reminds it once that it must answer.
func (v *verifier) talk(ctx context.Context, judge agent.Agent, prompt string) (string, error) {
	for _, text := range []string{prompt, runner.AnswerReminder} {
		_, err := judge.Run(ctx, []agent.Input{{Kind: agent.FromCaller, Text: text}}, v)
		switch {
		case v.answer != "":
			return v.answer, nil
		case errors.Is(err, agent.ErrMaxTurns):
			return "", fmt.Errorf("the hook's agent has not answered in %d model requests", runner.AgentPasses)
		case err != nil:
			return "", err
		}
	}
	return "", fmt.Errorf("the hook's agent has fallen silent without a call of %s", runner.AnswerTool)
}

// specs describes the verifier's tools to the model. The member's tools are not among them.
func (v *verifier) specs() []agent.Spec {
	specs := make([]agent.Spec, len(v.tools))
	for i, t := range v.tools {
		specs[i] = t.Spec()
	}
	return specs
}

// Pass implements agent.Host.
func (v *verifier) Pass(ctx context.Context) ([]agent.Input, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if v.asked.Passes >= runner.AgentPasses {
		return nil, agent.ErrMaxTurns
	}
	v.asked.Passes++
	return nil, nil
}

// Record implements agent.Host. It stores no transcript, only the usage.
func (v *verifier) Record(r agent.Record) error {
	v.asked.Usage = v.asked.Usage.Plus(r.Usage)
	return nil
}

// Call implements agent.Host.
func (v *verifier) Call(ctx context.Context, call agent.ToolCall) agent.ToolResult {
	if call.Name == runner.AnswerTool {
		return v.answered(call)
	}
	i := slices.IndexFunc(v.tools, func(t agent.Tool) bool { return t.Spec().Name == call.Name })
	if i < 0 {
		return failed(fmt.Errorf("there is no tool %s here; continue with the tools you have", call.Name))
	}
	tool := v.tools[i]
	// The guards of the member's calls apply here as well. Hooks see paths in their normal form.
	// A call whose input a hook would change does not run.
	if denial := v.member.Permissions().Permits(tool, &call, v.dir, hooks.Outcome{Decision: hooks.Pass}); denial != "" {
		return failed(errors.New(denial))
	}
	before, err := v.member.Fire(ctx, hooks.PreToolUseInput{
		ToolName: call.Name, ToolInput: call.Input, ToolUseID: call.ID,
	})
	switch {
	case ctx.Err() != nil:
		return failed(ctx.Err())
	case err != nil:
		return failed(fmt.Errorf("the hooks that guard %s could not run, so it was not run: %w", call.Name, err))
	case before.UpdatedInput != nil:
		return failed(fmt.Errorf("a hook wants another input for %s, which is not done here", call.Name))
	}
	if denial := v.member.Permissions().Permits(tool, &call, v.dir, before); denial != "" {
		return failed(errors.New(denial))
	}
	return agent.Contained(ctx, func(ctx context.Context) agent.ToolResult { return tool.Run(ctx, call) })
}

// failed returns a result that tells the model of an error.
func failed(err error) agent.ToolResult { return agent.ToolResult{Content: err.Error(), IsError: true} }

// answered stores the agent's answer, or tells the agent what is wrong with it.
func (v *verifier) answered(call agent.ToolCall) agent.ToolResult {
	if err := runner.CheckAnswer(string(call.Input)); err != nil {
		return failed(fmt.Errorf("%w: call %s again", err, runner.AnswerTool))
	}
	v.answer = string(call.Input)
	return agent.ToolResult{Content: "Answer taken.", Halted: "the hook's agent has answered"}
}

// answerTool describes the tool with which an agent hook's agent answers. The verifier itself
// carries it out.
type answerTool struct{}

// Spec implements agent.Tool.
func (answerTool) Spec() agent.Spec {
	return agent.Spec{
		Name: runner.AnswerTool, Schema: json.RawMessage(runner.AnswerSchema()), ReadOnly: true,
		Description: "Give your answer: whether the condition is met and, if not, why.",
	}
}

// Run implements agent.Tool.
func (answerTool) Run(context.Context, agent.ToolCall) agent.ToolResult {
	return agent.ToolResult{Content: "Answer taken."}
}
