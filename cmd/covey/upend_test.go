package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// printer is a program that prints to a buffer.
func printer() (*cli.Env, *bytes.Buffer, *bytes.Buffer) {
	var out, errOut bytes.Buffer
	return cli.New(strings.NewReader(""), &out, &errOut, "devel"), &out, &errOut
}

// endedTeam is the ending of a team of two.
func endedTeam() orchestrator.Ending {
	return orchestrator.Ending{
		Reason: "all work is done", Answer: "\nIt is \x1b[1mdone\x1b[0m.\nAll of it.\n", Elapsed: 83 * time.Second,
		Tasks: map[tasks.Status]int{tasks.Completed: 12, tasks.Pending: 1},
		Members: []orchestrator.MemberEnding{
			{Name: "lead", Agent: "builtin/script", Turns: 2, Passes: 7, State: api.Resting},
			{Name: "ana", Agent: "builtin/script", Turns: 4, Passes: 19, Completed: []string{"10", "2", "9"}, Refusals: 3,
				Tokens: 12345, State: api.NeedsAttention, Reason: "8 refusals"},
		},
		Merged:   []string{"2 pieces of work merged into main (0123456789)"},
		Problems: []string{"ana: 8 refusals\nin a row"},
	}
}

// TestDetachedLoser: of two that start a team in the background at once, the one that is too late says
// which process runs it, and not what both have logged.
func TestDetachedLoser(t *testing.T) {
	t.Setenv("COVEY_STATE_HOME", t.TempDir())
	place, err := state.PlaceOf("crew", t.TempDir())
	if err == nil {
		err = place.Create()
	}
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(place.Dir, "up.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	lose := func() error {
		child := exec.Command("sh", "-c", "echo some log; exit 1")
		child.Stdout = log
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		c, _, _ := printer()
		return reportFailure(c.Out, place, child, log, 0)
	}
	if err := lose(); err == nil || !strings.Contains(err.Error(), "did not come up:\nsome log") {
		t.Errorf("with no other covey: %v", err)
	}
	lock, err := state.LockTeam(place)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	err = lose()
	if want := fmt.Sprintf("another covey runs the team, so this one started nothing: team crew in %s: already run by process %d; ",
		place.Workspace, os.Getpid()); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "some log") {
		t.Errorf("the loser says %v, want %s", err, want)
	}
	if cli.ExitCode(err) != cli.ExitFailed {
		t.Errorf("code %d", cli.ExitCode(err))
	}
}

func TestReport(t *testing.T) {
	c, out, _ := printer()
	e := endedTeam()
	e.Code = orchestrator.CodeUnfinished
	counted := &view.State{}
	for i := range 3 {
		counted.Apply(teamtest.Line(i+1, "ana", "hook_finished", `{"event":"Stop","command":"./gone.sh",`+
			`"outcome":"non_blocking_error","exit_code":127,"stderr":"not found","failed_open":true}`).Event())
	}
	printReport(c.Out, "crew", e, counted)
	want := `
It is \x1b[1mdone\x1b[0m.
All of it.

crew: all work is done · done 12 of 13 · 1m23s
2 pieces of work merged into main (0123456789)

MEMBER  AGENT           STATE            TURNS  PASSES  TASKS DONE  REFUSALS  TOKENS
lead    builtin/script  idle             2      7       -           0         0
ana     builtin/script  needs attention  4      19      2, 9, 10    3         12345
! ana: 8 refusals in a row
! ana: 3 hooks failed open: ./gone.sh (exit 127) ×3
  covey hooks doctor tells why
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// TestReportOfLittle: a run without tasks, answer and members is one line.
func TestReportOfLittle(t *testing.T) {
	c, out, _ := printer()
	printReport(c.Out, "crew", orchestrator.Ending{Reason: "nothing to do"}, &view.State{})
	if got := out.String(); got != "\ncrew: nothing to do · 0s\n" {
		t.Errorf("got %q", got)
	}
}

func TestEndHint(t *testing.T) {
	for _, tc := range []struct {
		name string
		e    orchestrator.Ending
		job  bool
		want string
	}{
		{"done", orchestrator.Ending{}, false, ""},
		{"done before", orchestrator.Ending{AlreadyDone: true}, false, "--fresh"},
		{"interrupted", orchestrator.Ending{Code: orchestrator.CodeInterrupted}, false, "continues it where it stopped"},
		{"unfinished", orchestrator.Ending{Code: orchestrator.CodeUnfinished}, false, "covey logs MEMBER"},
		{"a limit", orchestrator.Ending{Code: orchestrator.CodeLimit}, false, "covey logs MEMBER"},
		{"a job", orchestrator.Ending{}, true, ""},
		{"a job with a limit", orchestrator.Ending{Code: orchestrator.CodeLimit}, true, "the next job begins anew"},
	} {
		if got := endHint(tc.e, tc.job); !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestTokensText: what a program does not tell is not nothing.
func TestTokensText(t *testing.T) {
	for _, tc := range []struct {
		tokens  int64
		unknown bool
		want    string
	}{{0, false, "0"}, {7, false, "7"}, {0, true, "unknown"}, {7, true, "7+"}} {
		if got := tokensText(orchestrator.MemberEnding{Tokens: tc.tokens, TokensUnknown: tc.unknown}); got != tc.want {
			t.Errorf("%d, unknown %v: %q, want %q", tc.tokens, tc.unknown, got, tc.want)
		}
	}
}

// TestLastWord: the report has said why a run has not finished. Of a full disk stderr
// tells in any case, since the report may tell only what came of it.
func TestLastWord(t *testing.T) {
	full := errors.New("the disk is full; make room")
	for _, tc := range []struct {
		json bool
		full error
		want string
	}{
		{false, nil, ""}, {false, full, "the disk is full; make room"}, {true, nil, "team crew: nobody can go on"},
		{true, full, "team crew: nobody can go on; the disk is full; make room"},
	} {
		r := &teamRun{team: &configs.Team{Name: "crew"}, flags: upFlags{json: tc.json}}
		got := ""
		if err := r.finalError(orchestrator.Ending{Reason: "nobody can go on", Full: tc.full}); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("json %v, full %v: %q, want %q", tc.json, tc.full, got, tc.want)
		}
	}
}

// TestWithFault: an error that ends a team gets a code at its end; what no team has begun
// for, or what was said already, gets none.
func TestWithFault(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("team crew: %w", state.ErrRunning), "team crew: already run [running]"},
		{errors.New("no idea"), "no idea [unexpected]"},
		{errStopped, "interrupted [interrupted]"}, // of a standby
		{cli.Usagef("wrong flag"), "wrong flag"},
		{fmt.Errorf("team.yaml is %w", cli.ErrNotTrusted), "team.yaml is not trusted"},
		{&cli.EndError{Code: 1, Err: errors.New("said")}, "said"},
	} {
		got := withFault(tc.err)
		if got.Error() != tc.want || !errors.Is(got, tc.err) {
			t.Errorf("%v becomes %v, want %s", tc.err, got, tc.want)
		}
	}
	if withFault(nil) != nil {
		t.Error("no error becomes one")
	}
	stuck := orchestrator.Ending{Code: orchestrator.CodeInterrupted, Reason: "interrupted"}
	if line := endLine("crew", stuck); !strings.HasSuffix(line, " [interrupted]") {
		t.Errorf("the end is told as %s", line)
	}
	if line := endLine("crew", orchestrator.Ending{Reason: "all work is done"}); strings.Contains(line, "[") {
		t.Errorf("a team that is done is told as %s", line)
	}
}
