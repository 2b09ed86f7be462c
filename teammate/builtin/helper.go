package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin/tools"
	"github.com/coveyteam/covey/teammate/transcript"
)

// AgentTool is the name of the tool that lets a helper work.
const AgentTool = "Agent"

// GeneralPurpose is the helper that every member has.
const GeneralPurpose = "general-purpose"

// Helpers is what the tool Agent makes helpers of. Model is required.
type Helpers struct {
	// Types are the kinds of helpers beside general-purpose, by any of which that
	// name can be taken. It is asked with each call; nil: there are none.
	Types func() []HelperType
	// Model gives what answers a helper.
	Model func(HelperModel) (agent.Model, error)
	// System gives the system prompt of a helper; nil: its kind's own.
	System func(HelperType) string
	// May says which tools the member itself has; nil: all. A helper has no others.
	May func(tool string) bool
	// MaxPasses is how many model requests one helper may make; 0: 50.
	MaxPasses int
}

// defaultPasses is what agent hooks have in recorded hosts, too.
const defaultPasses = 50

// HelperModel says what a helper's model is to be.
type HelperModel struct {
	ID     string      // of the helper
	Prompt string      // its first one
	Name   string      // the model that the call or the kind of helper wants; empty: the member's
	Served map[int]int // of a helper that goes on: how often each step of its script has served
}

// HelperType is one kind of helper.
type HelperType struct {
	Name        string
	Description string   // when to use it, for the model that calls
	Prompt      string   // its instructions; may be empty
	Tools       []string // names; nil: all that the member has
	Model       string   // empty: the member's
	MaxPasses   int      // 0: as Helpers says
}

// agentInput is what a model asks of Agent.
type agentInput struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Type        string `json:"subagent_type,omitempty"`
	Model       string `json:"model,omitempty"`
	Background  bool   `json:"run_in_background,omitempty"`
}

// agentTool is the tool Agent. It is a teammate.Delegator.
type agentTool struct {
	*tools.Typed[agentInput]
	tools   *tools.Set
	helpers Helpers
}

// NewAgentTool returns the tool Agent, whose helpers work with tools like t, in
// a directory of their own.
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
	spec := agent.Spec{Name: AgentTool, Description: a.about(), Delegates: true}
	a.Typed = tools.NewTyped(spec, about, nil, func(context.Context, agentInput) agent.ToolResult {
		return agent.Failed(AgentTool + ": there is nobody here for whom a helper could work.")
	})
	a.Shown = tools.Rendering(agentOutput.text)
	return a
}

// about describes the tool and the kinds of helpers to a model.
func (a *agentTool) about() string {
	var b strings.Builder
	b.WriteString("Lets a helper do a piece of work by itself: it has a conversation and tools of its own, and its last " +
		"message is the result. Use it for work whose many steps would only fill this conversation. Kinds of helpers:")
	for _, kind := range a.kinds() {
		fmt.Fprintf(&b, "\n- %s: %s", kind.Name, strings.Join(strings.Fields(kind.Description), " "))
	}
	return b.String()
}

// kinds are all kinds of helpers, general-purpose first.
func (a *agentTool) kinds() []HelperType {
	kinds := []HelperType{{Name: GeneralPurpose, Description: "any work, with all tools of this conversation's own"}}
	if a.helpers.Types == nil {
		return kinds
	}
	for _, kind := range a.helpers.Types() {
		if i := slices.IndexFunc(kinds, func(k HelperType) bool { return k.Name == kind.Name }); i >= 0 {
			kinds[i] = kind // a workspace may have a general-purpose helper of its own
			continue
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// kind finds a kind of helper; the error names those that there are.
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

// Delegate is teammate.Delegator's.
func (a *agentTool) Delegate(ctx context.Context, call agent.ToolCall, e teammate.Employer) agent.ToolResult {
	in, err := a.Read(call)
	if err != nil {
		return agent.Failed(fmt.Sprintf("%s: %v", AgentTool, err))
	}
	if strings.TrimSpace(in.Prompt) == "" {
		return agent.Failed(AgentTool + ": prompt is empty; write what the helper has to do, and all that it needs to know.")
	}
	kind, err := a.kind(in.Type)
	if err != nil {
		return agent.Failed(fmt.Sprintf("%s: %v.", AgentTool, err))
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
		return agent.Failed(trouble(help))
	}
	output := newAgentOutput(in, kind, help)
	return tools.Success(output.text(), output)
}

// equip makes what a helper works with.
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
	gear := teammate.HelperGear{Close: own.Close, MaxPasses: kind.MaxPasses}
	if gear.MaxPasses <= 0 {
		gear.MaxPasses = a.helpers.MaxPasses
	}
	var specs []agent.Spec
	for _, t := range own.List() {
		if a.may(kind, t.Spec().Name) {
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

// firstPrompt is what a helper was asked first; prompt, if it is new. What hooks
// gave it stands before that.
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

// may reports whether a helper has a tool: its member has it, and its kind does.
// Who has Bash can also read and end what it runs in the background.
func (a *agentTool) may(kind HelperType, tool string) bool {
	if a.helpers.May != nil && !a.helpers.May(tool) {
		return false
	}
	shell := tool == "BashOutput" || tool == "KillShell"
	return kind.Tools == nil || slices.Contains(kind.Tools, tool) || shell && slices.Contains(kind.Tools, "Bash")
}
