package orchestrator

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/crew"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// crewRig is a team whose crew a test can reach. Its members are there, but take
// no turns: what happens, happens by the team tools.
type crewRig struct {
	t     *testing.T
	dir   string // the spec's folder
	lines testkit.Log[events.Line]
	team  *team
	stop  func()
}

// newCrewRig hires the members of a team.
func newCrewRig(t *testing.T, files map[string]string) *crewRig {
	t.Helper()
	return crewRigIn(t, testkit.Files(t, files))
}

// crewRigIn hires the members of the team in a folder.
func crewRigIn(t *testing.T, dir string) *crewRig {
	t.Helper()
	r := &crewRig{t: t, dir: dir}
	team, err := configs.Load(filepath.Join(dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := New(team, Options{OnLine: r.lines.Add, StateHome: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.place.Create(); err != nil {
		t.Fatal(err)
	}
	store, err := tasks.Open(o.place.Store(), &tasks.Options{BlobDir: o.place.Blobs()})
	if err != nil {
		t.Fatal(err)
	}
	live := view.NewLive(store.Outbox())
	j := openTestJournal(t, o.place.Journal(), store, live.Apply)
	b, err := bus.Embed(bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := newTeam(t.Context(), o, thisRun{}, opened{store: store, journal: j, bus: b, state: live})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.assemble(t.Context()); err != nil {
		t.Fatal(err)
	}
	views := viewsOf(o.opts.OnLine)
	views.Stored = c.crew.Stored
	go j.Run(events.TeamStarted{Members: o.memberNames()}, views)
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		c.dismiss()
		if err := errors.Join(j.Close(), b.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	r.team, r.stop = c, stop
	return r
}

// seat finds a member.
func (r *crewRig) seat(name string) *crew.Seat {
	r.t.Helper()
	s, ok := r.team.Seats.Of(name)
	if !ok {
		r.t.Fatalf("no member %s", name)
	}
	return s
}

// stored are the tasks that there are now.
func (r *crewRig) stored() []tasks.Task {
	r.t.Helper()
	all, err := r.team.Store.List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// write makes a file of the workspace.
func (r *crewRig) write(name, text string) {
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Error(err)
	}
}

// connect logs an agent in as a member.
func (r *crewRig) connect(member string) testkit.MCPAgent {
	r.t.Helper()
	url, token, err := r.team.tools.Admit(r.seat(member).Member, false)
	if err != nil {
		r.t.Fatal(err)
	}
	return testkit.DialMCP(r.t, url, token)
}

func mcpFiles(more string) map[string]string {
	return map[string]string{
		"team.yaml": testkit.PairSpec + "  docs: {model: dev, description: writes}\n" + more,
		"lead.yaml": "steps: []\n", "dev.yaml": "steps: []\n",
	}
}

// treeRig is a crewRig in a git repository, whose dev owns task 1 and has a working copy.
func treeRig(t *testing.T) *crewRig {
	t.Helper()
	dir := testkit.Files(t, map[string]string{
		"team.yaml": testkit.PairSpec + "merge: {}\ntasks: [{id: a, subject: A, owner: dev}, {id: b, subject: B}]\n",
		"lead.yaml": "steps: []\n", "dev.yaml": "steps: []\n",
	})
	testkit.Commit(t, dir)
	r := crewRigIn(t, dir)
	testkit.Must(t, r.team.copies.Ready(t.Context(), r.seat("dev").Member))
	return r
}

// whenRun calls f once the gate runs.
func (r *crewRig) whenRun(f func()) {
	r.lines.Wait(r.t, "the gate to run", func(l events.Line) bool { return l.Type == "hook_started" })
	f()
}

// openTestJournal opens a journal at path for a team called crew. The caller runs it and
// closes it.
func openTestJournal(t *testing.T, path string, store *tasks.Store, happened func(events.Event)) *state.Journal {
	t.Helper()
	j, err := state.OpenJournal(path, state.JournalOptions{
		Team: "crew", Store: store, Log: slog.New(slog.DiscardHandler), See: func(events.Line) {}, Failed: func(error) {},
		Happened: happened,
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// viewsOf are views that tell line of each line, and look at nothing else.
func viewsOf(line func(events.Line)) state.Views {
	return state.Views{Line: line, Stored: func(events.Line) {}, Grew: func(uint64) {}}
}
