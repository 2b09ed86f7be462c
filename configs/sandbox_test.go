package configs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/sandbox"
)

const sandboxHead = "covey: 1\nmodels: {m: {provider: script, script: demo.yaml}}\nlead: {model: m}\n"

// TestSandboxOfMembers: a member has the team's sandbox, with the keys that it gives.
func TestSandboxOfMembers(t *testing.T) {
	if team := mustParse(t, sandboxHead); team.Sandbox.On() || team.Lead.Sandbox.On() || team.GateSandbox.On() {
		t.Errorf("without the key: %+v", team.Sandbox)
	}
	team := mustParse(t, sandboxHead+`sandbox: {level: best, write: [/data], deny_read: [.env], limits: {file: 1GB}}
gates: {sandbox: {network: off}}
teammates:
  ana: {model: m, sandbox: {level: required, network: {allow: [example.com, "db:5432"]}, write: [/data/ana], deny_read: [.npmrc], unix: off}}
`)
	ana := team.Teammates[0].Sandbox
	if ana.Level != sandbox.Required || ana.Network != sandbox.NetworkList || len(ana.Hosts) != 2 || !ana.NoUnix || ana.MaxFile != 1e9 ||
		!slices.Equal(ana.Write, []string{"/data/ana"}) || !slices.Equal(ana.DenyRead, []string{".env", ".npmrc"}) {
		t.Errorf("%+v", ana)
	}
	if lead := team.Lead.Sandbox; lead.Level != sandbox.Best || !slices.Equal(lead.Write, []string{"/data"}) || lead.NoUnix {
		t.Errorf("%+v", lead)
	}
	if g := team.GateSandbox; g.Level != sandbox.Best || g.Network != sandbox.NetworkOff || len(g.Write) > 0 {
		t.Errorf("%+v", g)
	}
}

// TestSandboxMistakes: what is wider than the team's or holds keys is a mistake with its place and the way out.
func TestSandboxMistakes(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("there is no home")
	}
	const wider = "this sandbox allows more than the team's, by "
	for spec, want := range map[string]string{
		"sandbox: {level: required}\nteammates: {a: {model: m, sandbox: {level: best}}}":                                      wider + "level",
		"sandbox: {level: best, network: off}\nteammates: {a: {model: m, sandbox: {network: on}}}":                            wider + "network",
		"sandbox: {level: best, network: {allow: [a.com]}}\nteammates: {a: {model: m, sandbox: {network: {allow: [b.com]}}}}": wider + "network",
		"sandbox: {level: best}\nteammates: {a: {model: m, sandbox: {write: [/data]}}}":                                       wider + "write",
		"sandbox: {level: best, unix: off}\nteammates: {a: {model: m, sandbox: {unix: on}}}":                                  wider + "unix",
		"sandbox: {level: best, limits: {open: 100}}\nteammates: {a: {model: m, sandbox: {limits: {open: 200}}}}":             wider + "limits.open",
		"sandbox: {level: best, wider: true}\nteammates: {a: {model: m, sandbox: {level: off, write: [/data], network: on}}}": "",
		"teammates: {a: {model: m, sandbox: {level: best, wider: true}}}":                                                     "wider belongs to the sandbox of the team",
		"sandbox: {read: [" + home + "]}":             "holds your home",
		"sandbox: {read: [/]}":                        "holds your home",
		"sandbox: {write: [~/.ssh/x]}":                "keep what they trust",
		"sandbox: {write: [\"*.x\"]}":                 "is a pattern",
		"sandbox: {network: {allow: [\"http://x\"]}}": "is no host",
		"sandbox: {network: some}":                    "on, off, or a list of hosts",
		"defaults: {sandbox: {write: [~x]}}\nteammates: {a: {model: m}, b: {model: m}}": "is no folder",
	} {
		_, err := Parse(filepath.Join(t.TempDir(), "team.yaml"), []byte(sandboxHead+spec+"\n"))
		var all Errors
		if want == "" {
			if errors.As(err, &all) && strings.Contains(err.Error(), wider) {
				t.Errorf("%s: %v", spec, err)
			}
			continue
		}
		if err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("%s: %v, want once %q", spec, err, want)
		}
	}
}
