package orchestrator

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/state"
)

// guardedRig is a team that runs, whose state home is where trust.json is.
func guardedRig(t *testing.T) (r *rig, load func() *configs.Team) {
	t.Helper()
	stateHome(t)
	r = newRig(t, map[string]string{
		"team.yaml": soloSpec + "gates: {task: [./check.sh]}\n",
		"lead.yaml": "exhausted: stop\nsteps: [{say: hello, times: -1}]\n",
		"check.sh":  "#!/bin/sh\nexit 0\n",
	})
	r.home = os.Getenv("COVEY_STATE_HOME")
	return r, func() *configs.Team { return mustLoad(t, filepath.Join(r.dir, "team.yaml")) }
}

// forge writes into trust.json what any process of the user could write.
func forge(t *testing.T, change func(*trustFile)) {
	t.Helper()
	if err := updateTrust(change); err != nil {
		t.Fatal(err)
	}
}

// undone waits until the team has told so often that trust.json was changed behind its back.
func undone(t *testing.T, r *rig, times int) {
	t.Helper()
	n := 0
	r.lines.wait(t, "a warning that trust.json was changed", func(l journal.Line) bool {
		if l.Type == "warning" && strings.Contains(string(l.Data), "without the operator") {
			n++
		}
		return n == times
	})
}

// While a team runs, trust that its operator has not announced does not count.
func TestForgedTrust(t *testing.T) {
	r, load := guardedRig(t)
	mustTrust(t, load())
	r.up()
	key, err := keyOf(load())
	if err != nil {
		t.Fatal(err)
	}
	if !mustCheck(t, load()).Trusted {
		t.Error("what was trusted before the team came up does not count")
	}
	stored := func() string {
		t.Helper()
		all, err := readTrust()
		if err != nil {
			t.Fatal(err)
		}
		e, there := all.find(key)
		if !there {
			return ""
		}
		return e.digest()
	}
	before := stored()

	put(t, r.dir, "check.sh", "#!/bin/sh\nexit 0 # whatever\n")
	now := mustCheck(t, load())
	forge(t, func(all *trustFile) { all.put(key, now.Items) })
	if mustCheck(t, load()).Trusted {
		t.Error("a forged entry counts")
	}
	undone(t, r, 1)
	if stored() != before {
		t.Error("the entry that counts was not put back")
	}
	if err := RememberTrust(t.Context(), load(), now); err != nil {
		t.Fatal(err)
	}
	if !mustCheck(t, load()).Trusted || stored() == before {
		t.Error("what the operator has trusted does not count")
	}

	other := trustKey{Workspace: key.Workspace, Spec: filepath.Join(key.Workspace, "other.yaml")}
	elsewhere := trustKey{Workspace: t.TempDir(), Spec: other.Spec}
	forge(t, func(all *trustFile) {
		all.put(other, now.Items)
		all.put(elsewhere, now.Items) // another workspace's is no business of this team
	})
	undone(t, r, 2)
	all, err := readTrust()
	if err != nil {
		t.Fatal(err)
	}
	if all.index(other) >= 0 || all.index(elsewhere) < 0 {
		t.Errorf("there are %+v", all.Trusted)
	}

	if err := ForgetTrust(t.Context(), load()); err != nil {
		t.Fatal(err)
	}
	forge(t, func(all *trustFile) { all.put(key, now.Items) })
	if mustCheck(t, load()).Trusted {
		t.Error("what the operator has taken back counts once more")
	}
	for deadline := time.Now().Add(testPatience); stored() != ""; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it stays in the file")
		}
	}
}

// What an operator announces and the file does not have yet is no forgery, nor is what the
// file still has.
func TestAnnouncedTrustIsWrittenLater(t *testing.T) {
	_, load := trustRig(t)
	mustTrust(t, load())
	key, err := keyOf(load())
	if err != nil {
		t.Fatal(err)
	}
	place, err := state.PlaceOf("crew", key.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	g := newTrustGuard(place, t.Errorf)
	g.begin()
	g.look()
	next := trustEntry{Items: []TrustItem{{Hash: "x"}}}
	if err := g.announce(key, next.digest()); err != nil {
		t.Fatal(err)
	}
	g.look()
	forge(t, func(all *trustFile) { all.put(trustKey{Workspace: "/elsewhere", Spec: "x"}, nil) })
	g.look() // the file has changed, and the entry has not
	forge(t, func(all *trustFile) { all.put(key, next.Items) })
	g.look()
	if !g.counted(key, next.digest()) {
		t.Error("what was announced does not count")
	}
	if err := g.announce(trustKey{Workspace: "/elsewhere", Spec: key.Spec}, "x"); err == nil {
		t.Error("trust for another workspace was taken")
	}
	told := 0
	g.tell = func(string, ...any) { told++ }
	if err := os.WriteFile(filepath.Join(os.Getenv("COVEY_STATE_HOME"), "trust.json"), []byte("{"),
		0o600); err != nil {
		t.Fatal(err)
	}
	g.look()
	g.look()
	if told != 1 {
		t.Errorf("a damaged file was told of %d times", told)
	}
}

// A result that a member has written into run.json ends no team.
func TestForgedRunFile(t *testing.T) {
	r, _ := guardedRig(t)
	r.up()
	place := r.place()
	run, up := state.Running(place)
	if !up {
		t.Fatal("the team does not run")
	}
	run.Result = &state.RunResult{Reason: "all work is done", Ended: run.Started}
	data, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(place.RunFile(), data, 0o600); err != nil {
		t.Fatal(err)
	}
	r.lines.wait(t, "a warning that run.json was changed", func(l journal.Line) bool {
		return l.Type == "warning" && strings.Contains(string(l.Data), "run.json")
	})
	if _, up := state.Running(place); !up {
		t.Error("run.json was not written anew")
	}
	if err := os.Remove(place.RunFile()); err != nil {
		t.Fatal(err)
	}
	n := 0
	r.lines.wait(t, "a second warning", func(l journal.Line) bool {
		if l.Type == "warning" && strings.Contains(string(l.Data), "run.json") {
			n++
		}
		return n == 2
	})
	if _, up := state.Running(place); !up {
		t.Error("run.json was not written anew after it was removed")
	}
}
