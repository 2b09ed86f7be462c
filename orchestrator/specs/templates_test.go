package specs_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/orchestrator/specs"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

const spec = `covey: 1
lead: {model: openai/gpt-5}
teammates: {helper: {model: openai/gpt-5}}
templates:
  coder: {model: openai/gpt-5, max: 2}
  tester: {model: openai/gpt-5, max: 1}
`

// rig is a team without a crew: who is added is seated, unless its name is in unseatable.
type rig struct {
	*testing.T
	*specs.Templates
	store      *tasks.Store
	unseatable string
	over       bool

	mu   sync.Mutex
	spec *configs.Team
	team *configs.Team
}

func newRig(t *testing.T, store *tasks.Store) *rig {
	r := &rig{T: t, store: store}
	r.spec = r.parse(spec)
	r.team = r.spec
	r.Templates = specs.NewTemplates(specs.TemplateDeps{
		Store: store,
		Team: func() *configs.Team {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.team
		},
		Member: func(name string) (*members.Member, bool) {
			return nil, name != r.unseatable && slices.Contains(r.names(), name)
		},
	})
	go r.Serve(t.Context(), r.apply) // ends with the test
	return r
}

func (r *rig) parse(text string) *configs.Team {
	r.Helper()
	team, err := configs.Parse(filepath.Join(r.TempDir(), "team.yaml"), []byte(text))
	if err != nil {
		r.Fatal(err)
	}
	return team
}

func (r *rig) apply(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return members.ErrOver
	}
	list, err := specs.ReadSpawned(ctx, r.store)
	r.team = specs.Grow(r.team, list)
	return err
}

func (r *rig) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.team.MemberNames()
}

// has checks who is in the team, and that a next run would have the same members.
func (r *rig) has(want ...string) {
	r.Helper()
	list, err := specs.ReadSpawned(r.Context(), r.store)
	next := specs.Grow(r.spec, list).MemberNames()
	if want = append([]string{"lead", "helper"}, want...); err != nil || !slices.Equal(r.names(), want) || !slices.Equal(next, want) {
		r.Errorf("the team has %v and a next run %v, want %v (%v)", r.names(), next, want, err)
	}
}

func (r *rig) add(call, template, name string) error {
	return r.Spawn(r.Context(), actors.Actor{Name: "lead", CallID: call}, template, name)
}

func (r *rig) retire(name string) {
	r.Helper()
	i := slices.IndexFunc(r.team.Teammates, func(m configs.Member) bool { return m.Name == name })
	if err := r.Retired(r.Context(), &members.Member{Member: &r.team.Teammates[i]}); err != nil {
		r.Error(err)
	}
}

// TestSpawn: what can be added is added once, and what cannot is refused with the way out.
func TestSpawn(t *testing.T) {
	r := newRig(t, testkit.OpenStore(t, tasks.Open))
	if _, err := r.store.Members().Attach(t.Context(), "old", func() string { return "s" }); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ana", "bob", "ana"} { // the last call is one that a crash has cut off
		if err := r.add("call-"+name, "coder", name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.has("ana", "bob")
	for _, tc := range []struct{ template, name, want string }{
		{"coder", "cleo", "may have 2 teammates of the template coder, and has ana, bob; give one of them the work"},
		{"nobody", "cleo", `there is no template "nobody"; the templates are coder, tester`},
		{"tester", "Cleo", "write cleo"},
		{"tester", "../x", "write x"},
		{"tester", "", "no member can be called"},
		{"tester", "operator", "which means the person at the command line"},
		{"tester", "ana", `the name "ana" is, or was,`},
		{"tester", "helper", `the name "helper" is, or was,`},
		{"tester", "lead", `the name "lead" is, or was,`},
		{"tester", "coder", `the name "coder" is, or was,`},
		{"tester", "old", `the name "old" is, or was,`},
	} {
		if err := r.add("other", tc.template, tc.name); !errors.Is(err, tasks.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s from %s: %v, want %s", tc.name, tc.template, err, tc.want)
		}
	}
	r.Describe(&plan.Scene{Exhausted: "budget.usd is used up"}, nil)
	if err := r.add("a", "tester", "cleo"); err == nil || !strings.Contains(err.Error(), "nobody can be added: budget.usd is used up") {
		t.Errorf("without budget: %v", err)
	}
	r.has("ana", "bob")
}

// TestPlaces: who leaves frees a place for a new name, also if the team is about to end, and a
// member that cannot be started takes none.
func TestPlaces(t *testing.T) {
	r := newRig(t, testkit.OpenStore(t, tasks.Open))
	r.unseatable = "bad"
	if err := r.add("1", "tester", "bad"); err == nil || !strings.Contains(err.Error(), "bad could not be added: `covey logs bad` says why") {
		t.Errorf("a member without a seat: %v", err)
	}
	r.has()
	if err := r.add("2", "tester", "ana"); err != nil {
		t.Error(err)
	}
	if err := r.add("3", "tester", "bob"); err == nil {
		t.Error("a place was given twice")
	}
	r.retire("helper") // it is the spec's
	r.has("ana")
	r.retire("ana")
	r.has()
	if err := r.add("4", "tester", "bob"); err != nil {
		t.Error(err)
	}
	r.over = true
	if err := r.add("5", "coder", "cleo"); !errors.Is(err, members.ErrOver) {
		t.Errorf("at the end: %v", err)
	}
	r.retire("bob")
	if list, err := specs.ReadSpawned(t.Context(), r.store); len(list) > 0 || err != nil {
		t.Errorf("a next run has %v, %v", list, err)
	}
}

// TestSpawnTogether: of many calls at once no more succeed than there are places.
func TestSpawnTogether(t *testing.T) {
	r := newRig(t, testkit.OpenStore(t, tasks.Open))
	var all sync.WaitGroup
	added := make(chan string, 8)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		all.Go(func() {
			if r.add(name, "coder", name) == nil {
				added <- name
			}
		})
	}
	all.Wait()
	close(added)
	if len(added) != 2 {
		t.Errorf("%d were added", len(added))
	}
	names := r.names()[2:]
	for name := range added {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not in the team: %v", name, names)
		}
	}
	r.has(names...)
}

// TestPrune: another spec keeps whom it allows for, and people are told of the others. A member
// that it names is its own from then on.
func TestPrune(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	store, err := tasks.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, store)
	for _, name := range []string{"ana", "bob", "cleo"} {
		if err := r.add(name, map[bool]string{true: "tester", false: "coder"}[name == "cleo"], name); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if store, err = tasks.Open(path, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	r = newRig(t, store)
	if notes, err := r.Prune(t.Context(), r.spec); len(notes) > 0 || err != nil {
		t.Errorf("the same spec: %q, %v", notes, err)
	}
	for _, tc := range []struct{ name, old, new, want, notes string }{
		{"fewer places", "max: 2", "max: 1", "helper ana bob cleo", "the template coder has 2 members, more than its max of 1: they stay, and none is added"},
		{"a member of that name", "helper: ", "bob: {model: openai/gpt-5, labels: [own]}, helper: ", "bob helper ana cleo", ""},
		{"no such template", "  tester: {model: openai/gpt-5, max: 1}\n", "", "helper ana", "cleo has left the team: the spec has no template tester any more"},
		{"the template is back", "", "", "helper ana", ""},
	} {
		team := r.parse(strings.Replace(spec, tc.old, tc.new, 1))
		notes, err := r.Prune(t.Context(), team)
		if got := strings.Join(notes, "; "); got != tc.notes || err != nil {
			t.Errorf("%s: %q, %v", tc.name, got, err)
		}
		list, err := specs.ReadSpawned(t.Context(), r.store)
		grown := specs.Grow(team, list)
		if got := strings.Join(grown.MemberNames(), " "); got != "lead "+tc.want || err != nil {
			t.Errorf("%s: the members are %s, want %s (%v)", tc.name, got, tc.want, err)
		}
		for _, m := range grown.Teammates {
			if (m.Template == "") != (m.Name == "helper" || m.Labels != nil) {
				t.Errorf("%s: %s is of the template %q", tc.name, m.Name, m.Template)
			}
		}
	}
}
