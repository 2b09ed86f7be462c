package launch

import (
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/teammate/acp"
)

// qwen is Qwen Code, a fork of Gemini CLI.
func qwen() preset {
	return preset{
		name: configs.Qwen,
		programs: []program{{
			bin: "qwen", args: []string{"--acp", "--approval-mode", "default"}, kind: configs.ACP,
			env: []string{
				"QWEN_CODE_NO_RELAUNCH=true",
				"QWEN_CODE_LEGACY_MCP_BLOCKING=1", // else it sends its first prompt before it knows the team tools
				"NO_BROWSER=1",
			},
			quirks: acp.Quirks{Usage: acp.UsageChunks, ReopenAfterCancel: true},
			// Without this, commands that it considers harmless run without asking.
			writeSettings: func(o *offer) error {
				return qwenSettings(o, object{"permissions": object{"ask": []string{"Bash", "Edit", "Write",
					"WebFetch", "mcp__*"}}})
			},
			nativeHooksOff: func(o *offer) error {
				return qwenSettings(o, object{"disableAllHooks": true})
			},
			sandboxOff: func(o *offer) error {
				o.set("QWEN_SANDBOX", "false")
				return nil
			},
			offline: qwenOffline,
			gateway: func(o *offer, url, token string) error {
				o.set("OPENAI_API_KEY", token)
				o.set("OPENAI_BASE_URL", url+"/v1")
				return nil
			},
			honours: Honours{
				Gates: Enforced, Cancel: Enforced, Steer: Absent, Resume: Enforced, System: Advisory, Usage: Enforced,
				Native: Enforced, Tools: asks("Bash", "Edit", "Write", "WebFetch", mcpTools),
				MCP: "http", Version: "qwen-code 0.24.4", Date: "2026-11",
			},
		}},
		keyVars: []string{"OPENAI_API_KEY", "DASHSCOPE_API_KEY"}, vendors: []string{"openai"},
		logins: []userFile{{"QWEN_HOME", ".qwen", "oauth_creds.json"}},
		settings: userFiles("QWEN_HOME", ".qwen", "settings.json", "QWEN.md", ".env", "extensions", "commands", "skills", "agents",
			"installation_id"),
		hosts:   []string{"chat.qwen.ai", "portal.qwen.ai", "dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"},
		login:   "qwen",
		install: "npm i -g @qwen-code/qwen-code@latest", node: "22",
	}
}

// qwenSettings adds to the settings that override the user's own. Tool search would
// hide the team tools; suggestions for the user and memory cost requests that it does not report.
func qwenSettings(o *offer, more object) error {
	return o.patchFile("QWEN_CODE_SYSTEM_SETTINGS_PATH", "qwen-settings.json", more, object{
		"general": object{"disableAutoUpdate": true}, "telemetry": object{"enabled": false},
		"ui":     object{"enableFollowupSuggestions": false},
		"memory": object{"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
		"tools":  object{"approvalMode": "default", "toolSearch": object{"enabled": false}},
	})
}

// qwenOffline makes Qwen Code use a model server.
func qwenOffline(o *offer, url, key, home string) error {
	o.set("HOME", home)
	o.set("OPENAI_API_KEY", key)
	o.set("OPENAI_BASE_URL", url+"/v1")
	o.set("OPENAI_MODEL", "script")
	return patchJSON(home, ".qwen/settings.json", object{
		"security": object{"auth": object{"selectedType": "openai"}},
	})
}
