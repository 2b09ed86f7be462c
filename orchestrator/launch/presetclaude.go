package launch

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/acp"
	"github.com/coveyteam/covey/teammate/permission"
)

// claude is Claude Code, run by an adapter that speaks ACP or as one process a turn.
func claude() preset {
	env := []string{
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		// Give the model the team tools at once instead of behind a search.
		"ENABLE_TOOL_SEARCH=false",
		"NO_BROWSER=1",
		// By default it hides a model that refuses its requests for minutes; covey tries a
		// failed turn again by itself.
		"CLAUDE_CODE_MAX_RETRIES=4",
	}
	adapter := program{
		bin: "claude-agent-acp", pkg: "@agentclientprotocol/claude-agent-acp", since: "0.100",
		kind: configs.ACP, env: env,
		quirks: acp.Quirks{Usage: acp.UsagePerPrompt}, systemBy: acp.SystemMeta,
		// Since 0.101 it starts in a mode in which a model decides what may run,
		// instead of the member's rules.
		mode: "default",
		// Without this it does not ask about what the user has allowed permanently, or
		// what it considers harmless; an ask rule overrides both.
		writeSettings: func(o *offer) error {
			o.claudeSettings(object{"permissions": object{"ask": []string{
				"Bash", "Edit", "Write", "NotebookEdit", "Read", "Grep", "Glob", "WebFetch", "WebSearch",
			}}})
			return nil
		},
		nativeHooksOff: func(o *offer) error {
			o.claudeSettings(object{"disableAllHooks": true})
			return nil
		},
		sandboxOff: func(o *offer) error {
			o.claudeSettings(claudeNoSandbox())
			return nil
		},
		offline: claudeOffline, gateway: claudeGateway,
		honours: Honours{
			Gates: Enforced, Cancel: Enforced, Steer: Enforced, Resume: Enforced, System: Enforced, Usage: Enforced,
			Native: Enforced, Tools: asks("Bash", "Edit", "Write", "Read", "WebFetch", mcpTools),
			MCP: "http", Version: "claude-agent-acp 0.101.0", Date: "2026-11",
		},
	}
	// The first version that supports messages during a turn is not known: versions
	// between the measured ones count as old.
	older := adapter
	older.pkg, older.since = "", ""
	older.honours.Steer, older.honours.Version = Absent, "claude-agent-acp 0.49.0"
	former := older
	former.bin = "claude-code-acp" // its former name
	return preset{
		name: configs.Claude,
		programs: []program{adapter, older, former, {
			bin: "claude", kind: configs.Command, dialect: "claude", env: env,
			args: []string{"-p", "--output-format", "stream-json", "--verbose",
				"--permission-mode", "acceptEdits"},
			resume:         []string{"--resume", "{session}"},
			connect:        claudeConnect,
			writeSettings:  func(o *offer) error { return o.claudeArgument(object{"permissions": claudeRules(o.rules)}) },
			nativeHooksOff: func(o *offer) error { return o.claudeArgument(object{"disableAllHooks": true}) },
			sandboxOff:     func(o *offer) error { return o.claudeArgument(claudeNoSandbox()) },
			offline:        claudeOffline,
			gateway:        claudeGateway,
			honours:        measuredCommand("claude 2.1.330"),
		}},
		keyVars: []string{"ANTHROPIC_API_KEY"}, vendors: []string{"anthropic"}, passes: true,
		logins: []userFile{{"CLAUDE_CONFIG_DIR", ".claude", ".credentials.json"}},
		settings: append(userFiles("CLAUDE_CONFIG_DIR", ".claude", "settings.json", "CLAUDE.md", "agents", "commands", "skills", "rules",
			"output-styles", "plugins"), userFile{"CLAUDE_CONFIG_DIR", "", ".claude.json"}),
		hosts: []string{"api.anthropic.com", "platform.claude.com", "console.anthropic.com", "claude.ai"},
		login: "claude /login", loginPkg: "@anthropic-ai/claude-code",
		install: "npm i -g @agentclientprotocol/claude-agent-acp@latest", node: "22",
	}
}

// claudeSettings adds to the settings of a session, which override the user's own.
func (o *offer) claudeSettings(fields object) {
	if o.meta == nil {
		o.meta = object{}
	}
	merge(o.meta, object{"claudeCode": object{"options": object{"settings": object{}}}})
	merge(o.meta, object{"claudeCode": object{"options": object{"settings": fields}}})
}

// claudeNoSandbox are settings without the sandbox of Claude Code's shell.
func claudeNoSandbox() object { return object{"sandbox": object{"enabled": false}} }

// claudeConnect gives `claude -p` the team tools of covey's MCP server, and lets it
// call them and covey itself without asking, because it cannot ask. covey applies the
// member's rules to each of these calls.
func claudeConnect(url string) []string {
	config := texts.Encode(object{"mcpServers": object{MCPName: object{
		"type": "http", "url": url, "headers": object{"Authorization": "Bearer ${" + mcpTokenVar + "}"},
	}}})
	return []string{"--mcp-config", string(config), "--allowedTools", "mcp__" + MCPName + ",Bash(covey *)"}
}

// claudeRules returns a member's rules in the form of Claude Code's settings. Ask rules
// become deny rules, because `claude -p` cannot ask.
func claudeRules(p permission.Policy) object {
	texts := func(list []rules.Rule) []string {
		all := []string{}
		for _, rule := range list {
			all = append(all, rule.String())
		}
		return all
	}
	return object{"allow": texts(p.Allow), "ask": texts(p.Ask), "deny": texts(p.Deny)}
}

// claudeArgument adds to the settings in the arguments of `claude -p`, which override
// the user's own. They are not in a file, so that a member cannot change them for its
// next turn.
func (o *offer) claudeArgument(fields object) error {
	const flag = "--settings"
	settings := object{}
	at := slices.Index(o.args, flag) + 1
	if at == 0 || at == len(o.args) || json.Unmarshal([]byte(o.args[at]), &settings) != nil {
		o.args = append(o.args, flag, "") // the last of several counts
		at = len(o.args) - 1
	}
	merge(settings, fields)
	data, err := json.Marshal(settings)
	o.args[at] = string(data)
	return err
}

// claudeOffline makes Claude Code use a model server.
func claudeOffline(o *offer, url, key, home string) error {
	o.set("HOME", home)
	o.set("CLAUDE_CONFIG_DIR", filepath.Join(home, ".claude"))
	o.set("ANTHROPIC_BASE_URL", url)
	o.set("ANTHROPIC_API_KEY", key)
	o.set("CLAUDE_CODE_MAX_RETRIES", "2") // show errors of the script instead of retrying for minutes
	return nil
}

// claudeGateway makes Claude Code use the gateway.
func claudeGateway(o *offer, url, token string) error {
	o.set("ANTHROPIC_BASE_URL", url)
	if token != "" {
		o.set("ANTHROPIC_API_KEY", token)
	}
	return nil
}
