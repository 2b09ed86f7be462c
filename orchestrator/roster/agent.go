package roster

import (
	"cmp"
	"path/filepath"

	"github.com/coveyteam/covey/configs"
)

// AgentTitle names what an agent is, for people: its kind and its program or
// vendor, such as "acp/codex".
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

// AgentName is the name by which people know an agent.
func AgentName(a configs.Agent) string { return cmp.Or(a.Name, AgentTitle(a)) }

// ProgramName is the preset of an agent program, or the file name of its command.
func ProgramName(a configs.Agent) string {
	if a.Preset == "" && len(a.Command) > 0 {
		return filepath.Base(a.Command[0])
	}
	return string(a.Preset)
}
