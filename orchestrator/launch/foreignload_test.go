package launch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// crowdVariable is how many agent programs TestCrowdOfPrograms runs at once;
// without it there are so many that the test is quick. 200 take 10 to 20 s on 2 cores
// and a gigabyte.
const crowdVariable = "COVEY_TEST_CROWD"

// crowdGates are three gates, written in Go, each of which refuses every third
// time that it is asked by a teammate.
type crowdGates struct {
	mu      sync.Mutex
	asked   map[hooks.Event]int
	refused map[hooks.Event]int
}

func (g *crowdGates) registry(t *testing.T) *hooks.Registry {
	t.Helper()
	g.asked, g.refused = map[hooks.Event]int{}, map[hooks.Event]int{}
	r := &hooks.Registry{}
	for _, event := range []hooks.Event{hooks.Stop, hooks.TaskCompleted, hooks.TeammateIdle} {
		if _, err := r.Add(event, hooks.Callback{Name: "crowd", Gate: true, Do: g.judge}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (g *crowdGates) judge(_ context.Context, in hooks.Input) (hooks.Answer, error) {
	event := in.Payload.Event()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.asked[event]++; g.asked[event]%3 != 0 {
		return hooks.Answer{}, nil
	}
	g.refused[event]++
	return hooks.Answer{Decision: hooks.Block, Reason: "look again before you go on"}, nil
}

// crowdSpec is a team of a lead and many members whose agents are programs. Each
// owns so many tasks.
func crowdSpec(program, dir string, members, each int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "covey: 1\nname: crew\ngoal: Ship it.\nmodels: {lead: {provider: script, script: lead.yaml}}\n"+
		"agents:\n  worker: {use: acp, command: [%q], env: {%s: %q, GOMAXPROCS: \"1\", GOGC: \"off\"}}\n"+
		"lead: {model: lead}\ndefaults: {limits: {max_in_progress: 0, stop_block_cap: 20}}\nteammates:\n", program, workerVariable, dir)
	for i := range members {
		fmt.Fprintf(&b, "  m%d: {agent: worker, permission_mode: bypassPermissions, self_claim: false}\n", i)
	}
	if each > 0 {
		b.WriteString("tasks:\n")
	}
	for n := range each {
		for i := range members {
			fmt.Fprintf(&b, "  - {id: t%d-%d, subject: Part %d, owner: m%d}\n", i, n, n, i)
		}
	}
	return b.String()
}

// Many members with a program each take ten turns and more, all at once, under
// three gates that each refuse some: every task is completed once, and nothing
// is left behind.
func TestCrowdOfPrograms(t *testing.T) {
	const each = 10
	members := 12
	if *teamtest.AllRounds {
		members = 40
	}
	if text := os.Getenv(crowdVariable); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		members = n
	}
	before, files := goleak.IgnoreCurrent(), openFiles(t)
	dir := t.TempDir()
	setFault(t, dir, fault{Quiet: true})
	r := teamtest.NewRig(t, map[string]string{"team.yaml": crowdSpec(testkit.Binary(t), dir, members, each),
		"lead.yaml": teamtest.LeadLetsWork})
	var gates crowdGates
	began := time.Now()
	e := r.RunFor(2*time.Minute, orchestrator.Options{Hooks: gates.registry(t)})
	t.Logf("%d members did %d tasks each in %v; asked %v, refused %v", members, each, time.Since(began),
		gates.asked, gates.refused)
	r.Want(e, orchestrator.CodeDone, "all work is done")
	checkCrowd(r, members, each)
	for _, event := range []hooks.Event{hooks.Stop, hooks.TaskCompleted, hooks.TeammateIdle} {
		if gates.asked[event] < members*each || gates.refused[event] == 0 {
			t.Errorf("the gate of %s was asked %d times and refused %d times", event, gates.asked[event],
				gates.refused[event])
		}
	}
	pids := workersOf(t, dir)
	if len(pids) != members {
		t.Errorf("%d programs were started for %d members", len(pids), members)
	}
	noneRuns(t, pids)
	goleak.VerifyNone(t, before)
	if now := openFiles(t); now > files+5 { // the runtime and the test keep some
		t.Errorf("%d files are open, %d were before", now, files)
	}
}

// checkCrowd: each task was completed once, by its owner; each member has
// taken a turn for each of its tasks, and all turns came to their end.
func checkCrowd(r *teamtest.Rig, members, each int) {
	r.T.Helper()
	list := r.List()
	if len(list) != members*each {
		r.T.Errorf("%d tasks are in the list", len(list))
	}
	for _, task := range list {
		if task.Status != tasks.Completed {
			r.T.Errorf("task %s of %s is %s", task.ID, task.Owner, task.Status)
		}
	}
	r.CompletedOnce()
	for _, l := range r.Lines.All() {
		switch l.Type {
		case "turn_ended":
			var end events.TurnEnded
			if err := json.Unmarshal(l.Data, &end); err != nil || end.Reason != events.EndCompleted {
				r.T.Errorf("a turn of %s ended with %s (%v)", l.Member, l.Data, err)
			}
		case "attention", "error":
			r.T.Errorf("%s: %s", l.Member, l.Data)
		}
	}
	for _, m := range teamtest.Of[events.TeamEnded](r, "team_ended") {
		if m.ExitCode != orchestrator.CodeDone {
			r.T.Errorf("the journal says %+v", m)
		}
	}
}

// openFiles counts what this process has open; 0 where it cannot be told.
func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}
