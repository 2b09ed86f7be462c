package orchestrator_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// TestKilledAtAnyMoment kills a team again and again until it comes to its
// end, and then looks whether anything was lost or happened twice.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it kills processes at random, again and again; other tests kill them at a moment and go on in this one")
	}
	rounds := 1
	if *teamtest.AllRounds {
		rounds = 3
	}
	for round := range rounds {
		seed := uint64(round) + 1
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := teamtest.NewRig(t, crashTeam())
			random := rand.New(rand.NewPCG(seed, 7))
			kills := 0
			for {
				ended := r.RunAndKill(3 + random.IntN(25))
				if ended {
					break
				}
				if kills++; kills > 200 {
					t.Fatal("the team never ends")
				}
			}
			t.Logf("killed %d times", kills)
			checkAfterCrash(r)
		})
	}
}

// crashTeam does its work in many small steps, each of which leaves a trace
// that tells if it happened twice.
func crashTeam() map[string]string {
	var dev strings.Builder
	dev.WriteString("steps:\n")
	for id := 1; id <= 4; id++ {
		fmt.Fprintf(&dev, `  - call: [{tool: TaskUpdate, input: {taskId: "%[1]d", status: in_progress}}]
    when: '(You own task|claimed task|own open tasks|cut off)(.|\n)*#%[1]d'
  - call: [{tool: TaskCreate, input: {subject: "after %[1]d", description: made by dev}}]
  - call: [{tool: SendMessage, input: {to: ops, message: "%[1]d is done"}}]
  - call: [{tool: TaskUpdate, input: {taskId: "%[1]d", status: completed}}]
  - say: "%[1]d is done."
`, id)
	}
	return map[string]string{
		"team.yaml": `covey: 1
name: crew
goal: Ship it.
models:
  lead: {provider: script, script: lead.yaml}
  dev: {provider: script, script: dev.yaml}
  ops: {provider: script, script: ops.yaml}
lead: {model: lead}
teammates:
  dev: {model: dev, self_claim: false}
  ops: {model: ops}
tasks:
  - {id: a, subject: one, owner: dev}
  - {id: b, subject: two, owner: dev, blocked_by: [a]}
  - {id: c, subject: three, owner: dev, blocked_by: [b]}
  - {id: d, subject: four, owner: dev, blocked_by: [c]}
hooks:
  Stop: [{hooks: [{type: command, command: "true"}]}]
  TaskCompleted: [{hooks: [{type: command, command: "true"}]}]
`,
		"lead.yaml": `steps: [{say: Noted., times: -1}]`,
		"dev.yaml":  dev.String(),
		"ops.yaml": `steps:
  - when: 'claimed task #5'
    call: [{tool: TaskUpdate, input: {taskId: "5", status: completed}}]
  - when: 'claimed task #6'
    call: [{tool: TaskUpdate, input: {taskId: "6", status: completed}}]
  - when: 'claimed task #7'
    call: [{tool: TaskUpdate, input: {taskId: "7", status: completed}}]
  - when: 'claimed task #8'
    call: [{tool: TaskUpdate, input: {taskId: "8", status: completed}}]
  - when: 'own open tasks(.|\n)*#5'
    call: [{tool: TaskUpdate, input: {taskId: "5", status: completed}}]
  - when: 'own open tasks(.|\n)*#6'
    call: [{tool: TaskUpdate, input: {taskId: "6", status: completed}}]
  - when: 'own open tasks(.|\n)*#7'
    call: [{tool: TaskUpdate, input: {taskId: "7", status: completed}}]
  - when: 'own open tasks(.|\n)*#8'
    call: [{tool: TaskUpdate, input: {taskId: "8", status: completed}}]
  - {say: Fine., times: -1}
`,
	}
}

// checkAfterCrash looks at all that a crashed and resumed team has left.
func checkAfterCrash(r *teamtest.Rig) {
	t := r.T
	t.Helper()
	all := r.List()
	if len(all) != 8 {
		t.Errorf("%d tasks; each of the 4 given ones makes exactly one more", len(all))
	}
	for _, task := range all {
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
	shown := map[string]int{}
	for _, path := range teamtest.GlobAll(t, place.Transcripts()) {
		r.CheckTranscript(path, shown)
	}
	for id := 1; id <= 4; id++ {
		if n := shown[fmt.Sprintf("%d is done</teammate-message>", id)]; n != 1 {
			t.Errorf("ops was shown the message about task %d %d times", id, n)
		}
	}
}
