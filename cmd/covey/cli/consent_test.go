package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/trust"
)

// TestNotFromInside: what runs below a team cannot give trust; what runs beside
// one can.
func TestNotFromInside(t *testing.T) {
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	teamtest.WriteRun(t, place, func(*state.RunFile) {}) // runs as this process, which is not below itself
	if err := NotFromInside("--trust"); err != nil {
		t.Errorf("beside a team: %v", err)
	}
	if !descends(os.Getpid(), os.Getppid()) {
		t.Skip("which processes are below others is not known here")
	}
	if descends(os.Getppid(), os.Getpid()) || descends(os.Getpid(), teamtest.DeadProcess(t)) {
		t.Error("a process descends from one that it does not descend from")
	}
}

// trustTeam is a team whose spec is in a folder.
func trustTeam(dir string) *configs.Team { return &configs.Team{File: filepath.Join(dir, "team.yaml")} }

// TestTrustTextOfSomethingNew lists all that would run, files by their way from
// the spec, and disarms what the workspace wrote.
func TestTrustTextOfSomethingNew(t *testing.T) {
	s, _ := teamtest.Screen()
	dir := t.TempDir()
	r := trust.Report{Items: []trust.Item{
		{Run: trust.Run{Kind: trust.Spec, Path: filepath.Join(dir, "team.yaml")}, Hash: "x"},
		{Run: trust.Run{Kind: trust.Gate, Event: "Stop", Command: "rm -rf /\x1b[2K\necho fine"}, Hash: "x"},
		{Run: trust.Run{Kind: trust.RunFile, Path: filepath.Join(dir, "gates", "x.sh")}},
		{Run: trust.Run{Kind: trust.Settings, Path: "/etc/settings.json"}, Hash: "x"},
	}}
	got := TrustText(t.Context(), s, trustTeam(dir), r)
	want := filepath.Join(dir, "team.yaml") + ` would run what this workspace brings:
  spec     team.yaml
  gate     Stop: rm -rf /\x1b[2K echo fine
  file     gates/x.sh (is not there)
  settings /etc/settings.json
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTrustTextOfAChange shows the difference, coloured on a terminal, and no
// more of it than a person can read.
func TestTrustTextOfAChange(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("+new\n", 3*maxDiff)
	r := trust.Report{Known: true, Changes: []trust.Change{
		{Kind: trust.ItemNew, Run: trust.Run{Kind: trust.Hook, Event: "Stop", Command: "./new.sh"}},
		{Kind: trust.ItemChanged, Run: trust.Run{Kind: trust.Script, Path: filepath.Join(dir,
			"a.yaml")},
			Diff: "-old\x1b[1A\n" + long},
		{Kind: trust.ItemRemoved, Run: trust.Run{Kind: trust.Script, Path: filepath.Join(dir,
			"b.yaml")}},
	}}
	got := TrustText(t.Context(), &term.Screen{Color: true}, trustTeam(dir), r)
	for _, want := range []string{
		"has changed since it was trusted:\n",
		"  new      hook     Stop: ./new.sh\n",
		"  changed  script   a.yaml\n",
		"    \x1b[31m-old\\x1b[1A\x1b[0m\n",
		"    \x1b[32m+new\x1b[0m\n",
		fmt.Sprintf("… %d more lines", 3*maxDiff+1-maxDiff),
		"  removed  script   b.yaml\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%q", want, got)
		}
	}
	if n := strings.Count(got, "+new"); n != maxDiff-1 {
		t.Errorf("%d lines of the difference, want %d", n, maxDiff-1)
	}
}

func TestIsYes(t *testing.T) {
	for answer, want := range map[string]bool{
		"y\n": true, "Y\n": true, " yes \r\n": true, "YES": true,
		"": false, "\n": false, "n\n": false, "yeah\n": false, "yy": false, "maybe yes": false,
	} {
		if isYes(answer) != want {
			t.Errorf("isYes(%q) = %t", answer, !want)
		}
	}
}
