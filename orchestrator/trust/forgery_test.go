package trust_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/trust"
)

// guardedRig is a team that runs, whose state home is where trust.json is.
func guardedRig(t *testing.T) (r *teamtest.Rig, load func() *configs.Team) {
	t.Helper()
	teamtest.StateHome(t)
	r = teamtest.NewRig(t, map[string]string{
		"team.yaml": testkit.SoloSpec + "gates: {task: [./check.sh]}\n",
		"lead.yaml": "exhausted: stop\nsteps: [{say: hello, times: -1}]\n",
		"check.sh":  "#!/bin/sh\nexit 0\n",
	})
	r.Home = os.Getenv("COVEY_STATE_HOME")
	return r, func() *configs.Team { return teamtest.MustLoad(t, filepath.Join(r.Dir, "team.yaml")) }
}

// trusted is trust.json as any process of the user can read and write it.
type trusted struct {
	Format  int            `json:"format"`
	Trusted []trustedEntry `json:"trusted"`
}

type trustedEntry struct {
	Workspace string       `json:"workspace"`
	Spec      string       `json:"spec"`
	Since     time.Time    `json:"since"`
	Items     []trust.Item `json:"items"`
}

// readTrusted reads trust.json.
func readTrusted(t *testing.T) (all trusted, path string) {
	t.Helper()
	path = filepath.Join(os.Getenv("COVEY_STATE_HOME"), "trust.json")
	data, err := os.ReadFile(path)
	testkit.Must(t, err)
	testkit.Must(t, json.Unmarshal(data, &all))
	return all, path
}

// digest tells what is trusted for a spec apart; empty: nothing is.
func (all trusted) digest(spec string) string {
	for _, e := range all.Trusted {
		if e.Spec == spec {
			return trust.Report{Items: e.Items}.Digest()
		}
	}
	return ""
}

// forge puts entries into trust.json, in the place of those for the same specs.
func forge(t *testing.T, entries ...trustedEntry) {
	t.Helper()
	all, path := readTrusted(t)
	for _, e := range entries {
		all.Trusted = slices.DeleteFunc(all.Trusted, func(old trustedEntry) bool {
			return old.Workspace == e.Workspace && old.Spec == e.Spec
		})
		all.Trusted = append(all.Trusted, e)
	}
	data, err := json.Marshal(all)
	testkit.Must(t, err)
	testkit.Must(t, state.WriteAtomic(path, data))
}

// undone waits until the team has told so often that trust.json was changed behind its back.
func undone(t *testing.T, r *teamtest.Rig, times int) {
	t.Helper()
	n := 0
	r.Lines.Wait(t, "a warning that trust.json was changed", func(l events.Line) bool {
		if l.Type == "warning" && strings.Contains(string(l.Data), "without the operator") {
			n++
		}
		return n == times
	})
}

// While a team runs, trust that its operator has not announced does not count.
func TestForgedTrust(t *testing.T) {
	r, load := guardedRig(t)
	teamtest.MustTrust(t, load())
	r.Up()
	workspace, err := state.RealPath(r.Dir)
	testkit.Must(t, err)
	spec := filepath.Join(workspace, "team.yaml")
	if !teamtest.MustCheck(t, load()).Trusted {
		t.Error("what was trusted before the team came up does not count")
	}
	stored := func() string {
		t.Helper()
		all, _ := readTrusted(t)
		return all.digest(spec)
	}
	before := stored()

	testkit.Put(t, r.Dir, "check.sh", "#!/bin/sh\nexit 0 # whatever\n")
	now := teamtest.MustCheck(t, load())
	forge(t, trustedEntry{Workspace: workspace, Spec: spec, Items: now.Items})
	if teamtest.MustCheck(t, load()).Trusted {
		t.Error("a forged entry counts")
	}
	undone(t, r, 1)
	if stored() != before {
		t.Error("the entry that counts was not put back")
	}
	if err := trust.Remember(t.Context(), load(), now); err != nil {
		t.Fatal(err)
	}
	if !teamtest.MustCheck(t, load()).Trusted || stored() == before {
		t.Error("what the operator has trusted does not count")
	}

	other := filepath.Join(workspace, "other.yaml")
	forge(t, trustedEntry{Workspace: workspace, Spec: other, Items: now.Items},
		trustedEntry{Workspace: t.TempDir(), Spec: "elsewhere", Items: now.Items}) // is no business of this team
	undone(t, r, 2)
	if all, _ := readTrusted(t); all.digest(other) != "" || all.digest("elsewhere") == "" {
		t.Errorf("there are %+v", all.Trusted)
	}

	if err := trust.Forget(t.Context(), load()); err != nil {
		t.Fatal(err)
	}
	forge(t, trustedEntry{Workspace: workspace, Spec: spec, Items: now.Items})
	if teamtest.MustCheck(t, load()).Trusted {
		t.Error("what the operator has taken back counts once more")
	}
	testkit.Eventually(t, "the entry to leave the file", func() bool { return stored() == "" })
}

// A result that a member has written into run.json ends no team.
func TestForgedRunFile(t *testing.T) {
	r, _ := guardedRig(t)
	r.Up()
	place := r.Place()
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
	r.Lines.Wait(t, "a warning that run.json was changed", func(l events.Line) bool {
		return l.Type == "warning" && strings.Contains(string(l.Data), "run.json")
	})
	if _, up := state.Running(place); !up {
		t.Error("run.json was not rewritten")
	}
	if err := os.Remove(place.RunFile()); err != nil {
		t.Fatal(err)
	}
	n := 0
	r.Lines.Wait(t, "a second warning", func(l events.Line) bool {
		if l.Type == "warning" && strings.Contains(string(l.Data), "run.json") {
			n++
		}
		return n == 2
	})
	if _, up := state.Running(place); !up {
		t.Error("run.json was not rewritten after it was removed")
	}
}
