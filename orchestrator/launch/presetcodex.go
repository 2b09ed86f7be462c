package launch

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/teammate/acp"
)

// codex is OpenAI's Codex. Two packages bring an adapter of the same name: one
// is a single program, and one runs `codex app-server`.
func codex() preset {
	adapter := program{
		bin: "codex-acp", pkg: "@agentclientprotocol/codex-acp", kind: configs.ACP,
		env: []configs.EnvVar{
			{Name: "NO_BROWSER", Value: "1"},
			// Its default mode has a model judge what may run, in place of the member's rules.
			{Name: "INITIAL_AGENT_MODE", Value: "workspace-write"},
		},
		quirks: acp.Quirks{Usage: acp.UsagePerPrompt}, systemBy: acp.SystemField,
		nativeHooksOff: func(o *offer) error {
			return o.patchVariable("CODEX_CONFIG", object{"features": object{"hooks": false}})
		},
		offline: codexOffline("on-request"),
		honours: Honours{
			Gates: Enforced, Cancel: Enforced, Steer: Enforced, Resume: Enforced, System: Enforced, Usage: Enforced,
			Native: Enforced, Tools: asks(mcpTools), MCP: "http", Version: "codex-acp 2.6.0", Date: "2026-11",
		},
	}
	single := adapter
	single.pkg, single.systemBy, single.nativeHooksOff = "", acp.SystemInPrompt, codexHooksOff
	single.quirks = acp.Quirks{Usage: acp.UsageUnknown}
	single.honours.Steer, single.honours.System, single.honours.Usage = Absent, Advisory, Absent
	single.honours.Version = "codex-acp 0.16.0"
	// Else it runs whatever its sandbox lets pass, and asks for none of it.
	single.settle = func(o *offer) error {
		o.args = append(o.args, "-c", "approval_policy=untrusted")
		return nil
	}
	single.offline = codexOffline("untrusted")
	return preset{
		name: configs.Codex,
		programs: []program{adapter, single, {
			bin: "codex", kind: configs.Command, dialect: "codex",
			args:    []string{"exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write"},
			resume:  []string{"resume", "{session}"},
			connect: codexConnect,
			offline: codexOffline("on-request"), nativeHooksOff: codexHooksOff,
			honours: codexCommandHonours(),
		}},
		keyVars: []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
		pass:    []string{"CODEX_HOME"},
		logins:  []loginFile{{"CODEX_HOME", ".codex", "auth.json"}},
		sure:    true,
		// It keeps several databases there.
		firstAlone: true,
		login:      "codex login",
		install:    "npm i -g @agentclientprotocol/codex-acp",
	}
}

// codexHooksOff is for programs that take settings as arguments.
func codexHooksOff(o *offer) error {
	o.args = append(o.args, "-c", "features.hooks=false")
	return nil
}

// codexOffline lets Codex think with a model server. It names providers in its
// configuration only, so it gets one. The model is one that all versions know: one
// that is unknown gets no tool to edit files with, and a warning in each reply. What
// a script has it do is for the member's rules to decide, so it asks as often as
// approvals, a policy of its own, has it ask: "untrusted", for all but harmless
// reading, ends a codex that is newer than 0.16 of the adapter that is one program.
// It needs no sandbox: that is not to be had on every machine.
func codexOffline(approvals string) func(o *offer, url, key, home string) error {
	return func(o *offer, url, key, home string) error {
		const keyVar = "COVEY_MODEL_KEY"
		config := fmt.Sprintf(`model = "gpt-5.5"
model_provider = "covey"
approval_policy = %q
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[feedback]
enabled = false

[model_providers.covey]
name = "covey"
base_url = %q
wire_api = "responses"
env_key = %q
request_max_retries = 1
stream_max_retries = 1

[projects.%q]
trust_level = "trusted"
`, approvals, url+"/v1", keyVar, o.workspace)
		dir := filepath.Join(home, ".codex")
		o.set("HOME", home)
		o.set("CODEX_HOME", dir)
		o.set("MODEL_PROVIDER", "covey")
		o.set(keyVar, key)
		return writePrivate(filepath.Join(dir, "config.toml"), []byte(config))
	}
}

// codexConnect has `codex exec` take the team tools from covey's MCP server: a shell
// command in its sandbox, which has process ids of its own, cannot tell covey whose it
// is. It calls the tools without asking, for it can ask nobody; covey asks the member's
// rules about each of these calls.
func codexConnect(url string) []string {
	const server = "mcp_servers." + MCPName + "."
	return []string{
		"-c", server + "url=" + strconv.Quote(url), "-c", server + "bearer_token_env_var=" + strconv.Quote(mcpTokenVar),
		"-c", server + `default_tools_approval_mode="approve"`,
	}
}

// codexCommandHonours is what `codex exec` honours: it prints what it has used,
// and enters its session again.
func codexCommandHonours() Honours {
	h := commandHonours()
	h.Resume, h.Usage, h.Native, h.MCP, h.Version, h.Date = Enforced, Enforced, Enforced, "http", "codex 0.169.0", "2026-11"
	return h
}
