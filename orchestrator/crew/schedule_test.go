package crew_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

const scheduled = testkit.PairSpec + `
schedules:
  - {name: nightly, cron: "@every 60m", task: {subject: Look at CI, owner: dev}}
  - {name: standup, cron: "@every 60m", to: dev, text: What is open?}
`

// schedulesTold are the journal's lines of schedules.
func schedulesTold(u *teamtest.Underway) []events.ScheduleRan {
	u.T.Helper()
	var all []events.ScheduleRan
	for _, l := range u.Lines.All() {
		var ran events.ScheduleRan
		if l.Type != "schedule" {
			continue
		}
		if err := json.Unmarshal(l.Data, &ran); err != nil {
			u.T.Fatal(err)
		}
		all = append(all, ran)
	}
	return all
}

// TestSchedulesInATeam: a team with schedules stays up; what is due comes, once for
// all that was missed while nobody was up; a task comes not again while it is open.
func TestSchedulesInATeam(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": scheduled,
		"lead.yaml": "steps: [{say: Fine., times: -1}]",
		"dev.yaml": `steps:
  - {when: Look at CI, call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]}
  - {say: Fine., times: -1}
`,
	})
	clock := &teamtest.HandClock{}
	u := teamtest.Start(r, clock)
	u.Until("turn_ended", 1)
	clock.Forward(61 * time.Minute)
	u.Until("schedule", 2)
	u.Lines.Wait(t, "the task's end", func(l events.Line) bool {
		return l.Type == "task" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
	if told := schedulesTold(u); told[0].Task != "1" || told[1].To != "dev" || told[1].Skipped != "" {
		t.Errorf("told %+v", told)
	}
	u.Stop(errors.New("enough"))
	r.Want(u.End(), orchestrator.CodeInterrupted, "interrupted")

	// Hours later it comes once, and then the task is still open: dev has no more steps for it.
	clock.Forward(5 * time.Hour)
	u = teamtest.Start(r, clock)
	u.Until("schedule", 2)
	asked := ""
	u.Lines.Wait(t, "the reader of the message", func(l events.Line) bool { // it comes not again while it is unread
		switch e := l.Event().Data.(type) {
		case events.MessageSent:
			if strings.Contains(e.Text, "What is open?") {
				asked = e.ID
			}
		case events.MessageDelivered:
			return asked != "" && e.ID == asked
		}
		return false
	})
	clock.Forward(61 * time.Minute)
	u.Until("schedule", 4)
	told := schedulesTold(u)
	if told[0].Task != "2" || told[2].Skipped != "task 2 of the time before is still open" || told[3].Skipped != "" {
		t.Errorf("told %+v", told)
	}
	client, err := api.Dial(t.Context(), u.O.Place())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	st, err := client.Status(t.Context())
	if err != nil || len(st.Schedules) != 2 || st.Schedules[0].What != "task Look at CI" || !st.Schedules[1].Next.After(st.Schedules[1].Last) {
		t.Errorf("status %+v, %v", st.Schedules, err)
	}
	u.Stop(errors.New("enough"))
	r.Want(u.End(), orchestrator.CodeInterrupted, "interrupted")
}

// TestOwnSchedulesInATeam: what a member has scheduled to itself keeps the team up if it comes once,
// is known to Stop hooks, begins a turn and comes into none.
func TestOwnSchedulesInATeam(t *testing.T) {
	t.Parallel()
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(testkit.PairSpec, "  dev: {model: dev}", "  dev: {model: dev, permission_mode: bypassPermissions}", 1) +
			`tasks: [{id: a, subject: Make it, owner: dev}]
hooks:
  Stop: [{hooks: [{type: command, command: 'cat >>stops'}]}]
  Notification: [{hooks: [{type: command, command: 'true'}]}]
`,
		"lead.yaml": "steps: [{say: Fine., times: -1}]",
		"dev.yaml": `steps:
  - {when: Make it, call: [{tool: ScheduleCreate, input: {cron: 0 22-6 * * *, prompt: x}}]}
  - when: 22-6 ends before it begins
    call: [{tool: ScheduleCreate, input: {cron: "@every 30m", prompt: Look again., recurring: false}},
      {tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - when: "yourself .*Look again"
    call: [{tool: ScheduleCreate, input: {cron: "@every 30m", prompt: And again., recurring: false}},
      {tool: Bash, input: {command: "touch waits; while ! test -e go; do sleep 0.01; done; echo free"}}]
  - {when: "free(.|\n)*And again", say: It came into a turn.}
  - {say: Fine., times: -1}
`,
	})
	clock := &teamtest.HandClock{}
	u := teamtest.Start(r, clock)
	rests(u)
	clock.Forward(31 * time.Minute)
	testkit.Eventually(t, "dev is in a turn", func() bool {
		_, err := os.Stat(filepath.Join(r.Dir, "waits"))
		return err == nil
	})
	clock.Forward(31 * time.Minute)
	u.Until("schedule", 2)
	testkit.Put(t, r.Dir, "go", "")
	u.Lines.Wait(t, "a turn for the second message", func(l events.Line) bool {
		return l.Member == "dev" && l.Type == "turn_started" && strings.Contains(string(l.Data), "And again.")
	})
	r.Want(u.End(), orchestrator.CodeDone, "all work is done")
	for _, l := range u.Lines.All() {
		if strings.Contains(string(l.Data), "came into a turn") {
			t.Error(string(l.Data))
		}
	}
	stops, err := os.ReadFile(filepath.Join(r.Dir, "stops"))
	testkit.Must(t, err)
	const cron = `"schedule":"@every 30m","recurring":false,"prompt":"Look again."`
	if text := string(stops); !strings.Contains(text, cron) || !strings.Contains(text, `"session_crons":[]`) {
		t.Errorf("Stop hooks see %s", text)
	}
}
