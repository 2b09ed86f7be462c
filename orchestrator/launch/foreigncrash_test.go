package launch_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// workingTeam is a team of agent programs whose work leaves traces that tell if
// something happened twice: for each of its tasks dev makes another one, for
// ops, and writes to it.
const workingTeam = `covey: 1
name: crew
goal: Ship it.
models: {lead: {provider: script, script: lead.yaml}}
agents:
  one: {use: acp, command: [%[1]q], env: {` + workerVariable + `: %[2]q}}
  two: {use: acp, command: [%[1]q], env: {` + workerVariable + `: %[3]q}}
lead: {model: lead}
teammates:
  dev: {agent: one, permission_mode: bypassPermissions, self_claim: false}
  ops: {agent: two, permission_mode: bypassPermissions}
tasks:
  - {id: a, subject: one, owner: dev}
  - {id: b, subject: two, owner: dev}
  - {id: c, subject: three, owner: dev}
  - {id: d, subject: four, owner: dev}
hooks:
  Stop: [{hooks: [{type: command, command: "true"}]}]
  TaskCompleted: [{hooks: [{type: command, command: "true"}]}]
`

// A covey whose members are programs is killed again and again until the team
// comes to its end. One of the programs cannot be ended but by force, and
// outlives it each time; in the second round it dies by itself as well.
func TestCoveyOfProgramsKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it kills processes at random, again and again; other tests kill them at a moment and go on in this one")
	}
	rounds := 1
	if *teamtest.AllRounds {
		rounds = 2
	}
	for round := range rounds {
		seed := uint64(round) + 1
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			one, two := t.TempDir(), t.TempDir()
			setFault(t, one, fault{Deaf: true, Calls: "new send", At: "mcp sent", Kind: "killed", Lives: 4 * round})
			setFault(t, two, fault{})
			r := teamtest.NewRig(t, map[string]string{
				"team.yaml": fmt.Sprintf(workingTeam, testkit.Binary(t), one,
					two), "lead.yaml": "steps: [{say: Noted., times: -1}]\n",
			})
			random := rand.New(rand.NewPCG(seed, 11))
			kills := 0
			for {
				ended := r.RunAndKill(4 + random.IntN(44))
				if ended {
					break
				}
				if kills++; kills > 200 {
					t.Fatal("the team never ends")
				}
			}
			pids := append(workersOf(t, one), workersOf(t, two)...)
			t.Logf("killed %d times; there were %d programs", kills, len(pids))
			noneRuns(t, pids)
			checkWorkDone(r)
		})
	}
}

// checkWorkDone looks at all that a killed and resumed team of programs has
// left: nothing is lost, and nothing was done twice.
func checkWorkDone(r *teamtest.Rig) {
	t := r.T
	t.Helper()
	all := r.List()
	made := map[string]int{}
	for _, task := range all {
		made[task.Subject]++
		if task.Status != tasks.Completed {
			t.Errorf("task %s is %s", task.ID, task.Status)
		}
	}
	place := r.Place()
	for id, n := range r.CheckJournal(place) {
		if n != 1 {
			t.Errorf("task %s was completed %d times", id, n)
		}
	}
	for _, path := range teamtest.GlobAll(t, place.Transcripts()) {
		r.CheckTranscript(path, map[string]int{})
	}
	sent, delivered := mailOf(r, place, "dev")
	for id := 1; id <= 4; id++ {
		if n := made[fmt.Sprintf("after %d", id)]; n != 1 {
			t.Errorf("the task after task %d was made %d times", id, n)
		}
		if n := len(sent[fmt.Sprintf("%d is done", id)]); n != 1 {
			t.Errorf("dev sent its message about task %d %d times", id, n)
		}
	}
	for text, ids := range sent {
		for _, id := range ids {
			if delivered[id] != 1 {
				t.Errorf("message %q was delivered %d times", text, delivered[id])
			}
		}
	}
	if len(all) != 8 {
		t.Errorf("%d tasks; each of the 4 given ones makes exactly one more", len(all))
	}
}

// mailOf reads from the journal what a member has sent, text by text, and how
// often each message was delivered, by its id.
func mailOf(r *teamtest.Rig, place state.Place, from string) (sent map[string][]string, delivered map[string]int) {
	r.T.Helper()
	data, err := os.ReadFile(place.Journal())
	if err != nil {
		r.T.Fatal(err)
	}
	sent, delivered = map[string][]string{}, map[string]int{}
	for text := range strings.Lines(string(data)) {
		var l events.Line
		var m struct {
			ID, From, Text string
		}
		if json.Unmarshal([]byte(text), &l) != nil || json.Unmarshal(l.Data, &m) != nil {
			continue
		}
		switch {
		case l.Type == "message" && m.From == from:
			sent[m.Text] = append(sent[m.Text], m.ID)
		case l.Type == "message_delivered":
			delivered[m.ID]++
		}
	}
	return sent, delivered
}
