package members

import (
	"cmp"
	"path/filepath"

	"github.com/coveyteam/covey/configs"
)

// AgentTitle returns the kind of an agent and its program or vendor, such as
// "acp/codex".
func AgentTitle(a configs.Agent) string {
	what := string(a.Model.Provider)
	switch a.Kind {
	case configs.ACP, configs.Command:
		what = ProgramName(a)
	case configs.Given:
		what = a.Name
	}
	return string(a.Kind) + "/" + what
}

// AgentName returns the name of an agent for people: its own, or its title.
func AgentName(a configs.Agent) string { return cmp.Or(a.Name, AgentTitle(a)) }

// ProgramName returns the preset of an agent program, or the file name of its command.
func ProgramName(a configs.Agent) string {
	if a.Preset == "" && len(a.Command) > 0 {
		return filepath.Base(a.Command[0])
	}
	return string(a.Preset)
}
