package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/tasks"
)

// rig is a team in a folder of its own, for tests. Its scripts come from a
// txtar-like map of file names to contents.
type rig struct {
	t     *testing.T
	dir   string // the spec's folder
	home  string // of the team's state
	lines *testkit.Log[events.Line]
	log   *strings.Builder
}

// turnEnded matches the ends of a member's turns.
func turnEnded(member string) func(events.Line) bool {
	return func(l events.Line) bool { return l.Type == "turn_ended" && l.Member == member }
}

// hold returns hooks under which a member's n-th call of a tool waits for the n-th line
// that matches. So what the call does comes after that line, however fast the disk is.
func (r *rig) hold(member, tool string, until func(events.Line) bool) *hooks.Registry {
	r.t.Helper()
	registry, calls := &hooks.Registry{}, atomic.Int32{}
	_, err := registry.On(hooks.PreToolUse, tool, func(ctx context.Context, in hooks.Input) (hooks.Answer, error) {
		if cmp.Or(in.AgentType, "lead") != member { // a lead has no type
			return hooks.Answer{}, nil
		}
		_, err := r.lines.Nth(ctx, int(calls.Add(1)), until)
		return hooks.Answer{}, err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return registry
}

// show writes lines for a failure message.
func show(lines []events.Line) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%d %s/%d %s %s\n", l.Seq, l.Member, l.Turn, l.Type, l.Data)
	}
	return b.String()
}

// newRig writes files into a fresh folder and sends all state elsewhere. Rigs share
// nothing, so tests that wait more than they work call t.Parallel.
func newRig(t *testing.T, files map[string]string) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), home: t.TempDir(), log: &strings.Builder{}}
	for name, text := range files {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := testkit.WriteProgram(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// place is where the team's state is.
func (r *rig) place() state.Place {
	r.t.Helper()
	p, err := state.PlaceIn(r.home, "crew", r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// orchestrator loads team.yaml and makes the Orchestrator of a new run.
func (r *rig) orchestrator(opts Options) *Orchestrator {
	r.t.Helper()
	return r.orchestratorOf(filepath.Join(r.dir, "team.yaml"), opts)
}

// orchestratorOf makes the Orchestrator of a new run of the team of a spec.
func (r *rig) orchestratorOf(spec string, opts Options) *Orchestrator {
	r.t.Helper()
	team, err := configs.Load(spec)
	if err != nil {
		r.t.Fatal(err)
	}
	r.lines = &testkit.Log[events.Line]{}
	opts.OnLine, opts.StateHome = r.lines.Add, r.home
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(testLog{r.t}, nil))
	}
	o, err := New(team, opts)
	if err != nil {
		r.t.Fatal(err)
	}
	return o
}

// testLog sends covey's own troubles to the test's log.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// run runs the team to its end.
func (r *rig) run(opts Options) Ending {
	r.t.Helper()
	return r.runFor(testkit.Patience, opts)
}

// want checks how a run ended.
func (r *rig) want(e Ending, code int, reason string) {
	r.t.Helper()
	if e.Code != code || !strings.Contains(e.Reason, reason) {
		r.t.Fatalf("ended with %d, %q; want %d, %q. The journal:\n%s", e.Code, e.Reason, code, reason,
			show(r.lines.All()))
	}
}

// of returns the data of all lines of one type, decoded into T.
func of[T any](r *rig, typ string) []T {
	r.t.Helper()
	var all []T
	for _, l := range r.lines.All() {
		if l.Type != typ {
			continue
		}
		var v T
		if err := json.Unmarshal(l.Data, &v); err != nil {
			r.t.Fatalf("line %d: %v", l.Seq, err)
		}
		all = append(all, v)
	}
	return all
}

// list reads the tasks that the last run left.
func (r *rig) list() []tasks.Task {
	r.t.Helper()
	place := r.place()
	store, err := tasks.Open(place.Store(), &tasks.Options{ReadOnly: true, BlobDir: place.Blobs()})
	if err != nil {
		r.t.Fatal(err)
	}
	defer store.Close()
	if err := store.Check(context.Background()); err != nil {
		r.t.Fatalf("the store is not in order: %v", err)
	}
	all, err := store.List(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

func TestTeamRunsToItsEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + `
tasks:
  - {id: api, subject: Add the endpoint, description: GET /changes, owner: dev}
  - {id: docs, subject: Write it up, blocked_by: [api]}
`,
		"lead.yaml": `steps:
  - {say: "I let dev work.", when: "Ship it"}
  - {say: "dev did both.", when: "All tasks are completed"}
`,
		"dev.yaml": `steps:
  - when: "You own task #1: Add the endpoint"
    call: [{tool: TaskList}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: in_progress}}]
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - say: Task 1 is done.
  - when: "claimed task #2"
    call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]
  - say: Task 2 as well.
`,
	})
	ending := r.run(Options{Hooks: r.hold("dev", "TaskList", turnEnded("lead"))})
	r.want(ending, CodeDone, "all work is done")
	if ending.Answer != "dev did both." {
		t.Errorf("the last answer is %q", ending.Answer)
	}
	for _, task := range r.list() {
		if task.Status != tasks.Completed || task.Owner != "dev" {
			t.Errorf("task %s is %s, owned by %q", task.ID, task.Status, task.Owner)
		}
	}
	again := r.run(Options{})
	r.want(again, CodeDone, "nothing is new")
	if !again.AlreadyDone || again.Answer != "dev did both." {
		t.Errorf("the second run: already done %v, answer %q", again.AlreadyDone, again.Answer)
	}
}

// rewrite replaces a part of a file of the rig.
func (r *rig) rewrite(name, from, to string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// read returns a file of the rig.
func (r *rig) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// running asks the running team for its tasks.
func (u *underway) running() []tasks.Task {
	u.t.Helper()
	all, err := u.client().Tasks(u.t.Context())
	if err != nil {
		u.t.Fatal(err)
	}
	return all
}
