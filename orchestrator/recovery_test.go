package orchestrator_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks"
)

// worked is a team that has done two tasks and is done.
func worked(t *testing.T) (r *teamtest.Rig, place state.Place, before string) {
	t.Helper()
	r = teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.PairSpec + "tasks: [{id: a, subject: First thing, owner: dev}, {id: b, subject: Second thing, owner: dev}]\n",
		"lead.yaml": `steps: [{say: Go., times: -1}]`,
		"dev.yaml": `steps:
  - call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
  - call: [{tool: SendMessage, input: {to: lead, message: the first is done}}]
  - call: [{tool: TaskUpdate, input: {taskId: "2", status: completed}}]
  - {say: Done., times: -1}
`,
	})
	place = r.Place()
	registry := &hooks.Registry{}
	_, err := registry.On(hooks.PreToolUse, "TaskUpdate", func(context.Context, hooks.Input) (hooks.Answer, error) {
		if before == "" {
			before = slices.Max(backupsIn(t, place)) // of the store as it was before anybody worked
		}
		return hooks.Answer{}, nil
	})
	testkit.Must(t, err)
	r.Want(r.Run(orchestrator.Options{Hooks: registry}), orchestrator.CodeDone, "all work is done")
	return r, place, before
}

// backupsIn lists the backups of a team's store, the oldest first.
func backupsIn(t *testing.T, place state.Place) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(place.Store()+".backups", "*.db"))
	testkit.Must(t, err)
	slices.Sort(list)
	return list
}

// damage flips a bit in every place of the store where the text stands.
func damage(t *testing.T, path, text string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), text) {
		t.Fatalf("%s does not hold %q: %v", path, text, err)
	}
	harmed := strings.ReplaceAll(string(data), text, string(text[0]^1)+text[1:])
	if err := os.WriteFile(path, []byte(harmed), 0o600); err != nil {
		t.Fatal(err)
	}
}

// oldBackup leaves of all backups only the one at path, which is not the newest.
func oldBackup(t *testing.T, place state.Place, path string) {
	t.Helper()
	list := backupsIn(t, place)
	if !slices.Contains(list[:len(list)-1], path) {
		t.Fatalf("backups %v, wanted %s", list, path)
	}
	for _, other := range list {
		if other == path {
			continue
		}
		if err := os.Remove(other); err != nil {
			t.Fatal(err)
		}
	}
}

// withoutLog takes away what the commits since the backups are noted in.
func withoutLog(t *testing.T, place state.Place) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(place.Store()+".backups", "*.log"))
	if err != nil || len(list) == 0 {
		t.Fatalf("logs %v, %v", list, err)
	}
	for _, path := range list {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamagedStoreIsMadeWhole: a bit that was flipped while the team was down costs
// nothing at all while there is a backup and the log of what was committed since.
func TestDamagedStoreIsMadeWhole(t *testing.T) {
	t.Parallel()
	r, place, atStart := worked(t)
	before := r.List()
	oldBackup(t, place, atStart)
	damage(t, place.Store(), "Second thing")
	e := r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeDone, "all work")
	if !e.Resumed {
		t.Error("the members have forgotten their conversations")
	}
	w := teamtest.Of[events.Warning](r, "warning")
	if len(w) != 2 || !strings.Contains(w[0].Text, "made again from their log: nothing is lost") {
		t.Fatalf("warnings %+v", w)
	}
	for i, task := range r.List() {
		if before[i].Version != task.Version || before[i].Status != task.Status {
			t.Errorf("task %s was %+v and is %+v", task.ID, before[i], task)
		}
	}
	checkStoreNumbers(r, place)
}

// TestDamagedStoreIsRestored: without that log it costs nothing that the journal knows,
// and people are told (ADVERSARIAL.md 28).
func TestDamagedStoreIsRestored(t *testing.T) {
	t.Parallel()
	r, place, atStart := worked(t)
	before := r.List()
	oldBackup(t, place, atStart)
	withoutLog(t, place)
	damage(t, place.Store(), "Second thing")
	e := r.Run(orchestrator.Options{})
	r.Want(e, orchestrator.CodeDone, "all work")
	if !e.Resumed {
		t.Error("the members have forgotten their conversations")
	}
	w := teamtest.Of[events.Warning](r, "warning")
	for i, want := range []string{
		"its backup of ", "about task 1, 2; ", "may be made twice", "kept as " + place.Store() + ".damaged-",
	} {
		if len(w) != 4 || !strings.Contains(w[i].Text, want) {
			t.Fatalf("warnings %+v, want %q", w, want)
		}
	}
	after := r.List()
	for i := range before {
		if before[i].Status != after[i].Status || before[i].Subject != after[i].Subject ||
			before[i].Version != after[i].Version {
			t.Errorf("task %s was %+v and is %+v", before[i].ID, before[i], after[i])
		}
	}
	checkStoreNumbers(r, place)
	r.Want(r.Run(orchestrator.Options{Goal: "Once more."}), orchestrator.CodeDone, "all work is done") // and it goes on
	checkStoreNumbers(r, place)
}

// checkStoreNumbers looks that each event of the store has one line.
func checkStoreNumbers(r *teamtest.Rig, place state.Place) {
	r.T.Helper()
	seen := map[uint64]bool{}
	for l, err := range state.ReadJournal(place.Journal(), 0) {
		if damaged := new(state.LineError); err != nil && !errors.As(err, &damaged) {
			r.T.Error(err)
		}
		if l.Store > 0 && seen[l.Store] {
			r.T.Errorf("event %d of the store has two lines", l.Store)
		}
		seen[l.Store] = true
	}
}

// TestOlderStoreIsRefilled: a copy of the store that somebody put back is brought up to
// what the journal knows.
func TestOlderStoreIsRefilled(t *testing.T) {
	t.Parallel()
	r, place, atStart := worked(t)
	oldBackup(t, place, atStart)
	old, err := os.ReadFile(atStart)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(place.Store(), old, 0o600); err != nil {
		t.Fatal(err)
	}
	withoutLog(t, place)
	r.Run(orchestrator.Options{})
	w := teamtest.Of[events.Warning](r, "warning")
	if len(w) != 3 || !strings.Contains(w[0].Text, "the team's store is older than the journal") {
		t.Errorf("warnings %+v", w)
	}
	for _, task := range r.List() {
		if task.Status != tasks.Completed {
			t.Errorf("task %s is %s", task.ID, task.Status)
		}
	}
}

// TestNothingToRestore: without a backup the run ends at once and says what to do; with
// --fresh it begins anew, and nothing of the old store is left.
func TestNothingToRestore(t *testing.T) {
	t.Parallel()
	r, place, _ := worked(t)
	if err := os.RemoveAll(place.Store() + ".backups"); err != nil {
		t.Fatal(err)
	}
	damage(t, place.Store(), "Second thing")
	_, err := r.Orchestrator(orchestrator.Options{}).Run(t.Context())
	if !errors.Is(err, tasks.ErrCorrupt) || !strings.Contains(err.Error(), "covey up --fresh") ||
		!strings.Contains(err.Error(), "there is no backup to restore") {
		t.Fatalf("error %v", err)
	}
	r.Want(r.Run(orchestrator.Options{Fresh: true}), orchestrator.CodeDone, "all work is done")
	left, err := filepath.Glob(place.Store() + ".damaged-*")
	if err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
