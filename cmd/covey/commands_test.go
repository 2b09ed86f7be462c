package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/journal"
)

// TestConcerns: a member's log has its own lines, mail for it, and its tasks.
func TestConcerns(t *testing.T) {
	mine := concerns("ana")
	for _, tc := range []struct {
		name string
		line journal.Line
		want bool
	}{
		{"its own", lineAt(1, "ana", "text", `{"text":"x"}`), true},
		{"another's", lineAt(1, "ben", "text", `{"text":"ana"}`), false},
		{"mail for it", lineAt(1, "ben", "message", `{"from":"ben","to":"ana"}`), true},
		{"mail of others", lineAt(1, "ben", "message", `{"from":"ben","to":"lead"}`), false},
		{"its task", lineAt(1, "ben", "task", `{"op":"completed","task":{"id":"1","owner":"ana"}}`), true},
		{"another's task", lineAt(1, "", "task", `{"op":"completed","task":{"id":"1","owner":"ben"}}`), false},
		{"the team's", lineAt(1, "", "team_ended", `{"reason":"done"}`), false},
	} {
		if got := mine(tc.line); got != tc.want {
			t.Errorf("%s: %t", tc.name, got)
		}
	}
}

// TestLogsOfATail: the last entries are entries that tell something, unless
// JSON is wanted.
func TestLogsOfATail(t *testing.T) {
	stateHome(t)
	place := newPlace(t, "crew")
	writeJournal(t, place,
		lineAt(0, "ana", "text", `{"text":"one"}`), lineAt(0, "ana", "text", `{"text":"two"}`),
		lineAt(0, "ana", "hook_started", `{"event":"Stop"}`), lineAt(0, "ana", "message_delivered", `{"id":"m"}`))
	all := func(journal.Line) bool { return true }
	for _, tc := range []struct {
		name  string
		flags logFlags
		want  []string
		not   string
	}{
		{"the last", logFlags{lines: 1}, []string{"two"}, "one"},
		{"more than there are", logFlags{lines: 50}, []string{"one", "two"}, "Stop"},
		{"all", logFlags{}, []string{"one", "two"}, "Stop"},
		{"the last in JSON", logFlags{lines: 2, json: true}, []string{"hook_started", "message_delivered"}, "two"},
		{"following a team that does not run", logFlags{lines: 1, follow: true}, []string{"two"}, "one"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, out, _ := printer()
			if err := c.logs(t.Context(), place, tc.flags, all); err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if strings.Count(out.String(), want) != 1 {
					t.Errorf("%q is not there once in\n%s", want, out)
				}
			}
			if strings.Contains(out.String(), tc.not) {
				t.Errorf("%q is in\n%s", tc.not, out)
			}
		})
	}
}

// TestLogsOfDamage: damaged lines are told of on stderr, and the rest is shown.
func TestLogsOfDamage(t *testing.T) {
	stateHome(t)
	place := newPlace(t, "crew")
	c, _, _ := printer()
	all := func(journal.Line) bool { return true }
	if err := c.logs(t.Context(), place, logFlags{}, all); err == nil || !strings.Contains(err.Error(), "no journal yet") {
		t.Errorf("no journal: %v", err)
	}
	text := "{\"seq\":1,\"type\":\"text\",\"data\":{\"text\":\"one\"}}\nnot JSON \x1b[2J\n{\"seq\":2,\"type\":\"text\",\"data\":{\"text\":\"two\"}}\n"
	if err := os.WriteFile(place.Journal(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, out, errOut := printer()
	if err := c.logs(t.Context(), place, logFlags{}, all); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "one") || !strings.Contains(out.String(), "two") {
		t.Errorf("printed %q", out)
	}
	if !strings.Contains(errOut.String(), "damaged line at byte") || strings.Contains(errOut.String(), "\x1b") {
		t.Errorf("stderr %q", errOut)
	}
}

func TestTextOf(t *testing.T) {
	for _, tc := range []struct {
		name  string
		args  []string
		stdin string
		want  string // empty: an error of usage
	}{
		{"words", []string{"look", "at this"}, "", "look at this"},
		{"stdin", []string{"-"}, "from\nstdin\n", "from\nstdin\n"},
		{"a dash among words", []string{"a", "-"}, "ignored", "a -"},
		{"nothing", []string{" ", ""}, "", ""},
		{"nothing on stdin", []string{"-"}, "\n", ""},
		{"not UTF-8", []string{"a\xffb"}, "", "a\ufffdb"},
		{"much", []string{"-"}, strings.Repeat("x", 10<<20), strings.Repeat("x", 10<<20)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCLI(strings.NewReader(tc.stdin), &bytes.Buffer{}, &bytes.Buffer{})
			got, err := c.textOf(tc.args, "say something")
			if err != nil && err.Error() != "say something" {
				t.Error(err)
			}
			if got != tc.want || (exitCode(err) == exitUsage) != (tc.want == "") {
				t.Errorf("%d bytes (%v), want %d", len(got), err, len(tc.want))
			}
		})
	}
}

func TestDeliveryText(t *testing.T) {
	for _, tc := range []struct {
		d        orchestrator.Delivery
		to, want string
	}{
		{orchestrator.Delivered, "ana", "delivered to ana"},
		{orchestrator.Queued, "ana", "queued for ana: stored; it is read as soon as that can be"},
		{orchestrator.Delivered, "*", "delivered to everybody"},
		{orchestrator.Queued, "a\x1b", `queued for a\x1b: stored; it is read as soon as that can be`},
	} {
		if got := deliveryText(tc.d, tc.to); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

func TestTeamSummary(t *testing.T) {
	team := &configs.Team{Name: "crew", Teammates: make([]configs.Member, 2), Tasks: make([]configs.Task, 1)}
	if got := teamSummary(team); got != "team crew, 3 members, 1 task" {
		t.Errorf("got %q", got)
	}
	if got := teamSummary(&configs.Team{Name: "solo"}); got != "team solo, 1 member" {
		t.Errorf("got %q", got)
	}
}

// TestBackgroundArgs: the program in the background gets the same team, and
// nothing that it would have to ask for.
func TestBackgroundArgs(t *testing.T) {
	team := &configs.Team{File: "/x/team.yaml"}
	for _, tc := range []struct {
		flags upFlags
		goal  string
		want  string
	}{
		{upFlags{detach: true}, "", "up --trust --allow-unenforced -- /x/team.yaml"},
		{upFlags{keep: true, fresh: true, trust: true}, "-v is a flag", "up --trust --allow-unenforced --keep --fresh -- /x/team.yaml|-v is a flag"},
	} {
		want := slices.Concat(strings.Fields(strings.Split(tc.want, "|")[0]), strings.Split(tc.want, "|")[1:])
		if got := backgroundArgs(team, tc.flags, tc.goal); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestFindParent: who was not started in the background has nobody to tell.
func TestFindParent(t *testing.T) {
	for _, value := range []string{"", "x", "-1", "2"} {
		t.Setenv(readyVariable, value)
		if p := findParent(); p != nil {
			t.Errorf("%s=%s: found a parent", readyVariable, value)
		}
	}
	(*parent)(nil).tell() // must not fail
}

// TestParentHears: the word goes through the descriptor once, and the variable
// that names it is gone.
func TestParentHears(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	p := &parent{write}
	p.tell()
	buf := make([]byte, 16)
	if n, err := read.Read(buf); err != nil || string(buf[:n]) != "up\n" {
		t.Errorf("heard %q (%v)", buf[:n], err)
	}
	if n, err := read.Read(buf); err == nil || n != 0 {
		t.Error("the descriptor stays open")
	}
}

func TestStatusLine(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	base := orchestrator.Status{Team: "crew", Workspace: "/x\x1b", Started: now.Add(-90 * time.Second)}
	for _, tc := range []struct {
		name   string
		change func(*orchestrator.Status)
		want   string
	}{
		{"starting", func(s *orchestrator.Status) { s.PID = 7 }, `crew in /x\x1b · starting (process 7)`},
		{"running", func(s *orchestrator.Status) { s.PID, s.Up, s.Tasks.Completed, s.Tasks.Pending = 7, true, 1, 2 },
			`crew in /x\x1b · running for 1m30s (process 7) · 1 of 3 tasks done`},
		{"cut off", func(*orchestrator.Status) {},
			`crew in /x\x1b · not running; the last run was cut off, covey up takes it up again`},
		{"ended", func(s *orchestrator.Status) {
			s.Result = &orchestrator.RunResult{Reason: "all\nis done", ExitCode: 0, Ended: now.Add(-2 * time.Hour)}
		}, "crew in /x\\x1b · not running\nlast run: all is done (code 0, 2h00m ago)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := base
			tc.change(&s)
			if got := statusLine(s, now); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestPrintStatus: what a member does stands where what it waits for would, and
// who needs attention is told of with the way out.
func TestPrintStatus(t *testing.T) {
	c, out, _ := printer()
	c.printStatus(orchestrator.Status{Team: "crew", Workspace: "/x", PID: 7, Up: true, FailOpen: 2, Members: []orchestrator.MemberStatus{
		{Name: "lead", Agent: "builtin/script", State: orchestrator.Working, Turn: 2, Pass: 3, Doing: "Bash ls", WaitsFor: "x"},
		{Name: "ana", Agent: "builtin/script", State: orchestrator.Resting, Turn: 1, WaitsFor: "task 1", Unread: 4},
		{Name: "ben", Agent: "builtin/script", State: orchestrator.NeedsAttention, Attention: "8\nrefusals", Task: "2",
			Subject: "Do it", Refusals: 8, Hooks: []orchestrator.HookCount{{Command: "./x", FailedOpen: 2, Why: "exit 1"}}},
	}}, time.Now())
	_, got, _ := strings.Cut(out.String(), "\n\n")
	want := `MEMBER  AGENT           STATE            TURN  PASS  TASK     WAITS FOR  UNREAD  REFUSALS
lead    builtin/script  working          2     3     -        Bash ls    0       0
ana     builtin/script  idle             1     -     -        task 1     4       0
ben     builtin/script  needs attention  -     -     2 Do it  -          0       8
! ben needs attention: 8 refusals
  covey logs ben tells what happened; covey send ben TEXT helps it on
! ben: 2 hooks failed open: ./x (exit 1) ×2
  covey hooks doctor tells why
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestHookInput: files, stdin and nothing; what is too much is refused.
func TestHookInput(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.json"), []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCLI(strings.NewReader(`{"b":2}`), &bytes.Buffer{}, &bytes.Buffer{})
	c.dir = dir
	for path, want := range map[string]string{"": "{}", "in.json": `{"a":1}`, "-": `{"b":2}`} {
		if got, err := c.hookInput(path); err != nil || string(got) != want {
			t.Errorf("--input %q: %s (%v), want %s", path, got, err, want)
		}
	}
	if _, err := c.hookInput("gone.json"); exitCode(err) != exitUsage {
		t.Errorf("a file that is not there: %v", err)
	}
	c.in = bytes.NewReader(make([]byte, maxHookInput+1))
	if _, err := c.hookInput("-"); exitCode(err) != exitUsage {
		t.Errorf("too much: %v", err)
	}
}
