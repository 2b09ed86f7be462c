package launch

import (
	"errors"
	"path/filepath"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/teammate/acp"
)

// gemini is Google's Gemini CLI.
func gemini() preset {
	return preset{
		name: configs.Gemini,
		programs: []program{{
			bin: "gemini", args: []string{"--acp", "--approval-mode", "default"}, kind: configs.ACP,
			env: []string{
				"GEMINI_CLI_TRUST_WORKSPACE=true",
				"GEMINI_CLI_NO_RELAUNCH=true", // one process, so that signals reach it
				"GEMINI_TELEMETRY_ENABLED=false",
				"NO_BROWSER=true",
			},
			quirks: acp.Quirks{Usage: acp.UsageQuota, LoadAfterMinute: true, TitleCommand: true},
			writeSettings: func(o *offer) error {
				// Over ACP it ignores the setting of this name; the argument works.
				policy := filepath.Join(o.dir, "gemini-policy.toml")
				o.args = append(o.args, "--admin-policy", policy)
				return errors.Join(writePrivate(o.dir, filepath.Base(policy), []byte(geminiPolicy)), geminiSettings(o, object{}))
			},
			nativeHooksOff: func(o *offer) error {
				return geminiSettings(o, object{"hooksConfig": object{"enabled": false}})
			},
			sandboxOff: func(o *offer) error {
				o.set("GEMINI_SANDBOX", "false")
				return nil
			},
			offline: geminiOffline,
			gateway: func(o *offer, url, token string) error {
				o.set("GEMINI_API_KEY", token)
				o.set("GOOGLE_GEMINI_BASE_URL", url)
				o.set("GEMINI_DEFAULT_AUTH_TYPE", "gemini-api-key")
				return geminiSettings(o, object{"security": object{"auth": object{"selectedType": "gemini-api-key"}}})
			},
			// The settings that override the user's apply only if they and all folders
			// above them belong to root. For other users a session is lost with the
			// second restart, and the user's own hooks run. The policy always applies.
			honours: Honours{
				Gates: Enforced, Cancel: Enforced, Steer: Absent, Resume: Advisory, System: Advisory, Usage: Enforced,
				Native: Advisory, Tools: asks("Bash", "Edit", "Write", "WebFetch", mcpTools),
				MCP: "http", Version: "gemini-cli 0.61.0", Date: "2026-11",
			},
		}},
		keyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, vendors: []string{"google"},
		logins: []userFile{
			{"GEMINI_CLI_HOME", "", ".gemini/oauth_creds.json"},
			{"GEMINI_CLI_HOME", "", ".gemini/gemini-credentials.json"},
		},
		settings: userFiles("GEMINI_CLI_HOME", "", ".gemini/settings.json", ".gemini/GEMINI.md", ".gemini/.env", ".gemini/extensions",
			".gemini/commands", ".gemini/skills", ".gemini/policies", ".gemini/trustedFolders.json", ".gemini/google_accounts.json",
			".gemini/installation_id"),
		hosts: []string{"generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com", "www.googleapis.com",
			"accounts.google.com"},
		login:   "gemini",
		install: "npm i -g @google/gemini-cli@latest", node: "20",
	}
}

// geminiPolicy makes Gemini CLI ask before it changes anything. A pattern for arguments
// keeps it from allowing commands that it considers harmless; the last rule, which
// matches commands as well, must come after that.
const geminiPolicy = `[[rule]]
toolName = "run_shell_command"
argsPattern = "."
decision = "ask_user"
priority = 999

[[rule]]
toolName = ["write_file", "replace", "web_fetch", "google_web_search"]
decision = "ask_user"
priority = 999

[[rule]]
toolName = "*"
mcpName = "*"
decision = "ask_user"
priority = 998
`

// geminiSettings adds to the settings that override the user's own. Without the first
// of them, a start after session/load deletes the session.
func geminiSettings(o *offer, more object) error {
	return o.patchFile("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "gemini-settings.json", more, object{
		"general": object{
			"sessionRetention": object{"enabled": false}, "disableAutoUpdate": true, "enableAutoUpdate": false,
		},
		"privacy":   object{"usageStatisticsEnabled": false},
		"telemetry": object{"enabled": false},
	})
}

// geminiOffline makes Gemini CLI use a model server.
func geminiOffline(o *offer, url, key, home string) error {
	o.set("HOME", home)
	o.set("GEMINI_CLI_HOME", home)
	o.set("GEMINI_API_KEY", key)
	o.set("GOOGLE_GEMINI_BASE_URL", url)
	o.args = append(o.args, "-m", "gemini-2.5-flash") // it calls a model of another name first
	return patchJSON(home, ".gemini/settings.json", object{
		"security": object{"auth": object{"selectedType": "gemini-api-key"}},
		"general": object{
			"maxAttempts":      3, // show errors of the script instead of retrying for minutes
			"sessionRetention": object{"enabled": false},
		},
	})
}
