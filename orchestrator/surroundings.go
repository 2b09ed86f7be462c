package orchestrator

import (
	"github.com/coveyteam/covey/configs"
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

// instructionsOf are those that covey shows a member; nil: its agent is a
// program, and reads such files by itself.
func (c *crew) instructionsOf(s *seat) *workspace.Instructions {
	if s.member.CurrentAgent().Kind == configs.ACP || s.member.CurrentAgent().Kind == configs.Command {
		return nil
	}
	if _, own := c.work.trees.Of(s.member.Name); own { // on its branch they may be others, and there they are its own to read
		return s.instructions
	}
	return c.around.instructions
}

// surround adds to a member's options what it has of its surroundings. Who is
// in a working copy of its own has instructions of its own, too.
func (c *crew) surround(opts *teammate.Options, s *seat) {
	if _, own := c.work.trees.Of(s.member.Name); own {
		s.instructions = workspace.ReadInstructions(s.member.Dir)
	}
	opts.Instructions = c.instructionsOf(s)
	if opts.Instructions != nil { // a model that covey asks itself
		workdir := opts.Workdir // and not opts, which would then live as long as the member
		opts.Commands = func(name string) (workspace.PromptCommand, bool) {
			return workspace.FindCommand(workdir.Root(), name)
		}
	}
	opts.Files, opts.WatchNames = c.around.files, c.hooks.live.WatchNames
}

// systemPrompt is what covey says to every member's model.
func systemPrompt(team *configs.Team, s *seat) string {
	trees := s.crew.work.trees
	return teamtools.SystemPrompt(team, s.member, teamtools.Place{
		Here: trees.PlaceText(s.member, team.Workspace), Branches: trees.BranchesText(),
	})
}

// system is the system prompt of a member whose model covey asks itself.
func (h hiring) system(s *seat) string {
	text := systemPrompt(h.o.team(), s)
	if more := s.crew.instructionsOf(s).Text(); more != "" {
		text += "\n" + more
	}
	return text
}
