package launch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/acp"
)

// faultyTeam has a member whose agent is a worker with a fault, and two tasks
// for it, so that there is a turn after the one that goes wrong.
const faultyTeam = `covey: 1
name: crew
goal: Ship it.
models: {lead: {provider: script, script: lead.yaml}}
agents:
  worker: {use: acp, command: [%q], env: {` + workerVariable + `: %q}}
lead: {model: lead}
teammates:
  dev: {agent: worker, permission_mode: bypassPermissions}
tasks: [{id: a, subject: One, owner: dev}, {id: b, subject: Two, owner: dev}]
`

// endures is how long a team waits for a program that does not hang: longer than any step
// of it takes, on a busy machine as well.
const endures = time.Minute

// hangs reports whether only the end of the team's patience brings out the fault.
func (f fault) hangs() bool {
	return f.At == "cancel" || f.At == "late" ||
		f.At != "close" && (slices.Contains(hanging, f.Kind) || f.Kind == "wrong id")
}

// waits are the waits for a program with the fault: only the one that the fault has come
// to its end is short.
func (f fault) waits(short time.Duration) acp.Timeouts {
	const soon = 200 * time.Millisecond
	w := acp.Timeouts{Start: endures, Silence: endures, Tool: endures, Cancel: soon, Grace: soon}
	switch {
	case !f.hangs():
	case slices.Contains([]string{"start", "initialize", "initialized", "session/new", "load"}, f.At):
		w.Start = short
	default:
		w.Silence, w.Tool = short, short
	}
	return w
}

// faultyRun runs the team with a fault in its worker, and looks whether
// something was left behind. The state's place has been set for all of them.
func faultyRun(t *testing.T, f fault, short time.Duration, change ...func(*orchestrator.Options)) (*teamtest.Rig, orchestrator.Ending, string) {
	t.Helper()
	dir := t.TempDir()
	setFault(t, dir, f)
	r := &teamtest.Rig{T: t, Dir: t.TempDir(), Log: &strings.Builder{}}
	for name, text := range map[string]string{
		"team.yaml": fmt.Sprintf(faultyTeam, testkit.Binary(t), dir), "lead.yaml": teamtest.LeadLetsWork,
	} {
		if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opts := orchestrator.Options{Overrides: orchestrator.Overrides{Patience: f.waits(short), Backoff: 5 * time.Millisecond}}
	for _, c := range change {
		c(&opts)
	}
	o := r.Orchestrator(opts)
	e := r.Finish(testkit.Patience, o.Run)
	noneRuns(t, workersOf(t, dir))
	r.CompletedOnce()
	for _, path := range teamtest.GlobAll(t, o.Place().Transcripts()) {
		r.CheckTranscript(path, map[string]int{})
	}
	return r, e, dir
}

// hurried has the pauses before a failed turn is tried again, four minutes in all, pass in
// a few seconds.
func hurried(o *orchestrator.Options) {
	const times = 50
	began := time.Now()
	o.Overrides.Clock = members.Clock{
		TimeNow:   func() time.Time { return began.Add(times * time.Since(began)) },
		TimeAfter: func(d time.Duration) <-chan time.Time { return time.After(d / times) },
	}
}

// Points of the protocol at which a program can fail, in the order in which it
// comes to them.
var faultPoints = []string{
	"start", "initialize", "initialized", "session/new", "in session", "prompt", "text", "permission", "permitted", "tool",
	"mcp sent", "mcp done", "end", "answered",
}

// Kinds of faults: those that end a program, those after which it says nothing
// more, and those that it survives.
var (
	deadly    = []string{"exit 0", "exit 1", "killed", "silent", "half and gone"}
	hanging   = []string{"hang", "deaf", "half a line"}
	surviving = []string{"garbage", "twice"}
)

// faults are all that befall a program once, or in its first lives.
func faults() []fault {
	var list []fault
	add := func(first, lives int, points, kinds []string) {
		for _, at := range points {
			for _, kind := range kinds {
				list = append(list, fault{At: at, Kind: kind, First: first, Lives: lives})
			}
		}
	}
	add(0, 1, faultPoints, slices.Concat(deadly, hanging, surviving))
	add(0, 2, []string{"initialize", "text", "mcp sent"}, deadly)
	add(0, 1, []string{"initialize", "session/new", "end"}, []string{"wrong id"})
	add(0, 1, []string{"session/new", "text", "mcp sent", "end", "cancel"}, []string{"long line"})
	add(0, 1, []string{"cancel"}, slices.Concat(deadly, hanging, surviving, []string{"wrong id", "late"}))
	add(0, 1, []string{"late"}, []string{"late"})
	add(0, 9, []string{"close"}, slices.Concat(deadly, hanging, surviving))
	dies := fault{At: "mcp done", Kind: "killed", Lives: 1}
	for _, kind := range slices.Concat(deadly, hanging, surviving, []string{"wrong id"}) {
		list = append(list, fault{At: "load", Kind: kind, First: 1, Lives: 1, Also: &dies})
	}
	return list
}

// some are enough of the faults to come to each point and each kind: the steps have no
// factor in common with the number of kinds, 5 or 10.
func some(list []fault) []fault {
	step := 11
	if *teamtest.AllRounds {
		step = 1
	}
	var few []fault
	for i := 0; i < len(list); i += step {
		few = append(few, list[i])
	}
	return few
}

func (f fault) String() string {
	name := fmt.Sprintf("%s at %s", f.Kind, strings.ReplaceAll(f.At, "/", " "))
	if f.Lives > 1 {
		name += fmt.Sprintf(" %d times", f.Lives)
	}
	return name
}

// together runs a test for each of many faults, several at a time: they wait
// more than they work.
func together(t *testing.T, list []fault, one func(t *testing.T, f fault)) {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	files := openFiles(t)
	next := make(chan fault)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for f := range next {
				t.Run(f.String(), func(t *testing.T) { one(t, f) })
			}
		})
	}
	for _, f := range list {
		next <- f
	}
	close(next)
	all.Wait()
	if now := openFiles(t); now > files+5 { // the runtime and the test keep some
		t.Errorf("%d files are open, %d were before", now, files)
	}
}

// ranOut counts the waits of this length for a program that have run out.
func ranOut(r *teamtest.Rig, wait time.Duration) int {
	n := 0
	for _, l := range r.Lines.All() {
		told := slices.Contains([]string{"program_restarts", "turn_failed", "member_ended"}, l.Type)
		if told && strings.Contains(string(l.Data), wait.String()) {
			n++
		}
	}
	return n
}

// Whatever goes wrong once, wherever it does, the team comes to its end with
// all its work done, and none of it twice.
func TestFaultsOfPrograms(t *testing.T) {
	together(t, some(faults()), func(t *testing.T, f fault) {
		// A slow machine may need as long for a step without a fault as the team waits for
		// a program that hangs: when more waits have run out than there were faults, the
		// team has more patience the next time.
		short := 1200 * time.Millisecond
		if !f.hangs() {
			short = endures
		}
		r, e, dir := faultyRun(t, f, short)
		for short < endures && e.Code != orchestrator.CodeDone && ranOut(r, short) > len(toldFake(t, dir, "fault")) {
			t.Logf("the team ended with %d, %q: %q; it had a patience of %v", e.Code, e.Reason, e.Problems, short)
			short *= 4
			r, e, dir = faultyRun(t, f, short)
		}
		r.Want(e, orchestrator.CodeDone, "all work is done")
		if f.At == "close" {
			return
		}
		if len(toldFake(t, dir, "fault")) == 0 {
			t.Error("the fault did not come up")
		}
		for _, task := range r.List() {
			if task.Status != tasks.Completed {
				t.Errorf("task %s is %s", task.ID, task.Status)
			}
		}
	})
}

// What goes wrong in every life of a program ends its member's part: the lead
// hears of it, and the team comes to its end with its tasks open.
func TestFaultsInEveryLife(t *testing.T) {
	var list []fault
	for _, at := range []string{"start", "initialize", "session/new", "prompt", "permission", "tool"} {
		for _, kind := range []string{"exit 0", "killed", "silent", "hang", "deaf"} {
			list = append(list, fault{At: at, Kind: kind, Lives: 1 << 20})
		}
	}
	together(t, some(list), func(t *testing.T, f fault) {
		r, e, _ := faultyRun(t, f, 300*time.Millisecond, hurried) // a step that is too slow is one more fault
		if e.Code != orchestrator.CodeUnfinished || !strings.Contains(strings.Join(e.Problems, "\n"), "dev: ") {
			t.Errorf("the team ended with %d, %q: %q", e.Code, e.Reason, e.Problems)
		}
		gone := strings.Contains(strings.Join(e.Problems, "\n"), "crashed 4 times in a row")
		for _, task := range r.List() {
			if task.Status == tasks.Completed || gone && task.Owner != "" {
				t.Errorf("task %s is %s, owned by %q", task.ID, task.Status, task.Owner)
			}
		}
		told := slices.ContainsFunc(r.Lines.All(), func(l events.Line) bool {
			return l.Type == "message" && strings.Contains(string(l.Data), "Teammate dev")
		})
		if !told {
			t.Errorf("the lead was not told; the journal:\n%s", teamtest.Show(r.Lines.All()))
		}
	})
}

// A person interrupts a program again and again while it works: it may be
// anywhere in its turn. Nothing of its work is lost or happens twice.
func TestInterruptsAtAnyMoment(t *testing.T) {
	dir := t.TempDir()
	setFault(t, dir, fault{})
	r := teamtest.NewRig(t, map[string]string{"team.yaml": crowdSpec(testkit.Binary(t), dir, 1, 12), "lead.yaml": teamtest.LeadLetsWork})
	before := goleak.IgnoreCurrent()
	up := make(chan state.Place, 1)
	o := r.Orchestrator(orchestrator.Options{OnUp: func(p state.Place) { up <- p }})
	interrupted := 0
	var person sync.WaitGroup
	person.Go(func() {
		c, err := api.Dial(t.Context(), <-up)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		for n := range 10 { // after each of its tasks but the last ones, so that it gets on
			if !completed(r, n+1) {
				return
			}
			time.Sleep(time.Duration(n) * time.Millisecond / 2) // into what follows
			if reply, err := c.Interrupt(t.Context(), api.InterruptRequest{Member: "m0",
				GoOn: true}); err == nil && reply.Interrupted {
				interrupted++
			}
		}
	})
	r.Want(r.Finish(testkit.Patience, o.Run), orchestrator.CodeDone, "all work is done")
	person.Wait()
	t.Logf("interrupted %d times", interrupted)
	if interrupted == 0 {
		t.Error("no interrupt met a turn")
	}
	for _, task := range r.List() {
		if task.Status != tasks.Completed {
			t.Errorf("task %s is %s", task.ID, task.Status)
		}
	}
	r.CompletedOnce()
	for _, path := range teamtest.GlobAll(t, o.Place().Transcripts()) {
		r.CheckTranscript(path, map[string]int{})
	}
	noneRuns(t, workersOf(t, dir))
	goleak.VerifyNone(t, before)
}

// completed waits until so many tasks are completed; false: the team has ended.
func completed(r *teamtest.Rig, n int) bool {
	done, ended := 0, false
	_ = r.Lines.Until(context.Background(), func(lines []events.Line) bool {
		done, ended = 0, false
		for _, line := range lines {
			var c tasks.Change
			if line.Type == "task" && json.Unmarshal(line.Data, &c) == nil && c.Op == tasks.TaskCompleted {
				done++
			}
			ended = ended || line.Type == "team_ended"
		}
		return done >= n || ended
	})
	return done >= n
}
