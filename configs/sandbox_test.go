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

// TestOwnSandboxes: one gate or hook has the sandbox of its kind, with what it gives of its own.
func TestOwnSandboxes(t *testing.T) {
	team := mustParse(t, sandboxHead+`sandbox: {level: required, deny_read: [.env]}
gates:
  sandbox: {level: best, network: off}
  stop: ["true", {run: "true a", sandbox: {level: off}}, {run: "true b", sandbox: {network: {allow: [a.com]}}}]
  merge: [{run: "true c", sandbox: {level: mounts}}]
hooks: {Stop: [{hooks: [{type: command, command: "true d", sandbox: {network: off}}, {type: command, command: "true e"}]}]}
`)
	var got []string
	for own, s := range team.OwnSandboxes() {
		got = append(got, strings.Join(append([]string{string(own.Level), string(s.Level), string(s.Network)}, append(s.Hosts, s.DenyRead...)...), " "))
	}
	want := []string{"off off off", " best list a.com", "mounts mounts off", " required off .env"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestOwnsUnheld: what a member owns in a shared folder is warned of, once, if no box holds its commands to it.
func TestOwnsUnheld(t *testing.T) {
	for spec, want := range map[string]int{
		"teammates: {a: {model: m, owns: [x]}}":                                                             1,
		"defaults: {owns: [x]}\nteammates: {a: {model: m}, b: {model: m}}":                                  1,
		"teammates: {a: {model: m, owns: [x], tools: [Read, Write]}}":                                       0,
		"teammates: {a: {model: m, owns: [x], isolation: worktree}}":                                        0,
		"teammates: {a: {model: m, owns: [x], sandbox: {level: best}}}":                                     0,
		"sandbox: {level: best}\nteammates: {a: {model: m, owns: [x]}}":                                     0,
		"sandbox: {level: best, wider: true}\nteammates: {a: {model: m, owns: [x], sandbox: {level: off}}}": 1,
	} {
		got := 0
		for _, w := range mustParse(t, sandboxHead+spec+"\n").Warnings {
			if strings.Contains(w.Message, "owns binds the file tools alone") {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d warnings, want %d", spec, got, want)
		}
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
		"sandbox: {read: [" + home + "]}":                                                              "holds your home",
		"sandbox: {read: [/]}":                                                                         "holds your home",
		"sandbox: {write: [~/.ssh/x]}":                                                                 "keep what they trust",
		"sandbox: {write: [\"*.x\"]}":                                                                  "is a pattern",
		"sandbox: {network: {allow: [\"http://x\"]}}":                                                  "is no host",
		"gates: {stop: [{policy: no-open-tasks, sandbox: {level: best}}]}":                             "4:49: only a command runs in a sandbox",
		"gates: {stop: [{sandbox: {level: best}}]}":                                                    "a gate has a command, a policy",
		"gates: {stop: [{run: x, sandbox: {network: {allow: [\"http://x\"]}}}]}":                       "is no host",
		"gates: {stop: [{run: x, sandbox: {write: [/data]}}]}":                                         "unknown key \"write\"",
		"hooks: {Stop: [{hooks: [{type: command, command: x, sandbox: {level: some}}]}]}":              "write one of off, best, required, mounts",
		"hooks: {Stop: [{hooks: [{type: http, url: \"https://x.example\", sandbox: {level: best}}]}]}": "sandbox belongs to type: command",
		"sandbox: {network: some}":                                                                     "on, off, or a list of hosts",
		"defaults: {sandbox: {write: [~x]}}\nteammates: {a: {model: m}, b: {model: m}}":                "is no folder",
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
