package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// stateHome gives a test a state home of its own.
func stateHome(t *testing.T) {
	t.Helper()
	t.Setenv("COVEY_STATE_HOME", filepath.Join(t.TempDir(), "state"))
}

// newPlace makes the place of a team that works in a folder of its own.
func newPlace(t *testing.T, team string) orchestrator.Place {
	t.Helper()
	place, err := orchestrator.PlaceOf(team, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := place.Create(); err != nil {
		t.Fatal(err)
	}
	return place
}

// writeRun writes a run.json as this process would, changed by change.
func writeRun(t *testing.T, place orchestrator.Place, change func(*orchestrator.RunFile)) {
	t.Helper()
	run := orchestrator.NewRunFile(place, time.Now())
	run.Members = []string{"lead", "ana"}
	change(&run)
	if err := run.Write(place); err != nil {
		t.Fatal(err)
	}
}

// writeJournal writes a journal of these lines.
func writeJournal(t *testing.T, place orchestrator.Place, lines ...journal.Line) {
	t.Helper()
	var text []byte
	for i, l := range lines {
		l.Seq, l.Team = uint64(i+1), place.Team
		if l.Data == nil {
			l.Data = json.RawMessage("{}")
		}
		line, err := compactJSON(l)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, line...)
	}
	if err := os.WriteFile(place.Journal(), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// deadProcess is the pid of a process that has ended.
func deadProcess(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Skipf("no program to run: %v", err)
	}
	return cmd.Process.Pid
}

// TestInfoOf tells the states of a team apart by its run.json.
func TestInfoOf(t *testing.T) {
	stateHome(t)
	result := &orchestrator.RunResult{Reason: "all work is done", Ended: time.Now()}
	for _, tc := range []struct {
		name   string
		change func(*orchestrator.RunFile) // nil: there is no run.json
		want   string
	}{
		{"never ran", nil, teamNeverRan},
		{"running", func(*orchestrator.RunFile) {}, teamRunning},
		{"ended", func(r *orchestrator.RunFile) { r.Result = result }, teamEnded},
		{"killed", func(r *orchestrator.RunFile) { r.PID = deadProcess(t) }, teamCutOff},
		{"killed, and another got its pid", func(r *orchestrator.RunFile) { r.Birth = "long ago" }, teamCutOff},
	} {
		t.Run(tc.name, func(t *testing.T) {
			place := newPlace(t, "crew")
			if tc.change != nil {
				writeRun(t, place, tc.change)
			}
			info := infoOf(place)
			if info.State != tc.want || info.Team != "crew" || info.Dir != place.Dir {
				t.Errorf("%+v, want state %q", info, tc.want)
			}
			if (info.PID != 0) != (tc.want == teamRunning) || (info.Result != nil) != (tc.want == teamEnded) {
				t.Errorf("%+v: pid or result do not fit the state", info)
			}
		})
	}
}

// TestPsAll lists running teams first; --team narrows the list.
func TestPsAll(t *testing.T) {
	stateHome(t)
	writeRun(t, newPlace(t, "aaa"), func(r *orchestrator.RunFile) {
		r.Result = &orchestrator.RunResult{Reason: "told to stop", ExitCode: 1, Ended: time.Now()}
	})
	writeRun(t, newPlace(t, "zzz"), func(*orchestrator.RunFile) {})
	c, out, _ := printer()
	if err := c.psAll(false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if !strings.HasPrefix(lines[1], "zzz   running") || !strings.Contains(lines[2], "told to stop (code 1)") {
		t.Errorf("got\n%s", out)
	}
	c, out, _ = printer()
	c.team = "aaa"
	if err := c.psAll(true); err != nil {
		t.Fatal(err)
	}
	var infos []teamInfo
	if err := json.Unmarshal(out.Bytes(), &infos); err != nil || len(infos) != 1 || infos[0].Team != "aaa" {
		t.Errorf("%v, %s", err, out)
	}
}

// TestPsAllOfNobody: no teams are an empty array, not null.
func TestPsAllOfNobody(t *testing.T) {
	stateHome(t)
	c, out, _ := printer()
	if err := c.psAll(true); err != nil || strings.TrimSpace(out.String()) != "[]" {
		t.Errorf("%v, %q", err, out)
	}
}

// TestNotFromInside: what runs below a team cannot give trust; what runs beside
// one can.
func TestNotFromInside(t *testing.T) {
	stateHome(t)
	place := newPlace(t, "crew")
	writeRun(t, place, func(*orchestrator.RunFile) {}) // runs as this process, which is not below itself
	if err := notFromInside("--trust"); err != nil {
		t.Errorf("beside a team: %v", err)
	}
	if !descends(os.Getpid(), os.Getppid()) {
		t.Skip("which processes are below others is not known here")
	}
	if descends(os.Getppid(), os.Getpid()) || descends(os.Getpid(), deadProcess(t)) {
		t.Error("a process descends from one that it does not descend from")
	}
}

// TestKnownMember names those who could be meant.
func TestKnownMember(t *testing.T) {
	stateHome(t)
	place := newPlace(t, "crew")
	if err := knownMember(place, "ana"); err == nil || !strings.Contains(err.Error(), "no record of its members") {
		t.Errorf("before the first run: %v", err)
	}
	writeRun(t, place, func(*orchestrator.RunFile) {})
	if err := knownMember(place, "ana"); err != nil {
		t.Error(err)
	}
	if err := knownMember(place, "bob"); err == nil || !strings.Contains(err.Error(), "lead, ana") {
		t.Errorf("a stranger: %v", err)
	}
}

// teamDir is a folder with a team whose lead does what script says.
func teamDir(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"team.yaml": `covey: 1
name: crew
goal: Get it done.
models: {lead: {provider: script, script: lead.yaml}}
lead: {model: lead, permission_mode: bypassPermissions}
tasks: [{id: a, subject: Do it, owner: lead}]
`,
		"lead.yaml": script,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
