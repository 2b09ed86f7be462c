package teamtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// Facts folds what the last run wrote to the journal.
func (r *Rig) Facts() *view.State {
	state := &view.State{}
	for _, l := range r.Lines.All() {
		state.Apply(l.Event())
	}
	return state
}

// WantGates fails the test unless the journal has these gates of a member's work: event, moment,
// task and verdict.
func (r *Rig) WantGates(member string, want ...string) {
	r.T.Helper()
	var got []string
	for _, g := range r.Facts().GatesOf(func(g *view.Gate) bool { return g.Member == member }) {
		got = append(got, fmt.Sprintf("%s %s %s %s", g.Event, g.At, g.Task, g.Verdict))
	}
	if !slices.Equal(got, want) {
		r.T.Errorf("the gates of %s are\n%s\nwant\n%s", member, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func MustLoad(t *testing.T, spec string) *configs.Team {
	t.Helper()
	team, err := configs.Load(spec)
	if err != nil {
		t.Fatal(err)
	}
	return team
}

func MustCheck(t *testing.T, team *configs.Team) trust.Report {
	t.Helper()
	r, err := trust.Check(t.Context(), team)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func MustTrust(t *testing.T, team *configs.Team) {
	t.Helper()
	if err := trust.Remember(t.Context(), team, MustCheck(t, team)); err != nil {
		t.Fatal(err)
	}
}

// CompletedOnce: no task was completed twice in the journal of the run.
func (r *Rig) CompletedOnce() {
	r.T.Helper()
	completed := map[string]int{}
	for _, c := range Of[tasks.Change](r, "task") {
		if c.Op == tasks.TaskCompleted {
			completed[c.Task.ID]++
		}
	}
	for id, n := range completed {
		if n != 1 {
			r.T.Errorf("task %s was completed %d times", id, n)
		}
	}
}

// RunFor is run with a time of the caller's, after which a team that has not
// ended hangs.
func (r *Rig) RunFor(limit time.Duration, opts orchestrator.Options) orchestrator.Ending {
	r.T.Helper()
	return r.Finish(limit, r.Orchestrator(opts).Run)
}

// Finish runs a team that is expected to end by itself.
func (r *Rig) Finish(limit time.Duration, run func(context.Context) (orchestrator.Ending, error)) orchestrator.Ending {
	r.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ending, err := run(ctx)
	if err != nil {
		r.T.Fatalf("Run: %v\n%s", err, Show(r.Lines.All()))
	}
	if ctx.Err() != nil {
		r.T.Fatalf("the team did not end by itself:\n%s", Show(r.Lines.All()))
	}
	return ending
}

// Up starts a team that stays up, and returns a client of it. The team is
// ended, and its ending checked for trouble, when the test is over.
func (r *Rig) Up() *api.Client {
	r.T.Helper()
	o := r.Orchestrator(orchestrator.Options{Keep: true})
	ctx, cancel := context.WithCancel(context.Background())
	type end struct {
		orchestrator.Ending
		err error
	}
	done := make(chan end, 1)
	go func() {
		e, err := o.Run(ctx)
		done <- end{e, err}
	}()
	r.T.Cleanup(func() {
		cancel()
		select {
		case e := <-done:
			if e.err != nil {
				r.T.Errorf("the team ended with: %v", e.err)
			}
		case <-time.After(testkit.Patience):
			r.T.Error("the team does not end")
		}
	})
	r.Lines.Wait(r.T, "the team to be up", func(l events.Line) bool { return events.Is[events.MemberStarted](l) })
	c, err := api.Dial(context.Background(), o.Place())
	if err != nil {
		r.T.Fatal(err)
	}
	r.T.Cleanup(func() {
		if err := c.Close(); err != nil {
			r.T.Error(err)
		}
	})
	return c
}

// TurnsOf counts the turns of a member.
func (r *Rig) TurnsOf(member string) int {
	n := 0
	for _, l := range r.Lines.All() {
		if l.Member == member && events.Is[events.TurnStarted](l) {
			n++
		}
	}
	return n
}

// NothingToShow is why a run ends that has come to nothing.
const NothingToShow = "nothing was changed, no task was completed"

// asWrittenByRun puts the spec where `covey run` keeps it, and returns a run of it.
func (r *Rig) asWrittenByRun(opts orchestrator.Options) *orchestrator.Orchestrator {
	r.T.Helper()
	place := r.Place()
	text := strings.ReplaceAll(r.Read("team.yaml"), "script: ", "script: "+r.Dir+"/")
	if err := os.MkdirAll(place.Dir, 0o700); err != nil {
		r.T.Fatal(err)
	}
	path := filepath.Join(place.Dir, "run.yaml")
	if err := os.WriteFile(path, []byte(text+"workspace: "+r.Dir+"\n"), 0o600); err != nil {
		r.T.Fatal(err)
	}
	return r.orchestratorOf(path, opts)
}

func (r *Rig) RunAsRun(opts orchestrator.Options) orchestrator.Ending {
	r.T.Helper()
	ending, err := r.asWrittenByRun(opts).Run(r.T.Context())
	if err != nil {
		r.T.Fatal(err)
	}
	return ending
}

// StateHome is a fresh state home for a test.
func StateHome(t *testing.T) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "state")
	t.Setenv("COVEY_STATE_HOME", home)
	return home
}

// Rig is a team in a folder of its own, for tests. Its scripts come from a
// txtar-like map of file names to contents.
type Rig struct {
	T     *testing.T
	Dir   string // the spec's folder
	Home  string // of the team's state
	Lines *testkit.Log[events.Line]
	Log   *strings.Builder
}

// TurnEnded matches the ends of a member's turns.
func TurnEnded(member string) func(events.Line) bool {
	return func(l events.Line) bool { return events.Is[events.TurnEnded](l) && l.Member == member }
}

// Hold returns hooks under which a member's n-th call of a tool waits for the n-th line
// that matches. So what the call does comes after that line, however fast the disk is.
func (r *Rig) Hold(member, tool string, until func(events.Line) bool) *hooks.Registry {
	r.T.Helper()
	registry, calls := &hooks.Registry{}, atomic.Int32{}
	_, err := registry.On(hooks.PreToolUse, tool, func(ctx context.Context, in hooks.Input) (hooks.Answer, error) {
		if cmp.Or(in.AgentType, "lead") != member { // a lead has no type
			return hooks.Answer{}, nil
		}
		_, err := r.Lines.Nth(ctx, int(calls.Add(1)), until)
		return hooks.Answer{}, err
	})
	if err != nil {
		r.T.Fatal(err)
	}
	return registry
}

// Show writes lines for a failure message.
func Show(lines []events.Line) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%d %s/%d %s %s\n", l.Seq, l.Member, l.Turn, l.Type, l.Data)
	}
	return b.String()
}

// NewRig writes files into a fresh folder and sends all state elsewhere. Rigs share
// nothing, so tests that wait more than they work call t.Parallel.
func NewRig(t *testing.T, files map[string]string) *Rig {
	t.Helper()
	r := &Rig{T: t, Dir: t.TempDir(), Home: t.TempDir(), Log: &strings.Builder{}}
	for name, text := range files {
		path := filepath.Join(r.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := testkit.WriteProgram(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// Place is where the team's state is.
func (r *Rig) Place() state.Place {
	r.T.Helper()
	p, err := state.PlaceIn(r.Home, "crew", r.Dir)
	if err != nil {
		r.T.Fatal(err)
	}
	return p
}

// Orchestrator loads team.yaml and makes the Orchestrator of a new run.
func (r *Rig) Orchestrator(opts orchestrator.Options) *orchestrator.Orchestrator {
	r.T.Helper()
	return r.orchestratorOf(filepath.Join(r.Dir, "team.yaml"), opts)
}

// orchestratorOf makes the Orchestrator of a new run of the team of a spec.
func (r *Rig) orchestratorOf(spec string, opts orchestrator.Options) *orchestrator.Orchestrator {
	r.T.Helper()
	team, err := configs.Load(spec)
	if err != nil {
		r.T.Fatal(err)
	}
	r.Lines = &testkit.Log[events.Line]{}
	opts.OnLine, opts.StateHome = r.Lines.Add, r.Home
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(testLog{r.T}, nil))
	}
	o, err := orchestrator.New(team, opts)
	if err != nil {
		r.T.Fatal(err)
	}
	return o
}

// testLog sends covey's own troubles to the test's log.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// Run runs the team to its end.
func (r *Rig) Run(opts orchestrator.Options) orchestrator.Ending {
	r.T.Helper()
	return r.RunFor(testkit.Patience, opts)
}

// Want checks how a run ended.
func (r *Rig) Want(e orchestrator.Ending, code int, reason string) {
	r.T.Helper()
	if e.Code != code || !strings.Contains(e.Reason, reason) {
		r.T.Fatalf("ended with %d, %q; want %d, %q. The journal:\n%s", e.Code, e.Reason, code, reason,
			Show(r.Lines.All()))
	}
}

// Of returns the data of all lines of one type, decoded into T.
func Of[T any](r *Rig, typ string) []T {
	r.T.Helper()
	var all []T
	for _, l := range r.Lines.All() {
		if l.Type != typ {
			continue
		}
		var v T
		if err := json.Unmarshal(l.Data, &v); err != nil {
			r.T.Fatalf("line %d: %v", l.Seq, err)
		}
		all = append(all, v)
	}
	return all
}

// List reads the tasks that the last run left.
func (r *Rig) List() []tasks.Task {
	r.T.Helper()
	place := r.Place()
	store, err := tasks.Open(place.Store(), &tasks.Options{ReadOnly: true, BlobDir: place.Blobs()})
	if err != nil {
		r.T.Fatal(err)
	}
	defer store.Close()
	if err := store.Check(context.Background()); err != nil {
		r.T.Fatalf("the store is not in order: %v", err)
	}
	all, err := store.List(context.Background())
	if err != nil {
		r.T.Fatal(err)
	}
	return all
}

// Rewrite replaces a part of a file of the rig.
func (r *Rig) Rewrite(name, from, to string) {
	r.T.Helper()
	path := filepath.Join(r.Dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		r.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o644); err != nil {
		r.T.Fatal(err)
	}
}

// Read returns a file of the rig.
func (r *Rig) Read(name string) string {
	r.T.Helper()
	text, err := os.ReadFile(filepath.Join(r.Dir, name))
	if err != nil {
		r.T.Fatal(err)
	}
	return string(text)
}

// Running asks the running team for its tasks.
func (u *Underway) Running() []tasks.Task {
	u.T.Helper()
	all, err := u.Client().Tasks(u.T.Context())
	if err != nil {
		u.T.Fatal(err)
	}
	return all
}
