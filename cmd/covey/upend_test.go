package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/tasks"
)

// printer is a program that prints to a buffer.
func printer() (*cli, *bytes.Buffer, *bytes.Buffer) {
	var out, errOut bytes.Buffer
	return newCLI(strings.NewReader(""), &out, &errOut), &out, &errOut
}

// endedTeam is the ending of a team of two.
func endedTeam() orchestrator.Ending {
	return orchestrator.Ending{
		Reason: "all work is done", Answer: "\nIt is \x1b[1mdone\x1b[0m.\nAll of it.\n", Elapsed: 83 * time.Second,
		Tasks: map[tasks.Status]int{tasks.Completed: 12, tasks.Pending: 1},
		Members: []orchestrator.MemberEnding{
			{Name: "lead", Agent: "builtin/script", Turns: 2, Passes: 7, State: orchestrator.Resting},
			{Name: "ana", Agent: "builtin/script", Turns: 4, Passes: 19, Completed: []string{"10", "2", "9"}, Refusals: 3,
				Tokens: 12345, State: orchestrator.NeedsAttention, Reason: "8 refusals"},
		},
		Problems: []string{"ana: 8 refusals\nin a row"},
	}
}

func TestReport(t *testing.T) {
	c, out, _ := printer()
	e := endedTeam()
	e.Code = orchestrator.CodeUnfinished
	failed := &failOpens{}
	for range 3 {
		failed.note(lineAt(1, "ana", "hook_finished",
			`{"event":"Stop","command":"./gone.sh","outcome":"non_blocking_error","exit_code":127,"stderr":"not found"}`))
	}
	c.report("crew", e, failed)
	want := `
It is \x1b[1mdone\x1b[0m.
All of it.

crew: all work is done · 12 of 13 tasks completed · 1m23s

MEMBER  AGENT           STATE            TURNS  PASSES  COMPLETED  REFUSALS  TOKENS
lead    builtin/script  idle             2      7       -          0         0
ana     builtin/script  needs attention  4      19      2, 9, 10   3         12345
! ana: 8 refusals in a row

Hooks that failed and let it pass:
  Stop hook ./gone.sh (3 times): not found

covey logs MEMBER tells what happened, covey tasks graph what waits for what; covey up takes it up again.
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// TestReportOfLittle: a run without tasks, answer and members is one line.
func TestReportOfLittle(t *testing.T) {
	c, out, _ := printer()
	c.report("crew", orchestrator.Ending{Reason: "nothing to do"}, &failOpens{})
	if got := out.String(); got != "\ncrew: nothing to do · 0s\n" {
		t.Errorf("got %q", got)
	}
}

func TestEndHint(t *testing.T) {
	for _, tc := range []struct {
		name string
		e    orchestrator.Ending
		want string
	}{
		{"done", orchestrator.Ending{}, ""},
		{"done before", orchestrator.Ending{AlreadyDone: true}, "--fresh"},
		{"interrupted", orchestrator.Ending{Code: orchestrator.CodeInterrupted}, "takes it up again where it was"},
		{"unfinished", orchestrator.Ending{Code: orchestrator.CodeUnfinished}, "covey logs MEMBER"},
		{"a limit", orchestrator.Ending{Code: orchestrator.CodeLimit}, "covey logs MEMBER"},
	} {
		if got := endHint(tc.e); !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestFailOpens counts hooks that had no say, by event and command, in the
// order in which they first failed.
func TestFailOpens(t *testing.T) {
	failed := &failOpens{}
	finished := func(event, command, outcome, more string) {
		failed.note(lineAt(1, "ana", "hook_finished",
			fmt.Sprintf(`{"event":%q,"command":%q,"outcome":%q,"exit_code":3%s}`, event, command, outcome, more)))
	}
	finished("Stop", "./b", "cancelled", `,"warning":"timed out"`)
	finished("Stop", "./a", "success", "")
	finished("Stop", "./a", "blocking", "")
	finished("Stop", "./a", "non_blocking_error", "")
	finished("TeammateIdle", "./b", "non_blocking_error", `,"stderr":"two\nlines"`)
	finished("Stop", "./b", "non_blocking_error", "")
	failed.note(lineAt(1, "ana", "text", `{"text":"x","outcome":"cancelled"}`))
	want := []string{"Stop hook ./b", "Stop hook ./a", "TeammateIdle hook ./b"}
	if strings.Join(failed.order, "|") != strings.Join(want, "|") {
		t.Fatalf("order %q, want %q", failed.order, want)
	}
	for i, expect := range []struct {
		count int
		cause string
	}{{2, "non_blocking_error, exit code 3"}, {1, "non_blocking_error, exit code 3"}, {1, "two lines"}} {
		if got := failed.count[want[i]]; got != expect.count || failed.cause[want[i]] != expect.cause {
			t.Errorf("%s: %d times, %q; want %d, %q", want[i], got, failed.cause[want[i]], expect.count, expect.cause)
		}
	}
}
