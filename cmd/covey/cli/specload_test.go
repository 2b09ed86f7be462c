package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestSpecTrouble: what is wrong with a spec is wrong usage, whatever it is.
func TestSpecTrouble(t *testing.T) {
	c, _, errOut := program()
	dir := teamtest.ScriptTeam(t)
	for name, text := range map[string]string{
		"mistake.yaml": "covey: 1\nnmae: x\n", "empty.yaml": "", "binary.yaml": "\x00\x01",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.LoadSpec(path); ExitCode(err) != ExitUsage ||
			!strings.HasPrefix(ErrorText(err), path+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.LoadSpec(filepath.Join(dir, "gone.yaml")); ExitCode(err) != ExitUsage {
		t.Errorf("a spec that is not there: %v", err)
	}
	if team, err := c.LoadSpec(filepath.Join(dir, "team.yaml")); err != nil || team.Name != "crew" ||
		errOut.Len() > 0 {
		t.Errorf("a good spec: %v, %q", err, errOut)
	}
}

func TestSpecArg(t *testing.T) {
	for path, want := range map[string]string{"team.yaml": "", "./team.yaml": "", "x/team.yaml": " x/team.yaml", "/a.yaml": " /a.yaml"} {
		if got := SpecArg(path); got != want {
			t.Errorf("specArg(%q) = %q, want %q", path, got, want)
		}
	}
}

// TestSpecRequires: a spec for another covey is wrong usage, in every command that reads one.
func TestSpecRequires(t *testing.T) {
	c, _, _ := program()
	c.Version = "0.1.0"
	path := filepath.Join(teamtest.ScriptTeam(t), "team.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "requires: '>=0.2'\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.LoadSpec(path); ExitCode(err) != ExitUsage ||
		!strings.Contains(err.Error(), "requires covey >=0.2, and this is covey 0.1.0") {
		t.Errorf("an older covey: %v", err)
	}
}
