package orchestrator

import (
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/teammate"
)

// surroundings are what members of a team share of the workspace around them.
type surroundings struct {
	files        *teammate.Watcher
	instructions *teammate.Instructions
}

// surroundingsOf reads the workspace's instructions once for all members.
func surroundingsOf(workspace string) surroundings {
	return surroundings{files: teammate.NewWatcher(), instructions: teammate.ReadInstructions(workspace)}
}

// instructionsOf are those that covey shows a member; nil: its agent is a
// program, and reads such files by itself.
func (c *crew) instructionsOf(m configs.Member) *teammate.Instructions {
	if m.Agent.Kind == configs.ACP || m.Agent.Kind == configs.Command {
		return nil
	}
	return c.around.instructions
}

// surround adds to a member's options what it has of its surroundings. Who is
// in a folder of its own some day gets instructions and files of its own, too.
func (c *crew) surround(opts *teammate.Options, m configs.Member) {
	opts.Instructions = c.instructionsOf(m)
	if opts.Instructions != nil { // a model that covey asks itself
		opts.Commands = func(name string) (teammate.PromptCommand, bool) {
			return teammate.FindCommand(opts.Workdir.Root(), name)
		}
	}
	opts.Files, opts.WatchNames = c.around.files, c.live.watchNames
}

// system is the system prompt of a member whose model covey asks itself.
func (o *Orchestrator) system(s *seat) string {
	text := systemPrompt(o.team(), s.member, s.lead)
	if more := s.crew.instructionsOf(s.member).Text(); more != "" {
		text += "\n" + more
	}
	return text
}
