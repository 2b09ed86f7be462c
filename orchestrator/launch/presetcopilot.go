package launch

import (
	"path/filepath"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/teammate/acp"
)

// copilot is GitHub's Copilot CLI.
func copilot() preset {
	return preset{
		name: configs.Copilot,
		programs: []program{{
			bin: "copilot", args: []string{"--acp"}, kind: configs.ACP,
			// An update in the middle of a run would replace the version that
			// the table below was measured with.
			env: []configs.EnvVar{{Name: "COPILOT_AUTO_UPDATE", Value: "false"}},
			// It counts from the beginning of its process; taken for a turn's
			// own use, each turn would be charged for all before it.
			quirks:  acp.Quirks{Usage: acp.UsageCumulative},
			offline: copilotOffline,
			honours: Honours{
				Gates: Enforced, Cancel: Enforced, Steer: Absent, Resume: Enforced, System: Advisory, Usage: Enforced,
				Native: Absent, Tools: asks(mcpTools), // the others were not tried with commands that it may take for harmless
				MCP: "http", Version: "copilot 1.0.102", Date: "2026-11",
			},
		}},
		// In the order in which the program itself looks for them.
		keyVars: []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"},
		pass:    []string{"COPILOT_HOME"},
		login:   "copilot login",
		install: "npm i -g @github/copilot",
	}
}

// copilotOffline lets Copilot CLI think with a model server.
func copilotOffline(o *offer, url, key, home string) error {
	o.set("HOME", home)
	o.set("COPILOT_HOME", filepath.Join(home, ".copilot"))
	o.set("COPILOT_OFFLINE", "true")
	o.set("COPILOT_PROVIDER_BASE_URL", url+"/v1")
	o.set("COPILOT_PROVIDER_TYPE", "openai")
	o.set("COPILOT_PROVIDER_API_KEY", key)
	o.set("COPILOT_MODEL", "script")
	return nil
}
