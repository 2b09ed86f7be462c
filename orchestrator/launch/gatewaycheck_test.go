package launch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
)

// TestCheckGateway: who passes the gateway is what the table of docs/agents.md says, and for who does not, one line
// names the place in the spec and the way out, also where the program is not installed.
func TestCheckGateway(t *testing.T) {
	key := "; write auth: key, or gateway: off for its members"
	login := "its program logs in by itself, which the gateway does not carry"
	notPassed := "its program cannot pass the gateway with its own login"
	vendor := "; write auth: {key: ANTHROPIC_API_KEY}, or the key of another vendor, or gateway: off for its members"
	provider := "; set COPILOT_PROVIDER_BASE_URL and COPILOT_PROVIDER_API_KEY, or gateway: off for its members"
	for _, v := range vendors() {
		t.Setenv(v.base, "")
		if v.bearer != "" {
			t.Setenv(v.bearer, "")
		}
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "COPILOT_GITHUB_TOKEN"} {
		t.Setenv(name, "sk-x")
	}
	for _, c := range []struct{ agent, gateway, env, want string }{
		{"use: claude, auth: key", "on", "", ""},
		{"use: claude", "on", "", login + " unless the spec says so; write auth: key, or gateway: {login: pass}"},
		{"use: claude", "{login: pass}", "", ""},
		{"use: claude", "on", "ANTHROPIC_AUTH_TOKEN=t", ""},
		{"use: codex, auth: key", "on", "", ""},
		{"use: codex", "on", "", login + key},
		{"use: codex", "{login: pass}", "", notPassed + key},
		{"use: codex", "off", "", ""},
		{"use: gemini, auth: key", "on", "", ""},
		{"use: gemini", "{login: pass}", "", notPassed + key},
		{"use: qwen, auth: key", "on", "", ""},
		{"use: qwen, auth: {key: DASHSCOPE_API_KEY}", "on", "DASHSCOPE_API_KEY=k", "the gateway does not know which host takes the key DASHSCOPE_API_KEY; write gateway: off for its members"},
		{"use: qwen", "on", "", login + key},
		{"use: opencode, auth: {key: ANTHROPIC_API_KEY}", "on", "", ""},
		{"use: opencode", "on", "", login + vendor},
		{"use: opencode", "{login: pass}", "", notPassed + vendor},
		{"use: copilot", "on", "", login + provider},
		{"use: copilot, auth: key", "on", "", "the gateway cannot use its key" + provider},
		{"use: acp, command: [x]", "{login: pass}", "", notPassed + vendor},
		{"use: acp, command: [x], auth: {key: OPENAI_API_KEY}", "on", "", ""},
	} {
		t.Run(c.agent+" "+c.gateway+c.env, func(t *testing.T) {
			if name, value, ok := strings.Cut(c.env, "="); ok {
				t.Setenv(name, value)
			}
			dir := t.TempDir()
			spec := "covey: 1\nname: crew\ngateway: " + c.gateway + "\nagents:\n  coder: {" + c.agent + "}\nlead: coder\nteammates: {dev: coder}\n"
			if err := os.WriteFile(filepath.Join(dir, "team.yaml"), []byte(spec), 0o600); err != nil {
				t.Fatal(err)
			}
			team, err := configs.Load(filepath.Join(dir, "team.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			agent := team.Lead.Agent
			for _, installed := range []bool{true, false} {
				l := Found{}
				if p, known := presetOf(agent.Preset); installed {
					l = Found{argv: []string{"/bin/x"}, preset: p, program: program{gateway: gatewayUnknown}}
					if known {
						l.program = p.programs[0]
					}
				}
				if l.key, err = (Found{preset: l.preset}).readKey(agent); err != nil && installed {
					t.Fatal(err)
				}
				if !installed && (agent.Auth == configs.Key || agent.Preset == "") {
					continue // Find reports it, and does not read its key
				}
				err := CheckGateway(team, map[string]Found{agent.Name: l}, false)
				var placed *configs.Placed
				if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &placed) || placed.Problem.Line != 5 || err.Error() != "coder: "+c.want) {
					t.Errorf("installed %t: %v; want %q", installed, err, c.want)
				}
			}
		})
	}
	t.Setenv("COPILOT_PROVIDER_BASE_URL", "https://models.example.com")
	t.Setenv("COPILOT_PROVIDER_API_KEY", "k")
	if _, err := (Found{preset: copilot(), program: copilot().programs[0]}).hosts(configs.Agent{Name: "copilot"}, configs.Gateway{}, os.Getenv); err != nil {
		t.Errorf("copilot with a provider: %v", err)
	}
	held := configs.Gateway{Models: []configs.ModelList{{Policy: "p.yaml:4"}}}
	if got := (Found{}).noHost(configs.Agent{}, held); !strings.HasSuffix(got, "use another program, because the policy demands the gateway (p.yaml:4)") {
		t.Errorf("a policy that demands the gateway: %s", got)
	}
}
