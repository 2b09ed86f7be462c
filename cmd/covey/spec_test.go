package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs/starter"

	"github.com/coveyteam/covey/orchestrator"
)

// TestLooksLikeSpec tells specs from goals.
func TestLooksLikeSpec(t *testing.T) {
	dir := scriptTeam(t)
	if err := os.MkdirAll(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, _ := printer()
	c.dir = dir
	for arg, want := range map[string]bool{
		"team.yaml": true, "gone.yaml": true, "x.yml": true, "X.JSON": true, "Makefile": true, ".": true, dir: true,
		"empty": false, "Fix the login": false, "gone": false, "": true, // the folder itself
		"see team.yaml now": false,
	} {
		if got := c.looksLikeSpec(arg); got != want {
			t.Errorf("looksLikeSpec(%q) = %t", arg, got)
		}
	}
}

func TestSpecAndGoal(t *testing.T) {
	stateHome(t)
	dir := scriptTeam(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, tc := range []struct {
		name, args string // args: separated by |
		spec, goal string
	}{
		{"nothing", "", "team.yaml", ""},
		{"a spec", "team.yaml", "team.yaml", ""},
		{"a spec that is not there", "gone.yaml", "gone.yaml", ""},
		{"a goal", "Fix the login", "team.yaml", "Fix the login"},
		{"both", "other.yaml|Fix it", "other.yaml", "Fix it"},
		{"both, and the first has no ending", "Specfile|Fix it", "Specfile", "Fix it"},
		{"a folder", ".", "team.yaml", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _, _ := printer()
			c.dir = dir
			var args []string
			if tc.args != "" {
				args = strings.Split(tc.args, "|")
			}
			spec, goal, err := c.specAndGoal(args)
			if err != nil || spec != at(tc.spec) || goal != tc.goal {
				t.Errorf("%q, %q (%v), want %q, %q", spec, goal, err, at(tc.spec), tc.goal)
			}
		})
	}
}

// TestSpecOfATeam: --team alone means the spec with which that team ran last,
// wherever that was.
func TestSpecOfATeam(t *testing.T) {
	stateHome(t)
	place := newPlace(t, "crew")
	c, _, _ := printer()
	c.dir, c.team = t.TempDir(), "crew"
	if _, _, err := c.specAndGoal(nil); err == nil || !strings.Contains(err.Error(), "no record of its spec") {
		t.Errorf("a team that never ran: %v", err)
	}
	writeRun(t, place, func(r *orchestrator.RunFile) { r.Spec = "/elsewhere/team.yaml" })
	spec, goal, err := c.specAndGoal([]string{"More of it"})
	if err != nil || spec != "/elsewhere/team.yaml" || goal != "More of it" {
		t.Errorf("%q, %q (%v)", spec, goal, err)
	}
}

// TestFolder: -C must be a folder that is there.
func TestFolder(t *testing.T) {
	dir := scriptTeam(t)
	for path, want := range map[string]string{
		filepath.Join(dir, "gone"):      "there is no such folder",
		filepath.Join(dir, "team.yaml"): "is not a folder",
	} {
		c, _, _ := printer()
		c.dir = path
		if _, err := c.folder(); exitCode(err) != exitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("-C %s: %v, want %q", path, err, want)
		}
	}
	c, _, _ := printer()
	c.dir = dir
	if got, err := c.folder(); err != nil || got != dir {
		t.Errorf("-C %s: %s (%v)", dir, got, err)
	}
	if got := c.path("/absolute"); got != "/absolute" {
		t.Errorf("an absolute path became %s", got)
	}
}

// TestSpecTrouble: what is wrong with a spec is wrong usage, whatever it is.
func TestSpecTrouble(t *testing.T) {
	c, _, errOut := printer()
	dir := scriptTeam(t)
	for name, text := range map[string]string{
		"mistake.yaml": "covey: 1\nnmae: x\n", "empty.yaml": "", "binary.yaml": "\x00\x01",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.loadSpec(path); exitCode(err) != exitUsage || !strings.HasPrefix(errorText(err), path+":") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.loadSpec(filepath.Join(dir, "gone.yaml")); exitCode(err) != exitUsage {
		t.Errorf("a spec that is not there: %v", err)
	}
	if team, err := c.loadSpec(filepath.Join(dir, "team.yaml")); err != nil || team.Name != "crew" || errOut.Len() > 0 {
		t.Errorf("a good spec: %v, %q", err, errOut)
	}
}

// TestInitTellsWhatIsMissing: a spec for a program that is not here is written,
// and who runs it here is told what to install first.
func TestInitTellsWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	c, out, _ := printer()
	if err := c.init(t.TempDir(), initFlags{with: []string{"copilot"}}); err != nil {
		t.Fatal(err)
	}
	if want := "copilot is not installed here; `npm i -g @github/copilot` installs it."; !strings.Contains(out.String(), want) {
		t.Errorf("init said:\n%s", out)
	}
}

func TestInit(t *testing.T) {
	dir := t.TempDir()
	wrote, err := writeStarter(dir, starter.Options{}, false)
	if err != nil || len(wrote) < 2 {
		t.Fatalf("wrote %v (%v)", wrote, err)
	}
	for _, path := range wrote {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	before, err := os.ReadFile(filepath.Join(dir, defaultSpec))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, defaultSpec), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := writeStarter(dir, starter.Options{}, false); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("overwrote a spec: %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, defaultSpec)); err != nil || string(data) != "mine" {
		t.Errorf("the spec is now %q (%v)", data, err)
	}
	if _, err := writeStarter(dir, starter.Options{}, true); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, defaultSpec)); err != nil || len(after) < len(before)/2 {
		t.Errorf("--force wrote %q (%v)", after, err)
	}
}

func TestSpecArg(t *testing.T) {
	for path, want := range map[string]string{"team.yaml": "", "./team.yaml": "", "x/team.yaml": " x/team.yaml", "/a.yaml": " /a.yaml"} {
		if got := specArg(path); got != want {
			t.Errorf("specArg(%q) = %q, want %q", path, got, want)
		}
	}
}
