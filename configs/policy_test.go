package configs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/testkit"
)

const teamPolicy = `covey-policy: 1
version: 3
agents: [builtin, "claude>=0.100"]
models: ["anthropic/*"]
permission_modes: [default, plan, acceptEdits]
permissions: {ask: ["WebFetch"], deny: ["Bash(git push*)"]}
gates: {task: [go vet ./...], merge: [{approve: person}]}
hooks: {PreToolUse: [{matcher: Bash, hooks: [{type: command, command: cat}]}]}
fail_closed: true
protect: [.github/**]
budget: {usd: 50, time: 2h}
limits: {max_turns: 40}
sandbox: {level: best}
`

// policySpecText is a spec that extends a policy, and keeps to it.
const policySpecText = `covey: 1
extends: %s
models: {demo: {provider: script, script: demo.yaml}}
lead: {model: demo, limits: {max_turns: 12}}
teammates: {ana: demo-agent, bob: {model: demo, permissions: {deny: [WebSearch]}}}
agents: {demo-agent: {model: demo}}
gates: {task: [go test ./...]}
budget: {usd: 5}
`

// pinned returns a reference to a policy with this content.
func pinned(where, content string) string {
	return fmt.Sprintf("%s@sha256:%x", where, sha256.Sum256([]byte(content)))
}

// extend loads a spec, in which %s stands for the reference, beside policies by their names; the spec
// extends p.yaml.
func extend(t *testing.T, spec string, policies map[string]string) (*Team, string, error) {
	t.Helper()
	files := map[string]string{"demo.yaml": "steps: []\n", "team.yaml": fmt.Sprintf(spec, pinned("p.yaml", policies["p.yaml"]))}
	for name, content := range policies {
		files[name] = content
	}
	dir := testkit.Files(t, files)
	team, err := Load(filepath.Join(dir, "team.yaml"))
	return team, dir, err
}

// TestExtends: what the policy demands is in the team, of all members, and before what the spec has.
func TestExtends(t *testing.T) {
	t.Parallel()
	team, dir, err := extend(t, policySpecText, map[string]string{"p.yaml": teamPolicy})
	if err != nil {
		t.Fatal(err)
	}
	var gates []string
	for _, group := range team.Gates[hooks.TaskCompleted] {
		for _, h := range group.Hooks {
			gates = append(gates, h.Command)
		}
	}
	for m := range team.Each() {
		if !slices.Contains(m.Permissions.Deny, "Bash(git push*)") || !slices.Contains(m.Permissions.Ask, "WebFetch") {
			t.Errorf("%s has the rules %+v", m.Name, m.Permissions)
		}
	}
	layers := team.Layers(nil)
	managed := slices.IndexFunc(layers.Sources, func(s settings.Source) bool { return s.Managed && s.Name == filepath.Join(dir, "p.yaml") })
	switch {
	case !slices.Equal(gates, []string{"go vet ./...", "go test ./..."}):
		t.Errorf("gates %v", gates)
	case len(team.Merge.Gates) != 1 || team.Merge.Gates[0].Approver != Person:
		t.Errorf("gates of a merge %+v", team.Merge.Gates)
	case team.Budget.USD != 5 || team.Budget.Time != 2*time.Hour:
		t.Errorf("budget %+v", team.Budget)
	case team.Lead.Limits.MaxTurns != 12 || team.Teammates[0].Limits.MaxTurns != 40:
		t.Errorf("limits %+v, %+v", team.Lead.Limits, team.Teammates[0].Limits)
	case !team.FailClosed || !slices.Equal(team.Protect, []string{".github/**"}):
		t.Errorf("fail_closed %v, protect %v", team.FailClosed, team.Protect)
	case !slices.Contains(team.Teammates[1].Permissions.Deny, "WebSearch"):
		t.Errorf("bob lost a rule: %+v", team.Teammates[1].Permissions)
	case team.Lead.Sandbox.Level != sandbox.Best || team.GateSandbox.Level != sandbox.Best || team.Sandbox.Level != sandbox.Best:
		t.Errorf("boxes %+v, of gates %+v, of the team %+v", team.Lead.Sandbox, team.GateSandbox, team.Sandbox)
	case !slices.Equal(team.Lead.Modes, []PermissionMode{Default, Plan, AcceptEdits}):
		t.Errorf("modes %v", team.Lead.Modes)
	case managed < 0:
		t.Errorf("layers %+v", layers.Sources)
	case len(team.Policies) != 1 || team.Policies[0].Version != 3 || team.Policies[0].AgentVersions["claude"] != "0.100":
		t.Errorf("policies %+v", team.Policies)
	}
}

// TestWeakerThanThePolicy: what the policy does not allow is a mistake that names both lines.
func TestWeakerThanThePolicy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ old, now, want string }{
		"budget":       {"usd: 5", "usd: 500", "team.yaml:8:15: usd is 500, and the policy allows 50 at most (p.yaml:11)"},
		"no budget":    {"usd: 5", "usd: 0", "team.yaml:8:15: usd is 0, and the policy allows 50 at most (p.yaml:11)"},
		"limit":        {"max_turns: 12", "max_turns: 41", "team.yaml:4:41: max_turns is 41, and the policy allows 40 at most (p.yaml:12)"},
		"mode":         {"model: demo, limits", "model: demo, permission_mode: bypassPermissions, limits", "team.yaml:4:38: lead has the permission mode bypassPermissions, and the policy allows only default, plan, acceptEdits (p.yaml:5)"},
		"agent":        {"ana: demo-agent", "ana: codex", "team.yaml:5:18: ana has the agent codex, and the policy allows only builtin, claude>=0.100 (p.yaml:3)"},
		"command":      {"{model: demo}}\ngates", "{use: command, command: [cat]}}\ngates", "ana has the agent demo-agent, and the policy allows only builtin"},
		"model":        {"models: {", "models: {big: openai/gpt-5, ", "team.yaml:3:10: the model is openai/gpt-5, and the policy allows only anthropic/* (p.yaml:4)"},
		"inline model": {"lead: {model: demo", "lead: {model: openai/gpt-5", "team.yaml:4:15: the model is openai/gpt-5, and the policy allows only anthropic/* (p.yaml:4)"},
		"gateway":      {"ana: demo-agent", "ana: {agent: claude, gateway: off}", "team.yaml:5:43: without the gateway the program of ana asks any model, and the policy allows only anthropic/* (p.yaml:4)"},
		"sandbox":      {"model: demo, limits", "model: demo, sandbox: {level: off}, limits", "team.yaml:4:38: the sandbox level is off, and the policy demands best at least (p.yaml:13)"},
		"gate sandbox": {"gates: {", "gates: {sandbox: {level: off}, ", "team.yaml:7:26: the sandbox level is off, and the policy demands best at least (p.yaml:13)"},
		"one gate":     {"gates: {task: [", "gates: {task: [{run: go version, sandbox: {level: off}}, ", "the sandbox level is off, and the policy demands best at least (p.yaml:13)"},
		"one hook":     {"covey: 1", "covey: 1\nhooks: {Stop: [{hooks: [{type: command, command: x, sandbox: {level: off}}]}]}", "team.yaml:2:70: the sandbox level is off, and the policy demands best at least (p.yaml:13)"},
		"fail_closed":  {"covey: 1", "covey: 1\nfail_closed: false", "team.yaml:2:14: fail_closed is false, and the policy demands true (p.yaml:9)"},
		"no digest":    {"extends: %s", "extends: gone.yaml # %s", "there is no file"},
		"no file":      {"extends: %s", "extends: gone-%s", "there is no file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := strings.Replace(policySpecText, test.old, test.now, 1)
			if spec == policySpecText {
				t.Fatal("the spec is the same")
			}
			_, _, err := extend(t, spec, map[string]string{"p.yaml": teamPolicy})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
}

// TestModelsOfAPolicy: the gateway holds agent programs to the models of the policy, in addition to those of the spec.
func TestModelsOfAPolicy(t *testing.T) {
	t.Parallel()
	spec := strings.Replace(policySpecText, "ana: demo-agent", "ana: claude, cem: {agent: claude, gateway: {models: [a/*]}}", 1)
	team, _, err := extend(t, spec, map[string]string{"p.yaml": teamPolicy})
	testkit.Must(t, err)
	lists := func(on bool, list ...ModelList) Gateway { return Gateway{On: on, Models: list} }
	most := ModelList{[]string{"anthropic/*"}, "p.yaml:4"}
	for i, want := range []Gateway{lists(true, most), lists(false, most), lists(true, ModelList{Patterns: []string{"a/*"}}, most)} {
		if m := team.Teammates[[]int{0, 2, 1}[i]]; !m.Gateway.Equal(want) {
			t.Errorf("%s has %+v, not %+v", m.Name, m.Gateway, want)
		}
	}
}

// TestPricedByAPolicy: a policy that bounds dollars names the prices, and two that name different ones do not go together.
func TestPricedByAPolicy(t *testing.T) {
	t.Parallel()
	price := func(digest string) string {
		return strings.Replace(teamPolicy, "usd: 50,", "usd: 50, prices: "+digest+",", 1)
	}
	ref := pinned("prices.yaml", "x")
	team, dir, err := extend(t, policySpecText, map[string]string{"p.yaml": price(ref)})
	testkit.Must(t, err)
	if b := team.Budget; b.PricedBy != "p.yaml:11" || b.PolicyPrices.String() != filepath.Join(dir, ref) {
		t.Errorf("%+v", b)
	}
	inner := "covey-policy: 1\nextends: " + pinned("o.yaml", price(ref)) + "\nbudget: {prices: " + pinned("prices.yaml", "y") + "}\n"
	if _, _, err := extend(t, policySpecText, map[string]string{"o.yaml": price(ref), "p.yaml": inner}); err == nil ||
		!strings.Contains(err.Error(), "o.yaml:11:27: another policy names the prices") {
		t.Errorf("%v", err)
	}
	if _, _, err := extend(t, policySpecText, map[string]string{"p.yaml": price("prices.yaml"), "prices.yaml": "x"}); err == nil ||
		!strings.Contains(err.Error(), "p.yaml:11:27: the prices \"prices.yaml\" cannot be used: it does not name the file's content; write "+ref) {
		t.Errorf("%v", err)
	}
}

// TestChangedPolicy: a policy whose content is not the one that a spec names is refused by each of many
// checkouts, with what to write, and so is a reference without a digest.
func TestChangedPolicy(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, "policy.yaml")
	write := func(content string) {
		t.Helper()
		testkit.Must(t, os.WriteFile(file, []byte(content), 0o600))
	}
	var specs []string
	for range 40 {
		dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n", "team.yaml": fmt.Sprintf(policySpecText, pinned(file, teamPolicy))})
		specs = append(specs, filepath.Join(dir, "team.yaml"))
	}
	loads := func() (n int) {
		t.Helper()
		for _, spec := range specs {
			_, err := Load(spec)
			if err == nil {
				n++
			} else if want := "write " + pinned(file, strings.Replace(teamPolicy, "50", "60", 1)); !strings.Contains(err.Error(), want) {
				t.Fatalf("%v\nwant %s", err, want)
			}
		}
		return n
	}
	write(teamPolicy)
	if n := loads(); n != 40 {
		t.Errorf("%d of 40 load", n)
	}
	write(strings.Replace(teamPolicy, "50", "60", 1))
	if n := loads(); n != 0 {
		t.Errorf("%d of 40 load although the policy is another", n)
	}
	write(teamPolicy)
	for _, ref := range []string{file, file + "@sha256:12"} {
		dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n", "team.yaml": fmt.Sprintf(policySpecText, ref)})
		if _, err := Load(filepath.Join(dir, "team.yaml")); err == nil || !strings.Contains(err.Error(), "write "+pinned(file, teamPolicy)) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// TestManagedPolicy: an administrator's policy holds for a spec that extends none, in addition to one that it
// does extend, and a team that was loaded without it is not let run.
func TestManagedPolicy(t *testing.T) {
	t.Parallel()
	plain := strings.Replace(policySpecText, "extends: %s\n", "", 1)
	own := "covey-policy: 1\npermissions: {deny: [WebSearch]}\npermission_modes: [default, dontAsk]\n"
	for name, spec := range map[string]string{"none": plain, "another": fmt.Sprintf(policySpecText, pinned("own.yaml", own))} {
		dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n", "team.yaml": spec, "own.yaml": own, "etc/policy.yaml": teamPolicy})
		folders := []string{filepath.Join(dir, "none"), filepath.Join(dir, "etc")}
		load := func(spec string) (*Team, error) {
			return ParseWith(filepath.Join(dir, "team.yaml"), []byte(spec), Options{Managed: folders})
		}
		team, err := load(spec)
		testkit.Must(t, err)
		last := team.Policies[len(team.Policies)-1]
		if !slices.Contains(team.Lead.Permissions.Deny, "Bash(git push*)") || !last.Managed || last.Where != filepath.Join(dir, "etc", "policy.yaml") {
			t.Errorf("%s: rules %v, policies %+v", name, team.Lead.Permissions.Deny, team.Policies)
		}
		if name == "another" && !slices.Equal(team.Lead.Modes, []PermissionMode{Default}) {
			t.Errorf("modes that both policies allow: %v", team.Lead.Modes)
		}
		if _, err := load(strings.Replace(spec, "usd: 5", "usd: 51", 1)); err == nil || !strings.Contains(err.Error(), "usd is 51, and the policy allows 50 at most (policy.yaml:11)") {
			t.Errorf("%s: %v", name, err)
		}
		free, err := ParseWith(filepath.Join(dir, "team.yaml"), []byte(spec), Options{})
		testkit.Must(t, err)
		if err := CheckManaged(free, folders); err == nil || CheckManaged(team, folders) != nil {
			t.Errorf("%s: a team without the policy: %v", name, err)
		}
		testkit.Put(t, dir, "etc/policy.yaml", "covey-policy: 2\n")
		if _, err := load(spec); err == nil || !strings.Contains(err.Error(), "policy.yaml:1:15: this covey reads version 1") {
			t.Errorf("%s: a policy with mistakes: %v", name, err)
		}
		testkit.Must(t, os.Remove(filepath.Join(dir, "etc", "policy.yaml")))
		testkit.Must(t, os.Mkdir(filepath.Join(dir, "etc", "policy.yaml"), 0o700))
		if _, err := load(spec); err == nil || !strings.Contains(err.Error(), "ask its administrator") {
			t.Errorf("%s: no file: %v", name, err)
		}
	}
}

// TestPolicyOfAPolicy: a policy may extend another and be stricter; what it allows beyond that is a mistake, as
// are its own.
func TestPolicyOfAPolicy(t *testing.T) {
	t.Parallel()
	const outer = "covey-policy: 1\nbudget: {usd: 3}\npermissions: {deny: [WebSearch]}\nlimits: {max_turns: 9}\nsandbox: {level: best}\n" +
		"agents: [builtin, \"claude>=0.100\"]\nmodels: [\"anthropic/*\"]\npermission_modes: [default, plan]\n"
	inner := func(more string) string { return "covey-policy: 1\nextends: " + pinned("o.yaml", outer) + "\n" + more }
	spec := strings.NewReplacer("usd: 5", "time: 1h", "max_turns: 12", "max_turns: 5").Replace(policySpecText)
	team, _, err := extend(t, spec, map[string]string{"o.yaml": outer, "p.yaml": inner("budget: {usd: 2}\nagents: [builtin, \"claude>=0.101\"]\nmodels: [anthropic/claude-*]\npermission_modes: [default]\n")})
	if err != nil {
		t.Fatal(err)
	}
	if team.Budget.USD != 2 || team.Teammates[0].Limits.MaxTurns != 9 || !slices.Contains(team.Lead.Permissions.Deny, "WebSearch") {
		t.Errorf("budget %+v, limits %+v, rules %+v", team.Budget, team.Teammates[0].Limits, team.Lead.Permissions)
	}
	for more, want := range map[string]string{
		"budget: {usd: 4}\n":                 "p.yaml:3:15: usd is 4, and the policy that this one extends allows 3 at most (o.yaml:2)",
		"agents: [builtin, codex]\n":         "p.yaml:3:19: the policy that this one extends does not allow \"codex\" (o.yaml:6)",
		"agents: [claude>=0.99]\n":           "p.yaml:3:10: the policy that this one extends does not allow \"claude>=0.99\" (o.yaml:6)",
		"agents: [claude]\n":                 "p.yaml:3:10: the policy that this one extends does not allow \"claude\" (o.yaml:6)",
		"models: [\"anthropic/*\", \"*\"]\n": "p.yaml:3:25: the policy that this one extends does not allow \"*\" (o.yaml:7)",
		"permission_modes: [dontAsk]\n":      "p.yaml:3:20: the policy that this one extends does not allow \"dontAsk\" (o.yaml:8)",
		"sandbox: {level: off}\n":            "p.yaml:3:18: the sandbox level is off, and the policy that this one extends demands best at least (o.yaml:5)",
		"budgets: {usd: 1}\n":                "p.yaml:3:1: unknown key \"budgets\"; write budget",
		"agents: [cluade]\n":                 "p.yaml:3:10: there is no agent \"cluade\"",
		"agents: [builtin>=1]\n":             "p.yaml:3:10: covey does not know the versions of builtin",
		"agents: [claude>=x]\n":              "p.yaml:3:10: \"x\" is no version",
		"permissions: {allow: [Bash]}\n":     "unknown key \"allow\"",
		"gates: {task: [./gone.sh]}\n":       "p.yaml:3:16: the gate's program",
		"hooks: {PreToolUs: []}\n":           "p.yaml:3:9: unknown event",
	} {
		if _, _, err := extend(t, spec, map[string]string{"o.yaml": outer, "p.yaml": inner(more)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s%v\nwant %s", more, err, want)
		}
	}
	for content, want := range map[string]string{
		"":                  "the policy is empty",
		"covey-policy: 2\n": "this covey reads version 1 of the format, not 2; write covey-policy: 1",
		"version: 1\n":      "has no covey-policy",
		"a: [b\n":           "p.yaml:",
	} {
		if _, _, err := extend(t, spec, map[string]string{"p.yaml": content}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", content, err, want)
		}
	}
}

// TestPolicyFromAServer: a policy that was read once is there without its server, and a copy with another
// content is of no use.
func TestPolicyFromAServer(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	served := teamPolicy
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, served) }))
	url := server.URL + "/p.yaml"
	dir := testkit.Files(t, map[string]string{"demo.yaml": "steps: []\n", "team.yaml": fmt.Sprintf(policySpecText, pinned(url, teamPolicy))})
	load := func() error {
		_, err := Load(filepath.Join(dir, "team.yaml"))
		return err
	}
	served = "covey-policy: 1\n"
	if err := load(); err == nil || !strings.Contains(err.Error(), "write "+pinned(url, served)) {
		t.Errorf("another content: %v", err)
	}
	served = teamPolicy
	if err := load(); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if err := load(); err != nil {
		t.Errorf("without the server: %v", err)
	}
	var copies []string
	testkit.Must(t, filepath.WalkDir(cache, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".yaml") {
			copies = append(copies, path)
		}
		return err
	}))
	if len(copies) != 1 {
		t.Fatalf("copies %v", copies)
	}
	testkit.Must(t, os.WriteFile(copies[0], []byte("covey-policy: 1\n"), 0o600))
	var list Errors
	if err := load(); !errors.As(err, &list) || !strings.Contains(err.Error(), "no copy of it was kept") {
		t.Errorf("a forged copy, no server: %v", err)
	}
}

// TestPolicyOfManyCheckouts: of forty checkouts that extend one policy, all refuse when the policy has changed, and
// all pass when they name its new digest.
func TestPolicyOfManyCheckouts(t *testing.T) {
	t.Parallel()
	stricter := strings.Replace(teamPolicy, "version: 3", "version: 4", 1)
	dir := testkit.Files(t, map[string]string{"p.yaml": teamPolicy})
	policy := filepath.Join(dir, "p.yaml")
	const checkouts = 40
	passed := func(content string) (n int) {
		for i := range checkouts {
			checkout := filepath.Join(dir, fmt.Sprint(i))
			for name, text := range map[string]string{"demo.yaml": "steps: []\n", "team.yaml": fmt.Sprintf(policySpecText, pinned("../p.yaml", content))} {
				if err := errors.Join(os.MkdirAll(checkout, 0o700), os.WriteFile(filepath.Join(checkout, name), []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Load(filepath.Join(checkout, "team.yaml")); err == nil {
				n++
			}
		}
		return n
	}
	if n := passed(teamPolicy); n != checkouts {
		t.Errorf("%d of %d checkouts pass", n, checkouts)
	}
	if err := os.WriteFile(policy, []byte(stricter), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := passed(teamPolicy); n != 0 {
		t.Errorf("%d of %d checkouts pass with the digest of the old policy", n, checkouts)
	}
	if n := passed(stricter); n != checkouts {
		t.Errorf("%d of %d checkouts pass with the new digest", n, checkouts)
	}
}
