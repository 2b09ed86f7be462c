package orchestrator

import (
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin"
	"github.com/coveyteam/covey/teammate/builtin/tools"
	"github.com/coveyteam/covey/teammate/script"
)

// withHelpers adds the tool Agent to a member's tools, if its spec has it. Agents of the
// program bring their own helpers, if any.
func (h *seatBuilder) withHelpers(s *crew.Seat, workspace *tools.Set, team []agent.Tool) []agent.Tool {
	if s.Member.CurrentAgent().Kind != configs.Builtin || !members.MayUse(s.Member.Tools, builtin.AgentTool) {
		return team
	}
	agentTool := builtin.NewAgentTool(workspace, builtin.Helpers{
		Types: func() []builtin.HelperType { return helperTypes(h.o.team().Helpers()) },
		Model: func(of builtin.HelperModel) (agent.Model, error) { return h.helperModel(s, of) },
		System: func(kind builtin.HelperType) string {
			return helperPrompt(s.Member.Dir, *s.Member.Member, kind)
		},
		May:       func(tool string) bool { return members.MayUse(s.Member.Tools, tool) },
		MaxPasses: s.Member.Limits.MaxTurns,
	})
	tools := []agent.Tool{agentTool}
	for _, t := range team {
		if t.Spec().Name == "SendMessage" {
			t = builtin.ForHelpers(t, agentTool)
		}
		tools = append(tools, t)
	}
	return tools
}

// helperTypes returns the kinds of helpers that a workspace describes.
func helperTypes(files []settings.Helper) []builtin.HelperType {
	kinds := make([]builtin.HelperType, len(files))
	for i, f := range files {
		kinds[i] = builtin.HelperType{
			Name: f.Name, Description: f.Description, Prompt: f.Prompt, Tools: f.Tools, Model: f.Model,
			MaxPasses: f.MaxTurns,
		}
	}
	return kinds
}

// helperModel returns the model for a member's helper: the real model of the spec that the
// helper names, or the member's. Of a script it is the part for such a prompt, which each
// helper plays from the beginning.
func (h *seatBuilder) helperModel(s *crew.Seat, of builtin.HelperModel) (agent.Model, error) {
	// A name that is not that of a real model, such as the name of a script's, is ignored,
	// and the helper gets the member's model.
	spec := s.Member.CurrentAgent().Model
	if named := h.o.team().Models[of.Name]; named.BaseURL != "" {
		spec = named
	}
	lane, err := h.lane(s.Member)
	if err != nil {
		return nil, err
	}
	if spec.BaseURL != "" {
		return launch.NewModel(spec, h.o.prices(), lane, h.Programs.GateOf(s.Member, spec))
	}
	path := spec.Script
	played := h.o.scripts()[path]
	if played == nil {
		return nil, fmt.Errorf("%w: agent %q has no model", configs.ErrSpec, s.Member.CurrentAgent().Name)
	}
	own, ok := played.Helper(of.Prompt)
	if !ok {
		return nil, fmt.Errorf("script %s has no helper whose `when` is found in this prompt; add one under `helpers:`",
			path)
	}
	return lane.Model(own.Model(&script.Options{IDPrefix: s.Member.Name + "_" + of.ID + "_", Served: of.Served,
		Name: spec.FullName(), Window: h.o.prices().Window(spec.FullName())})), nil
}

// helperPrompt returns the system prompt of a helper.
func helperPrompt(workspace string, m configs.Member, kind builtin.HelperType) string {
	text := fmt.Sprintf("You are a helper (%s) of %s, a member of a team of agents. You work in %s. Do what the prompt "+
		"says and nothing beyond it. Nobody answers questions: where something is unclear, decide, and say what you "+
		"decided. When you call no more tools, your last message goes to %[2]s as your result, so put into it "+
		"all that it needs to know.", kind.Name, m.Name, workspace)
	if kind.Prompt != "" {
		text += "\n\n" + kind.Prompt
	}
	return text
}
