package orchestrator

import (
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/teamtools"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/workspace"
)

// surroundings are what members of a team share of the workspace around them.
type surroundings struct {
	files        *workspace.Watcher
	instructions *workspace.Instructions
}

// surroundingsOf reads the workspace's instructions once for all members.
func surroundingsOf(root string) surroundings {
	return surroundings{files: workspace.NewWatcher(), instructions: workspace.ReadInstructions(root)}
}

// instructionsOf are those of the folder that a member works in: on the branch of a working
// copy of its own they may be others than in the workspace.
func (r *rooms) instructionsOf(m *roster.Member) *workspace.Instructions {
	if _, own := r.work.Trees.Of(m.Name); own {
		return workspace.ReadInstructions(m.Dir)
	}
	return r.around.instructions
}

// surround adds to a member's options what it has of its surroundings. An agent that is a
// program reads instructions and commands by itself.
func (r *rooms) surround(opts *teammate.Options, m *roster.Member, instructions *workspace.Instructions) {
	opts.Files, opts.WatchNames = r.around.files, r.hooks.live.WatchNames
	if kind := m.CurrentAgent().Kind; kind == configs.ACP || kind == configs.Command {
		return
	}
	opts.Instructions = instructions
	workdir := opts.Workdir // and not opts, which would then live as long as the member
	opts.Commands = func(name string) (workspace.PromptCommand, bool) {
		return workspace.FindCommand(workdir.Root(), name)
	}
}

// systemPrompt is what covey says to every member's model.
func (h hiring) systemPrompt(m *roster.Member) string {
	team, trees := h.o.team(), h.r.work.Trees
	return teamtools.SystemPrompt(team, m, teamtools.Place{
		Here: trees.PlaceText(m, team.Workspace), Branches: trees.BranchesText(),
	})
}

// system is the system prompt of a member whose model covey asks itself.
func (h hiring) system(m *roster.Member, instructions *workspace.Instructions) string {
	text := h.systemPrompt(m)
	if more := instructions.Text(); more != "" {
		text += "\n" + more
	}
	return text
}
