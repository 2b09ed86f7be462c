package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestLooksLikeSpec tells specs from goals.
func TestLooksLikeSpec(t *testing.T) {
	dir := teamtest.ScriptTeam(t)
	if err := os.MkdirAll(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, _ := printer()
	c.Dir = dir
	for arg, want := range map[string]bool{
		"team.yaml": true, "gone.yaml": true, "x.yml": true, "X.JSON": true, "Makefile": true, ".": true, dir: true,
		"empty": true, "Fix the login": false, "gone": false, "": true, // the folder itself
		"see team.yaml now": false, "gone/quickstart": true, "fix pkg/store": false,
	} {
		if got := looksLikeSpec(c, arg); got != want {
			t.Errorf("looksLikeSpec(%q) = %t", arg, got)
		}
	}
}

func TestSpecAndGoal(t *testing.T) {
	teamtest.StateHome(t)
	dir := teamtest.ScriptTeam(t)
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
			c.Dir = dir
			var args []string
			if tc.args != "" {
				args = strings.Split(tc.args, "|")
			}
			spec, goal, err := specAndGoal(c, args)
			if err != nil || spec != at(tc.spec) || goal != tc.goal {
				t.Errorf("%q, %q (%v), want %q, %q", spec, goal, err, at(tc.spec), tc.goal)
			}
		})
	}
}

// TestSpecOfATeam: --team alone means the spec with which that team ran last,
// wherever that was.
func TestSpecOfATeam(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	c, _, _ := printer()
	c.Dir, c.Team = t.TempDir(), "crew"
	if _, _, err := specAndGoal(c, nil); err == nil || !strings.Contains(err.Error(), "no record of its spec") {
		t.Errorf("a team that never ran: %v", err)
	}
	teamtest.WriteRun(t, place, func(r *state.RunFile) { r.Spec = "/elsewhere/team.yaml" })
	spec, goal, err := specAndGoal(c, []string{"More of it"})
	if err != nil || spec != "/elsewhere/team.yaml" || goal != "More of it" {
		t.Errorf("%q, %q (%v)", spec, goal, err)
	}
}

func TestInit(t *testing.T) {
	dir := t.TempDir()
	wrote, err := writeStarter(t.Context(), dir, nil, false)
	if err != nil || len(wrote) < 2 {
		t.Fatalf("wrote %v (%v)", wrote, err)
	}
	for _, path := range wrote {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	before, err := os.ReadFile(filepath.Join(dir, cli.DefaultSpec))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, cli.DefaultSpec), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := writeStarter(t.Context(), dir, nil, false); err == nil || !strings.Contains(err.Error(),
		"--force") {
		t.Errorf("overwrote a spec: %v", err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, cli.DefaultSpec)); err != nil || string(data) != "mine" {
		t.Errorf("the spec is now %q (%v)", data, err)
	}
	if _, err := writeStarter(t.Context(), dir, nil, true); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, cli.DefaultSpec)); err != nil || len(after) < len(before)/2 {
		t.Errorf("--force wrote %q (%v)", after, err)
	}
}

// TestUsualAgents: what is chosen without a question. A model is only taken where there is
// no program, and one of them is enough.
func TestUsualAgents(t *testing.T) {
	codex, claude := candidate{agent: "codex"}, candidate{agent: "claude", ready: true}
	big, small := candidate{agent: "anthropic/big", ready: true}, candidate{agent: "ollama/small:1b", ready: true}
	broken := candidate{agent: "openai/broken"}
	for name, tc := range map[string]struct {
		found []candidate
		want  []starterAgent
	}{
		"nothing":             {nil, nil},
		"a login":             {[]candidate{codex, claude, big}, []starterAgent{"claude"}},
		"a program, no login": {[]candidate{codex, big}, nil},
		"models":              {[]candidate{broken, big, small}, []starterAgent{"anthropic/big"}},
		"a model that fails":  {[]candidate{broken}, nil},
	} {
		if got := usualAgents(tc.found); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	got, err := readChoice("3 Ollama/Small:1b", []candidate{codex, claude, big, small})
	if err != nil || !slices.Equal(got, []starterAgent{"anthropic/big", "ollama/small:1b"}) {
		t.Errorf("chose %v, %v", got, err)
	}
}
