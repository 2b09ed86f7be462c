package launch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/teammate/acp"
)

// codex is OpenAI's Codex. Two packages contain an adapter of the same name: one is a
// single program, and one runs `codex app-server`.
func codex() preset {
	adapter := program{
		bin: "codex-acp", pkg: "@agentclientprotocol/codex-acp", kind: configs.ACP,
		env: []string{
			"NO_BROWSER=1",
			// In its default mode a model decides what may run, instead of the member's
			// rules.
			"INITIAL_AGENT_MODE=workspace-write",
		},
		quirks: acp.Quirks{Usage: acp.UsagePerPrompt}, systemBy: acp.SystemField,
		nativeHooksOff: func(o *offer) error {
			return o.patchVariable("CODEX_CONFIG", object{"features": object{"hooks": false}})
		},
		sandboxOff: func(o *offer) error {
			o.set("INITIAL_AGENT_MODE", "agent-full-access") // its other modes have a sandbox
			return nil
		},
		offline: codexOffline("on-request"),
		gateway: func(o *offer, url, token string) error {
			return o.patchVariable("CODEX_CONFIG", codexProvider(o, url, token))
		},
		honours: Honours{
			Gates: Enforced, Cancel: Enforced, Steer: Enforced, Resume: Enforced, System: Enforced, Usage: Enforced,
			Native: Enforced, Tools: asks(mcpTools), MCP: "http", Version: "codex-acp 2.6.0", Date: "2026-11",
			Boxed: map[string]Hold{mcpTools: Detected}, // its mode without a sandbox asks about nothing
		},
	}
	single := adapter
	single.pkg, single.systemBy, single.nativeHooksOff, single.sandboxOff = "", acp.SystemInPrompt, codexHooksOff, codexSandboxOff
	single.quirks = acp.Quirks{Usage: acp.UsageUnknown}
	single.honours.Steer, single.honours.System, single.honours.Usage = Absent, Advisory, Absent
	single.honours.Version, single.honours.Boxed = "codex-acp 0.16.0", nil
	// Without this it runs whatever its sandbox permits, and never asks.
	single.writeSettings = func(o *offer) error {
		o.args = append(o.args, "-c", "approval_policy=untrusted")
		return nil
	}
	single.offline, single.gateway = codexOffline("untrusted"), codexGateway
	return preset{
		name: configs.Codex,
		programs: []program{adapter, single, {
			bin: "codex", kind: configs.Command, dialect: "codex",
			args:    []string{"exec", "--json", "--skip-git-repo-check", "--sandbox", "workspace-write"},
			resume:  []string{"resume", "{session}"},
			connect: codexConnect,
			offline: codexOffline("on-request"), gateway: codexGateway, nativeHooksOff: codexHooksOff, sandboxOff: codexSandboxOff,
			honours: measuredCommand("codex 0.169.0"),
		}},
		keyVars: []string{"OPENAI_API_KEY", "CODEX_API_KEY"}, vendors: []string{"openai"},
		logins:   []userFile{{"CODEX_HOME", ".codex", "auth.json"}},
		settings: userFiles("CODEX_HOME", ".codex", "config.toml", "AGENTS.md", "AGENTS.override.md", "prompts", "skills", "rules"),
		hosts:    []string{"api.openai.com", "chatgpt.com", "auth.openai.com"},
		sure:     true,
		// It keeps several databases there.
		firstAlone: true,
		login:      "codex login", loginPkg: "@openai/codex",
		install: "npm i -g @agentclientprotocol/codex-acp@latest",
	}
}

// codexHooksOff disables hooks in programs that take settings as arguments.
func codexHooksOff(o *offer) error {
	o.args = append(o.args, "-c", "features.hooks=false")
	return nil
}

// codexSandboxOff disables the sandbox in programs that take settings as arguments.
func codexSandboxOff(o *offer) error {
	const flag = "--sandbox"
	if i := slices.Index(o.args, flag); i >= 0 && i+1 < len(o.args) {
		o.args = slices.Delete(slices.Clone(o.args), i, i+2)
	}
	o.args = append(o.args, "-c", `sandbox_mode="danger-full-access"`)
	return nil
}

// codexOffline makes Codex use a model server. It reads providers only from its
// configuration file, so it gets one. The model is one that all versions know: an
// unknown one has no tool to edit files, and adds a warning to each reply. approvals is
// the approval policy, so that the member's rules decide about the script's calls:
// "untrusted" asks for all but harmless reading, but newer versions than 0.16 of the
// single-program adapter exit with it. The sandbox is off, because not every machine
// supports it.
func codexOffline(approvals string) func(o *offer, url, key, home string) error {
	return func(o *offer, url, key, home string) error {
		const keyVar = codexKey
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
		return writePrivate(home, ".codex/config.toml", []byte(config))
	}
}

// codexKey is the variable with the key of a model server.
const codexKey = "COVEY_MODEL_KEY"

// codexProvider returns the configuration in which covey is the provider of models.
func codexProvider(o *offer, url, token string) object {
	o.set(codexKey, token)
	return object{"model_provider": "covey", "model_providers": object{"covey": object{
		"name": "covey", "base_url": url + "/v1", "wire_api": "responses", "env_key": codexKey,
	}}}
}

// codexGateway makes a program that takes its configuration as arguments use the gateway.
func codexGateway(o *offer, url, token string) error {
	o.set(codexKey, token)
	const provider = "model_providers.covey."
	for _, setting := range []string{
		`model_provider="covey"`, provider + `name="covey"`, provider + "base_url=" + strconv.Quote(url+"/v1"),
		provider + `wire_api="responses"`, provider + "env_key=" + strconv.Quote(codexKey),
	} {
		o.args = append(o.args, "-c", setting)
	}
	return nil
}

// codexConnect gives `codex exec` the team tools of covey's MCP server: covey cannot
// identify a shell command in its sandbox, which has its own process ids. It calls the
// tools without asking, because it cannot ask; covey applies the member's rules to each
// of these calls.
func codexConnect(url string) []string {
	const server = "mcp_servers." + MCPName + "."
	return []string{
		"-c", server + "url=" + strconv.Quote(url), "-c", server + "bearer_token_env_var=" + strconv.Quote(mcpTokenVar),
		"-c", server + `default_tools_approval_mode="approve"`,
	}
}
