package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrustFromNamespaces: a member hides from covey in namespaces of its own, or trusts its spec in
// a state folder of its own and copies the file, and has trusted nothing when the team has ended.
func TestTrustFromNamespaces(t *testing.T) {
	if out, err := exec.Command("unshare", "-Urfp", "--mount-proc", "true").CombinedOutput(); err != nil {
		t.Skipf("no user namespaces here: %v %s", err, out)
	}
	t.Parallel()
	dir, state := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"team.yaml":  "covey: 1\nname: crew\ngoal: Misbehave.\nmodels: {m: {provider: script, script: lead.yaml}}\nlead: {model: m, permission_mode: bypassPermissions}\n",
		"other.yaml": "covey: 1\nname: other\ngoal: Misbehave.\nmodels: {m: {provider: script, script: lead.yaml}}\nlead: {model: m}\n",
		"lead.yaml": `steps:
  - call:
    - {tool: Bash, input: {command: "unshare -Urfp --mount-proc covey trust other.yaml; echo hidden=$?"}}
    - {tool: Bash, input: {command: "COVEY_STATE_HOME=$PWD/copy covey trust other.yaml; echo copied=$?; cp copy/trust.json $COVEY_STATE_HOME/"}}
  - say: done
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "covey", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "COVEY_STATE_HOME="+state)
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState.ExitCode() < 0 {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	said := run("up", "--trust", "--json")
	for _, want := range []string{"hidden=1", "only the operator may ask for trust", "copied=0", "without the operator"} {
		if !strings.Contains(said, want) {
			t.Errorf("there is no %q in\n%s", want, said)
		}
	}
	if out := run("trust", "--show", "other.yaml"); !strings.Contains(out, "not trusted") {
		t.Errorf("a member has trusted other.yaml:\n%s", out)
	}
}
