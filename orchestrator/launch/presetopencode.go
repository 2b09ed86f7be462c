package launch

import (
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/teammate/acp"
)

// openCode is opencode, which works with models of many vendors.
func openCode() preset {
	return preset{
		name: configs.OpenCode,
		programs: []program{{
			bin: "opencode", args: []string{"acp"}, kind: configs.ACP,
			env: []string{
				"OPENCODE_DISABLE_AUTOUPDATE=1",
				"OPENCODE_DISABLE_LSP_DOWNLOAD=1",
			},
			quirks: acp.Quirks{Usage: acp.UsageLastCall},
			writeSettings: func(o *offer) error {
				if err := o.patchVariable("OPENCODE_PERMISSION", openCodeAsks()); err != nil {
					return err
				}
				return o.patchVariable(openCodeConfig, object{"autoupdate": false, "share": "disabled"})
			},
			offline: openCodeOffline, gateway: openCodeGateway,
			honours: Honours{
				Gates: Enforced, Cancel: Enforced, Steer: Absent, Resume: Enforced, System: Advisory, Usage: Advisory,
				Native: Absent, Tools: asks("Bash", "Edit", "Write", "WebFetch",
					mcpTools), MCP: "http", Version: "opencode 1.18.33", Date: "2026-11",
			},
		}},
		vendors:  []string{"anthropic", "openai", "google"},
		logins:   []userFile{{"XDG_DATA_HOME", ".local/share", "opencode/auth.json"}},
		settings: userFiles("XDG_CONFIG_HOME", ".config", "opencode"),
		login:    "opencode auth login",
		install:  "npm i -g opencode-ai@latest",
	}
}

// openCodeAsks makes opencode ask for all tools except those that only read or have no
// effect outside of the conversation. The last match counts, and entries are sorted by
// name.
func openCodeAsks() object {
	all := object{
		"*": "ask",
		// opencode's own rules for files that may hold secrets.
		"read": object{"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"},
	}
	for _, tool := range []string{"glob", "grep", "list", "lsp", "skill", "task", "todoread", "todowrite"} {
		all[tool] = "allow"
	}
	return all
}

// openCodeConfig is the configuration that overrides the user's own.
const openCodeConfig = "OPENCODE_CONFIG_CONTENT"

// openCodeOffline makes opencode use a model server.
func openCodeOffline(o *offer, url, key, home string) error {
	o.set("HOME", home)
	for _, folder := range [][2]string{
		{"XDG_DATA_HOME", "data"}, {"XDG_CONFIG_HOME", "config"}, {"XDG_CACHE_HOME", "cache"}, {"XDG_STATE_HOME", "state"},
	} {
		o.set(folder[0], home+"/"+folder[1])
	}
	o.set("OPENCODE_DISABLE_MODELS_FETCH", "1")
	o.set("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1") // they log in
	return o.patchVariable(openCodeConfig, object{
		"model": "covey/script", "small_model": "covey/script",
		"provider": object{"covey": object{
			"npm": "@ai-sdk/openai-compatible", "name": "covey",
			"options": object{"baseURL": url + "/v1", "apiKey": key},
			"models": object{"script": object{
				"name": "script", "tool_call": true, "limit": object{"context": 100_000, "output": 4000},
			}},
		}},
	})
}

// openCodeGateway makes opencode use the gateway for the models of all vendors that it can pass.
func openCodeGateway(o *offer, url, token string) error {
	at := func(path string) object { return object{"options": object{"baseURL": url + path, "apiKey": token}} }
	return o.patchVariable(openCodeConfig, object{
		"provider": object{"anthropic": at("/v1"), "openai": at("/v1"), "google": at("/v1beta")},
	})
}
