package launch

import (
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/orchestrator/state"
)

// TestRoutesAreWhole: every preset has a route, each names its source, and no name or pattern is
// broken or lets an API key through.
func TestRoutesAreWhole(t *testing.T) {
	yes := func(string) string { return "1" }
	for _, p := range presets() {
		mine := slices.DeleteFunc(routes(), func(r route) bool { return r.preset != p.name })
		if len(mine) == 0 || mine[0].by != "" || len(mine[0].vars) == 0 {
			t.Errorf("%s: the first route must always pass, and pass something: %+v", p.name, mine)
		}
		for _, r := range mine {
			if r.source == "" || r.by == "" && len(r.vars) == 0 {
				t.Errorf("%s: a route is not whole: %+v", p.name, r)
			}
			for _, name := range r.vars {
				if !r.passes(strings.ReplaceAll(name, "*", "X"), yes) {
					t.Errorf("%s: the pattern %q matches nothing", p.name, name)
				}
			}
		}
		for _, key := range p.keyVars {
			if p.routed(key, yes) {
				t.Errorf("%s: %s passes without auth: key", p.name, key)
			}
		}
	}
}

// TestRoutedVariables: what an operator sets to lead a program to a gateway reaches that program
// and no other, even if all children may have it; keys reach nobody by themselves; proxies and
// certificates reach all.
func TestRoutedVariables(t *testing.T) {
	for name, want := range map[string]string{ // a variable: the presets whose programs get it
		"ANTHROPIC_BASE_URL": "claude", "ANTHROPIC_AUTH_TOKEN": "claude", "ANTHROPIC_CUSTOM_HEADERS": "claude",
		"ANTHROPIC_DEFAULT_OPUS_MODEL": "claude", "CLAUDE_CODE_USE_BEDROCK": "claude", "CLAUDE_CODE_OAUTH_TOKEN": "claude",
		"CLAUDE_CODE_CLIENT_KEY_PASSPHRASE": "claude", "CODEX_ACCESS_TOKEN": "codex", "OPENAI_BASE_URL": "codex qwen",
		"GOOGLE_GEMINI_BASE_URL": "gemini", "GOOGLE_CLOUD_ACCESS_TOKEN": "gemini", "GEMINI_CLI_CUSTOM_HEADERS": "gemini",
		"COPILOT_PROVIDER_BASE_URL": "copilot", "COPILOT_PROVIDER_BEARER_TOKEN": "copilot", "OPENCODE_CONFIG": "opencode",
		"AWS_PROFILE": "claude opencode", "AWS_SECRET_ACCESS_KEY": "", "AZURE_CLIENT_SECRET": "",
		"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": "", "GEMINI_API_KEY": "", "CLAUDE_CODE_SSE_PORT": "", "COPILOT_GITHUB_TOKEN": "",
		"HTTPS_PROXY": "all", "all_proxy": "all", "NODE_EXTRA_CA_CERTS": "all", "SSL_CERT_FILE": "all", "CURL_CA_BUNDLE": "all",
	} {
		var got []string
		for _, p := range append(presets(), preset{name: "none"}) {
			environ := []string{"PATH=/bin", name + "=1"}
			env := p.environment(Environment(environ), environ)
			if slices.Contains(env, name+"=1") {
				got = append(got, string(p.name))
			}
			environ = append(environ, passVariable+"="+name)
			again := slices.Contains(p.environment(Environment(environ), environ), name+"=1")
			if keyName().MatchString(name) && !strings.HasPrefix(name, "AWS_") && !strings.HasPrefix(name, "AZURE_") &&
				name != "COPILOT_GITHUB_TOKEN" && again && !slices.Contains(got, string(p.name)) {
				t.Errorf("%s reaches %s because hooks may have it", name, p.name)
			}
		}
		if len(got) == len(presets())+1 {
			got = []string{"all"}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s reaches %q, want %q", name, got, want)
		}
	}
}

// TestCloudCredentials: keys of a cloud reach a program only while its variable selects that cloud.
func TestCloudCredentials(t *testing.T) {
	environ := []string{"AWS_SECRET_ACCESS_KEY=s", "AZURE_CLIENT_SECRET=z"}
	for by, want := range map[string]string{
		"": "", "CLAUDE_CODE_USE_BEDROCK=0": "", "CLAUDE_CODE_USE_BEDROCK=1": "AWS_SECRET_ACCESS_KEY=s",
		"CLAUDE_CODE_USE_FOUNDRY=true": "AZURE_CLIENT_SECRET=z",
	} {
		for _, p := range presets() {
			env := slices.DeleteFunc(p.environment(nil, append(slices.Clone(environ), by)), func(kv string) bool { return kv == by })
			if p.name != configs.Claude && len(env) > 0 || p.name == configs.Claude && strings.Join(env, " ") != want {
				t.Errorf("with %q %s gets %q, want %q", by, p.name, env, want)
			}
		}
	}
}

// TestProgramEnvironmentIsRouted: the variables are in what a member's program and a probed one
// are started with, and are gone where a script takes the model's place.
func TestProgramEnvironmentIsRouted(t *testing.T) {
	t.Setenv("ANTHROPIC_BASE_URL", "https://gateway.example.com")
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-the-operator")
	place := state.Place{Workspace: t.TempDir(), Team: "t"}
	env := programEnvironment("/bin/covey", place, claude())
	if proc.Getenv(env, "ANTHROPIC_BASE_URL") != "https://gateway.example.com" || proc.Getenv(env, "ANTHROPIC_API_KEY") != "" {
		t.Errorf("a member's program gets %q", env)
	}
	found := Found{argv: []string{"/bin/claude"}, preset: claude(), program: claude().programs[0]}
	start, err := found.probeOffer(t.TempDir(), configs.Agent{})
	if err != nil || start.value("ANTHROPIC_BASE_URL") != "https://gateway.example.com" || start.value("ANTHROPIC_API_KEY") != "" {
		t.Errorf("a probed program gets %q, %v", start.env, err)
	}
}
