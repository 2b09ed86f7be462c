package merging

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// oneMember is a team of one member, which rests.
type oneMember struct{ *members.Member }

func (m oneMember) Members() []*members.Member { return []*members.Member{m.Member} }

func (m oneMember) StateOf(name string) (members.State, bool) { return members.State{}, name == m.Name }

func (m oneMember) SessionOf(string) (*members.Member, bool) { return m.Member, true }

// TestDeskWithoutRepository: a team in no git repository has a desk that does nothing,
// whatever merges an earlier run has left in the store.
func TestDeskWithoutRepository(t *testing.T) {
	t.Parallel()
	ctx, store := t.Context(), newStore(t)
	done, err := store.Create(ctx, actors.Actor{}, tasks.New{Subject: "Do it", Owner: "ana"})
	testkit.Must(t, err)
	_, err = store.Confirm(ctx, actors.Actor{}, done.ID)
	testkit.Must(t, err)
	completed := tasks.Completed
	done, _, err = store.Update(ctx, actors.Actor{}, done.ID, tasks.Patch{Status: &completed})
	testkit.Must(t, err)
	_, err = store.Merges().Propose(ctx, actors.Actor{}, tasks.Merge{
		Member: "ana", Branch: "covey/crew/ana", Into: "main", From: "1", Commit: "2", State: tasks.MergeQueued,
	})
	testkit.Must(t, err)
	ana := &members.Member{Member: &configs.Member{Name: "ana"}}
	d := New(Deps{
		Store: store, Trees: &workcopies.Trees{}, Members: oneMember{ana}, Log: slog.New(slog.DiscardHandler),
		Changed: func() { t.Error("something has changed") },
	})
	testkit.Must(t, d.Open(ctx))
	d.Serve(ctx)
	d.HarvestTask(ctx, done)
	d.HarvestCompleted(ctx, "ana")
	d.Freshen(ctx, "ana")
	d.Tidy(ctx)
	testkit.Must(t, d.Answered(ctx, requests.Request{ID: "q1", State: requests.Approved}))
	if way := d.OnWay([]tasks.Task{done}); len(way) != 0 {
		t.Errorf("on their way are %v", way)
	}
	if run := d.GateRun(ctx, hooks.Input{}, hooks.Handler{Command: "true"}); run.Fault != "" || run.Final || run.Command != "" {
		t.Errorf("a gate is run as %+v", run)
	}
	if tree, err := d.TreeOf(ctx, ana); tree != "" || err != nil {
		t.Errorf("the tree is %q, %v", tree, err)
	}
	if files, into, err := d.OutsideOf(ctx, ana); len(files) > 0 || into != "" || err != nil {
		t.Errorf("outside are %v of %q, %v", files, into, err)
	}
	if r, err := d.Review(ctx, api.ReviewRequest{}); len(r.Reviews)+len(r.Loose) > 0 || err != nil {
		t.Errorf("the review has %+v, %v", r, err)
	}
	if unmerged, problems := d.Unmerged(ctx); len(unmerged)+len(problems) > 0 {
		t.Errorf("left are %q, %q", unmerged, problems)
	}
	for _, merge := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := d.Merge(ctx, api.MergeRequest{All: true}); return err },
		func(ctx context.Context) error { _, err := d.MergeHere(ctx, api.MergeRequest{All: true}); return err },
	} {
		if err := merge(ctx); err == nil || !strings.Contains(err.Error(), "no git repository") {
			t.Errorf("asked to merge: %v", err)
		}
	}
}
