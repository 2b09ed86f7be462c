package teamtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Place creates the place of a team with a workspace of its own.
func Place(t *testing.T, team string) state.Place {
	t.Helper()
	place, err := state.PlaceOf(team, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := place.Create(); err != nil {
		t.Fatal(err)
	}
	return place
}

// WriteRun writes a run.json of this process after change.
func WriteRun(t *testing.T, place state.Place, change func(*state.RunFile)) {
	t.Helper()
	run := state.NewRunFile(place, time.Now(), 1)
	run.Members = []string{"lead", "ana"}
	change(&run)
	if err := run.Write(place); err != nil {
		t.Fatal(err)
	}
}

// OtherVersion makes this process look as covey 9.0.0 that runs a team.
func OtherVersion(t *testing.T, place state.Place) {
	t.Helper()
	WriteRun(t, place, func(r *state.RunFile) { r.Protocol, r.Version = 7, "9.0.0" })
	if err := os.MkdirAll(filepath.Dir(place.Socket()), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", place.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintln(c, `{"covey":2,"hello":"world"}`)
		}
	}()
}

// WriteJournal writes a journal with these lines.
func WriteJournal(t *testing.T, place state.Place, lines ...events.Line) {
	t.Helper()
	var text bytes.Buffer
	for i, l := range lines {
		l.Seq, l.Team = uint64(i+1), place.Team
		if l.Data == nil {
			l.Data = json.RawMessage("{}")
		}
		if err := json.NewEncoder(&text).Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(place.Journal(), text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// DeadProcess returns the pid of a process that has ended.
func DeadProcess(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Skipf("no program to run: %v", err)
	}
	return cmd.Process.Pid
}

// Screen returns a pipe to print to, and what was printed.
func Screen() (*term.Screen, *bytes.Buffer) {
	var buf bytes.Buffer
	return term.NewScreen(&buf), &buf
}

// Line returns a line of the journal with JSON data, seq seconds after noon.
func Line(seq int, member, kind, data string) events.Line {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.Local).Add(time.Duration(seq) * time.Second)
	return events.Line{Seq: uint64(seq), Time: at, Team: "crew", Member: member, Turn: 2, Type: kind,
		Data: json.RawMessage(data)}
}

// ScriptTeam returns a folder with a valid team on a script.
func ScriptTeam(t *testing.T) string {
	t.Helper()
	return TeamDir(t, "exhausted: stop\nsteps: [{say: Well., times: -1}]\n")
}

// TeamDir returns a folder with a team whose lead follows script.
func TeamDir(t *testing.T, script string) string {
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

// TwoRuns returns the lines of two runs of a team.
func TwoRuns() []events.Line {
	finished := func(outcome string) events.Line {
		return Line(0, "ana", "hook_finished", `{"event":"Stop","command":"./x","outcome":"`+outcome+
			fmt.Sprintf(`","failed_open":%t}`, outcome == "cancelled" || outcome == "non_blocking_error"))
	}
	return []events.Line{
		Line(0, "", "team_started", `{"goal":"Ship","members":["lead","old"]}`),
		Line(0, "old", "member_started", `{"agent":"builtin/script"}`),
		finished("non_blocking_error"),
		Line(0, "", "team_ended", `{"reason":"interrupted"}`),
		Line(0, "", "team_started", `{"goal":"Ship","members":["lead","ana"],"resumed":true}`),
		Line(0, "lead", "member_started", `{"agent":"builtin/script"}`),
		Line(0, "ana", "member_started", `{"agent":"builtin/script"}`),
		Line(0, "operator", "message", `{"to":"lead","text":"hi"}`),
		Line(0, "ana", "turn_started", `{"cause":"task"}`),
		finished("success"), finished("blocking"), finished("cancelled"), finished("non_blocking_error"),
		Line(0, "ana", "hook_feedback", `{"event":"Stop","text":"no"}`),
		Line(0, "ana", "turn_ended", `{"reason":"completed","usage":{"input_tokens":900,"output_tokens":120}}`),
		Line(0, "ana", "turn_ended", `{"reason":"completed","usage":{"input_tokens":100,"output_tokens":80}}`),
		Line(0, "ana", "needs_attention", `{"reason":"8 refusals"}`),
	}
}

// BusyDay returns n lines of a team whose members work on tasks, are refused, ask and merge.
func BusyDay(n, members int) []events.Line {
	lines := []events.Line{Line(1, "", "team_started", `{"goal":"Ship it","members":["m0","m1"]}`)}
	for i := 1; len(lines) < n; i++ {
		name := fmt.Sprintf("m%d", i%members)
		task := fmt.Sprintf(`"task":{"id":"%d","subject":"Task %d","owner":"%s","blockedBy":["%d"],"evidence":[{"text":"seen","by":"%s"}]`, i, i, name, i-2, name)
		merge := fmt.Sprintf(`{"id":"%d","member":"%s","branch":"b%d","into":"main","tasks":["%d"],"title":"Task %d","commit":"c"`, i, name, i, i, i)
		for _, one := range [][2]string{
			{"member_started", `{"agent":"builtin/script"}`},
			{"message", fmt.Sprintf(`{"id":"M%d","from":"m0","to":"%s","kind":"text","text":"Do it","summary":"Do it"}`, i, name)},
			{"turn_started", `{"cause":"task","prompt":"Do it"}`},
			{"task", `{"op":"claimed","by":"` + name + `",` + task + `,"status":"in_progress","epoch":1}}`},
			{"pass_started", `{"pass":1}`},
			{"tool_call", fmt.Sprintf(`{"id":"c%d","name":"Bash","input":{"command":"go test ./..."}}`, i)},
			{"tool_result", fmt.Sprintf(`{"id":"c%d","name":"Bash","content":"ok"}`, i)},
			{"gate", fmt.Sprintf(`{"event":"TaskCompleted","tool_use_id":"t%d","task_id":"%d"}`, i, i)},
			{"hook_started", fmt.Sprintf(`{"event":"TaskCompleted","tool_use_id":"t%d","command":"go test ./..."}`, i)},
			{"hook_finished", fmt.Sprintf(`{"event":"TaskCompleted","tool_use_id":"t%d","command":"go test ./...","outcome":"blocking","stderr":"FAIL"}`, i)},
			{"hook_feedback", fmt.Sprintf(`{"event":"TaskCompleted","tool_use_id":"t%d","text":"FAIL","path":"turn_end","task_id":"%d"}`, i, i)},
			{"request", fmt.Sprintf(`{"id":"r%d","kind":"permission","member":"%s","to":"operator","state":"approved","text":"Bash"}`, i, name)},
			{"task", `{"op":"completed","by":"` + name + `",` + task + `,"status":"completed","epoch":1}}`},
			{"merge", merge + `,"state":"merged"}`},
			{"turn_ended", `{"reason":"completed","usage":{"input_tokens":900},"cost_usd":0.01}`},
		} {
			l := Line(len(lines)+1, name, one[0], one[1])
			l.Turn = i/members + 1
			lines = append(lines, l)
		}
	}
	return lines[:n]
}
