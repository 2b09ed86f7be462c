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
			// An update during a run would replace the version that was measured.
			env: []string{"COPILOT_AUTO_UPDATE=false"},
			// It counts usage from the start of its process; counted per turn, each
			// turn would include all earlier ones.
			quirks:  acp.Quirks{Usage: acp.UsageCumulative},
			offline: copilotOffline,
			gateway: func(o *offer, url, token string) error {
				o.set("COPILOT_PROVIDER_BASE_URL", url+"/v1")
				o.set("COPILOT_PROVIDER_API_KEY", token)
				return nil
			},
			honours: Honours{
				Gates: Enforced, Cancel: Enforced, Steer: Absent, Resume: Enforced, System: Advisory, Usage: Enforced,
				Native: Absent, Tools: asks(mcpTools), // the others were not measured with commands that it may consider harmless
				MCP: "http", Version: "copilot 1.0.102", Date: "2026-11",
			},
		}},
		// The order in which the program reads them.
		keyVars: []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"}, vendors: []string{"copilot"},
		// config.json has the login where there is no keychain.
		settings: userFiles("COPILOT_HOME", ".copilot", "config.json", "settings.json", "mcp-config.json", "lsp-config.json",
			"copilot-instructions.md", "agents", "skills", "instructions"),
		hosts:   []string{"api.github.com", "github.com", "*.githubcopilot.com"},
		login:   "copilot login",
		install: "npm i -g @github/copilot@latest",
	}
}

// copilotOffline makes Copilot CLI use a model server.
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
