package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin/tools"
	"github.com/coveyteam/covey/teammate/transcript"
)

// AgentTool is the name of the tool that runs a helper.
const AgentTool = "Agent"

// GeneralPurpose is the helper that every member has.
const GeneralPurpose = "general-purpose"

// Helpers configures the helpers of the tool Agent. Model is required.
type Helpers struct {
	// Types returns the kinds of helpers in addition to general-purpose, and may
	// replace that one. It is called for each use of the tool; nil means none.
	Types func() []HelperType
	// Model returns the model of a helper.
	Model func(HelperModel) (agent.Model, error)
	// System returns the system prompt of a helper; nil means the prompt of its kind.
	System func(HelperType) string
	// May reports whether the member has a tool; nil means it has all. A helper has no
	// others.
	May func(tool string) bool
	// MaxPasses is how many model requests one helper may make; 0 means 50.
	MaxPasses int
}

// defaultPasses is also the limit of agent hooks in recorded hosts.
const defaultPasses = 50

// HelperModel describes the model that a helper needs.
type HelperModel struct {
	ID     string      // the id of the helper
	Prompt string      // the first prompt of the helper
	Name   string      // the model that the call or the kind of helper names; empty means the member's
	Served map[int]int // for a helper that continues: how often each step of its script has served
}

// HelperType is one kind of helper.
type HelperType struct {
	Name        string
	Description string   // when to use it, for the model that calls
	Prompt      string   // its instructions; may be empty
	Tools       []string // names; nil means all tools of the member
	Model       string   // empty means the member's
	MaxPasses   int      // 0 means Helpers.MaxPasses
}

// agentInput is the input of Agent.
type agentInput struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Type        string `json:"subagent_type,omitempty"`
	Model       string `json:"model,omitempty"`
	Background  bool   `json:"run_in_background,omitempty"`
}

// agentTool is the tool Agent. It implements teammate.Delegator.
type agentTool struct {
	*tools.Typed[agentInput]
	tools   *tools.Set
	helpers Helpers
}

// NewAgentTool returns the tool Agent. Its helpers have tools like t, with a
// directory of their own.
func NewAgentTool(t *tools.Set, h Helpers) agent.Tool {
	if h.MaxPasses <= 0 {
		h.MaxPasses = defaultPasses
	}
	a := &agentTool{tools: t, helpers: h}
	about := map[string]string{
		"description": "What the helper does, in three to five words, for people who watch",
		"prompt": "All that the helper needs to know: it sees nothing of this conversation, and nobody answers " +
			"its questions",
		"subagent_type":     "The kind of helper; " + GeneralPurpose + " unless given",
		"model":             "The model to think with; that of this conversation unless given",
		"run_in_background": "Do not wait for the helper; what it comes to is told later",
	}
	spec := agent.Spec{Name: AgentTool, Description: a.description(), Delegates: true}
	a.Typed = tools.NewTyped(spec, about, nil, func(context.Context, agentInput) agent.ToolResult {
		return agent.Failed(AgentTool + ": there is nobody here for whom a helper could work.")
	})
	a.Shown = tools.Rendering(agentOutput.text)
	return a
}

// description describes the tool and the kinds of helpers for a model.
func (a *agentTool) description() string {
	var b strings.Builder
	b.WriteString("Lets a helper do a piece of work by itself: it has a conversation and tools of its own, and its last " +
		"message is the result. Use it for work whose many steps would only fill this conversation. Kinds of helpers:")
	for _, kind := range a.kinds() {
		fmt.Fprintf(&b, "\n- %s: %s", kind.Name, strings.Join(strings.Fields(kind.Description), " "))
	}
	return b.String()
}

// kinds returns all kinds of helpers, general-purpose first.
func (a *agentTool) kinds() []HelperType {
	kinds := []HelperType{{Name: GeneralPurpose, Description: "any work, with all tools of this conversation's own"}}
	if a.helpers.Types == nil {
		return kinds
	}
	for _, kind := range a.helpers.Types() {
		if i := slices.IndexFunc(kinds, func(k HelperType) bool { return k.Name == kind.Name }); i >= 0 {
			kinds[i] = kind // a workspace may define its own general-purpose helper
			continue
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// kind returns the kind of helper with the given name; the error lists all kinds.
func (a *agentTool) kind(name string) (HelperType, error) {
	if name == "" {
		name = GeneralPurpose
	}
	var names []string
	for _, kind := range a.kinds() {
		if kind.Name == name {
			return kind, nil
		}
		names = append(names, kind.Name)
	}
	return HelperType{}, fmt.Errorf("there is no helper of type %q; there are %s", name, strings.Join(names, ", "))
}

// Delegate implements teammate.Delegator.
func (a *agentTool) Delegate(ctx context.Context, call agent.ToolCall, e teammate.Employer) agent.ToolResult {
	in, err := a.Read(call)
	if err != nil {
		return agent.Failed("%s: %v", AgentTool, err)
	}
	if strings.TrimSpace(in.Prompt) == "" {
		return agent.Failed(AgentTool + ": prompt is empty; write what the helper has to do, and all that it needs to know.")
	}
	kind, err := a.kind(in.Type)
	if err != nil {
		return agent.Failed("%s: %v.", AgentTool, err)
	}
	h := teammate.Helper{
		Call: call.ID, Type: kind.Name, Description: in.Description, Prompt: in.Prompt,
		Equip: func(s teammate.HelperSetting) (teammate.HelperGear, error) { return a.equip(s, kind, in) },
	}
	if in.Background {
		h.Done = func(help teammate.Help) string { return notification(in, call.ID, help) }
	}
	help := e.Help(ctx, h)
	switch {
	case help.Background:
		return launched(in, help)
	case help.Problem != "":
		return agent.Failed("%s", failureText(help))
	}
	output := newAgentOutput(in, kind, help)
	return tools.Success(output.text(), output)
}

// equip returns the agent and the tools of a helper.
func (a *agentTool) equip(
	s teammate.HelperSetting, kind HelperType, in agentInput,
) (teammate.HelperGear, error) {
	model := in.Model
	if model == "" {
		model = kind.Model
	}
	thinker, err := a.helpers.Model(HelperModel{
		ID: s.ID, Prompt: firstPrompt(s.Past, in.Prompt), Name: model, Served: s.Past.Steps,
	})
	if err != nil {
		return teammate.HelperGear{}, err
	}
	own := a.tools.ForHelper(s.Dir, s.ID)
	gear := teammate.HelperGear{
		Close: own.Close, MaxPasses: kind.MaxPasses,
		May: func(tool string) bool { return a.allows(kind, tool) },
	}
	if gear.MaxPasses <= 0 {
		gear.MaxPasses = a.helpers.MaxPasses
	}
	var specs []agent.Spec
	for _, t := range own.List() {
		if a.allows(kind, t.Spec().Name) {
			gear.Tools, specs = append(gear.Tools, t), append(specs, t.Spec())
		}
	}
	system := func() string { return kind.Prompt }
	if a.helpers.System != nil {
		system = func() string { return a.helpers.System(kind) }
	}
	gear.Agent, err = New(Options{Model: thinker, System: system, Tools: specs, History: s.Past.Messages})
	return gear, err
}

// firstPrompt returns the first prompt of a helper, or prompt if the helper is new.
// Texts of hooks come before the prompt in its message.
func firstPrompt(past transcript.History, prompt string) string {
	for _, m := range past.Messages {
		for _, b := range slices.Backward(m.Content) {
			if m.Role == agent.User && b.Type == agent.TextBlock {
				return b.Text
			}
		}
	}
	return prompt
}

// allows reports whether a helper has a tool: both its member and its kind must
// have it. A kind with Bash also has the tools for background commands.
func (a *agentTool) allows(kind HelperType, tool string) bool {
	if a.helpers.May != nil && !a.helpers.May(tool) {
		return false
	}
	shell := tool == "BashOutput" || tool == "KillShell"
	return kind.Tools == nil || rules.Lists(kind.Tools, tool) || shell && slices.Contains(kind.Tools, "Bash")
}
