package orchestrator

import (
	"path/filepath"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/teammate/acp"
)

// claude is Claude Code: behind an adapter that speaks ACP, or one process a turn.
func claude() preset {
	env := []configs.EnvVar{
		{Name: "DISABLE_AUTOUPDATER", Value: "1"},
		{Name: "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", Value: "1"},
		// The team tools must stand before the model, and not behind a search.
		{Name: "ENABLE_TOOL_SEARCH", Value: "false"},
		{Name: "NO_BROWSER", Value: "1"},
	}
	adapter := program{
		bin: "claude-agent-acp", kind: configs.ACP, env: env,
		quirks: acp.Quirks{Usage: acp.UsagePerPrompt}, systemBy: acp.SystemMeta,
		offline: claudeOffline,
		honours: Honours{
			Gates: Enforced, Cancel: Enforced, Steer: Enforced, Resume: Enforced, System: Enforced, Usage: Enforced,
			Tools: asks("Bash", "Edit", "Write", "WebFetch", mcpTools),
			MCP:   "http", Version: "claude-agent-acp 0.100.0", Date: "2026-11",
		},
	}
	older := adapter
	older.bin = "claude-code-acp"
	older.honours.Steer, older.honours.Version = Absent, "claude-agent-acp 0.49.0"
	return preset{
		name: configs.Claude,
		programs: []program{adapter, older, {
			bin: "claude", kind: configs.Command, dialect: "claude", env: env,
			args:           []string{"-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits"},
			resume:         []string{"--resume", "{session}"},
			nativeHooksOff: func(o *offer) error { o.args = append(o.args, "--settings", `{"disableAllHooks":true}`); return nil },
			offline:        claudeOffline,
			honours:        commandHonours(),
		}},
		keyVars: []string{"ANTHROPIC_API_KEY"},
		logins:  []string{".claude/.credentials.json"},
		login:   "claude /login",
		install: "npm i -g @agentclientprotocol/claude-agent-acp",
	}
}

// claudeOffline lets Claude Code think with a model server.
func claudeOffline(o *offer, url, key, home string) error {
	o.set("HOME", home)
	o.set("CLAUDE_CONFIG_DIR", filepath.Join(home, ".claude"))
	o.set("ANTHROPIC_BASE_URL", url)
	o.set("ANTHROPIC_API_KEY", key)
	return nil
}

// mcpTools stands for the tools of MCP servers in Honours.Tools.
const mcpTools = "mcp"

// asks are the tools of a program that asks before it calls some of them. What
// the others have done is seen afterwards.
func asks(tools ...string) map[string]Hold {
	all := map[string]Hold{}
	for _, tool := range []string{"Bash", "Edit", "Write", "Read", "WebFetch", mcpTools} {
		all[tool] = Detected
	}
	for _, tool := range tools {
		all[tool] = Enforced
	}
	return all
}

// commandHonours is what holds for each program that is run once a turn: it is
// heard when it is done.
func commandHonours() Honours {
	return Honours{
		Gates: Enforced, Cancel: Enforced, Steer: Absent, Resume: Enforced, System: Advisory, Usage: Enforced,
		Tools: asks(), MCP: "shell", Date: "2026-11",
	}
}
