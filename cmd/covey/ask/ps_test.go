package ask

import (
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
)

func TestStatusLine(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	base := api.Status{Team: "crew", Workspace: "/x\x1b", Started: now.Add(-90 * time.Second)}
	for _, tc := range []struct {
		name   string
		change func(*api.Status)
		want   string
	}{
		{"starting", func(s *api.Status) { s.PID = 7 }, `crew in /x\x1b · starting (process 7)`},
		{"running", func(s *api.Status) { s.PID, s.Up, s.Tasks.Completed, s.Tasks.Pending = 7, true, 1, 2 },
			`crew in /x\x1b · running for 1m30s (process 7) · done 1 of 3`},
		{"cut off", func(*api.Status) {},
			`crew in /x\x1b · not running; the last run was cut off, covey up continues it`},
		{"ended", func(s *api.Status) {
			s.Result = &state.RunResult{Reason: "all\nis done", ExitCode: 0, Ended: now.Add(-2 * time.Hour)}
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
	c, out, _ := program()
	printStatus(c.Out, api.Status{Team: "crew", Workspace: "/x", PID: 7, Up: true, FailOpen: 2,
		Members: []api.MemberStatus{
			{Name: "lead", Agent: "builtin/script", State: api.Working, Turn: 2, Pass: 3,
				Doing: "Bash ls", WaitsFor: "x"},
			{Name: "ana", Agent: "builtin/script", State: api.Resting, Turn: 1, WaitsFor: "task 1",
				Unread: 4},
			{Name: "ben", Agent: "builtin/script", State: api.NeedsAttention, Attention: "8\nrefusals",
				Task:    "2",
				Subject: "Do it", Counts: accounts.Counts{Refusals: 8, FreshSessions: 1,
					TasksDone: 1}, Hooks: []accounts.HookCount{{Command: "./x", FailedOpen: 2,
					Why: "exit 1"}}},
		}}, time.Now())
	_, got, _ := strings.Cut(out.String(), "\n\n")
	want := `MEMBER  AGENT           STATE            TURN  PASS  TASK     WAITS FOR  DONE  UNREAD  REFUSALS
lead    builtin/script  working          2     3     -        Bash ls    0     0       0
ana     builtin/script  idle             1     -     -        task 1     0     4       0
ben     builtin/script  needs attention  -     -     2 Do it  -          1     0       8
! ben needs attention: 8 refusals
  covey logs ben tells what happened; covey send ben TEXT helps it on
! ben works in a fresh session: the old one could not be opened
! ben: 2 hooks failed open: ./x (exit 1) ×2
  covey hooks doctor tells why
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A team that does not run takes no text: the way out is another one.
func TestPrintStatusStopped(t *testing.T) {
	c, out, _ := program()
	printStatus(c.Out, api.Status{Team: "crew", Workspace: "/x", Members: []api.MemberStatus{
		{Name: "ben", Agent: "builtin/script", State: api.NeedsAttention, Attention: "8 refusals"},
	}}, time.Now())
	want := "! ben needs attention: 8 refusals\n  covey logs ben tells what happened; covey up lets it try again\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("got\n%s\nwant at the end\n%s", out, want)
	}
}

func TestPsOfLockouts(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.Local)
	c, out, _ := program()
	printStatus(c.Out, api.Status{Team: "crew", Workspace: "/w", PID: 7, Up: true, Started: now,
		Members: []api.MemberStatus{
			{Name: "lead", Agent: "acp/codex", State: api.Waiting, WaitsFor: "a slot of codex"},
			{Name: "api", Agent: "acp/codex", State: api.Limited, LimitedUntil: now.Add(3 * time.Hour)},
			{Name: "docs", Agent: "acp/gemini", State: api.LoggedOut,
				Attention: "gemini is not logged in; run `gemini`"},
		}}, now)
	want := `crew in /w · running for 0s (process 7)

MEMBER  AGENT       STATE                TURN  PASS  TASK  WAITS FOR        DONE  UNREAD  REFUSALS
lead    acp/codex   waiting              -     -     -     a slot of codex  0     0       0
api     acp/codex   limited until 15:00  -     -     -     -                0     0       0
docs    acp/gemini  logged out           -     -     -     -                0     0       0
! docs: gemini is not logged in; run ` + "`gemini`" + `
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}
