package merging

import (
	"errors"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// crew is a team with ana as its lead.
var crew = &configs.Team{Lead: configs.Member{Name: "ana"}}

// finished adds a completed task of a member.
func finished(t testing.TB, store *tasks.Store, owner string) tasks.Task {
	t.Helper()
	list, err := store.Add(t.Context(), actors.Actor{}, []tasks.New{{Subject: "Do it", Owner: owner}})
	testkit.Must(t, err)
	done := tasks.Completed
	one, _, err := store.Update(t.Context(), actors.Actor{Name: owner}, list[0].ID, tasks.Patch{Status: &done})
	testkit.Must(t, err)
	return one
}

// TestReturn: work goes back in each state of its merge, except where it is under way to its branch
// or with its author already.
func TestReturn(t *testing.T) {
	t.Parallel()
	for state, want := range map[tasks.MergeState]struct {
		how   api.Returned
		after tasks.MergeState
	}{
		tasks.MergeWaiting: {api.ReturnedStopped, tasks.MergeReturned}, tasks.MergeQueued: {api.ReturnedStopped, tasks.MergeReturned},
		tasks.MergeTesting: {api.ReturnedStopped, tasks.MergeReturned}, tasks.MergeHeld: {api.ReturnedStopped, tasks.MergeReturned},
		tasks.MergeReady: {api.ReturnedStopped, tasks.MergeReturned}, tasks.MergeLanding: {"", tasks.MergeLanding},
		tasks.MergeReturned: {"", tasks.MergeReturned}, tasks.MergeDone: {api.ReturnedMerged, tasks.MergeDone},
		tasks.MergeDropped: {api.ReturnedOpen, tasks.MergeDropped},
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			q := paperQueue(t, "ana")
			task := finished(t, q.Store, "ana")
			m := stands(t, q, state, task.ID)
			reply, err := sender{q.Store, crew}.send(t.Context(), api.ReturnRequest{Task: task.ID, Text: " More.\nMuch more.\n\na.go:3: Why?"})
			if want.how == "" {
				if !errors.Is(err, tasks.ErrTransition) {
					t.Fatalf("%+v, %v", reply, err)
				}
				return
			}
			testkit.Must(t, err)
			fix, err := q.Store.Task(t.Context(), reply.Task)
			testkit.Must(t, err)
			list, err := q.Store.Merges().List(t.Context())
			testkit.Must(t, err)
			if reply.How != want.how || reply.Member != "ana" || list[0].State != want.after || list[0].Round != m.Round {
				t.Errorf("%+v, %+v", reply, list[0])
			}
			if fix.Status != tasks.Pending || fix.Owner != "ana" || fix.Metadata[KeyMerge] != nil ||
				(fix.ID == task.ID) != (reply.How == api.ReturnedOpen) {
				t.Errorf("%+v", fix)
			}
			if reply.How == api.ReturnedStopped && list[0].Reason != "a person sent it back: More. Much more." {
				t.Errorf("the reason is %q", list[0].Reason)
			}
			said := fix.Description
			if reply.How == api.ReturnedOpen {
				mail, err := q.Store.Mail().Unread(t.Context(), "ana")
				testkit.Must(t, err)
				said = mail[len(mail)-1].Text
			}
			if !strings.Contains(said, "More.\nMuch more.\n\na.go:3: Why?") {
				t.Errorf("its author reads %q", said)
			}
		})
	}
}

// TestReturnOfOthers: what is not finished does not go back, nor without a word; and a task whose
// author is no member any more is open to all.
func TestReturnOfOthers(t *testing.T) {
	t.Parallel()
	q := paperQueue(t, "ana")
	s := sender{q.Store, crew}
	task := finished(t, q.Store, "gone")
	list, err := q.Store.Add(t.Context(), actors.Actor{}, []tasks.New{{Subject: "Later", Owner: "ana"}})
	testkit.Must(t, err)
	for r, want := range map[api.ReturnRequest]error{
		{Task: task.ID, Text: " "}:     tasks.ErrInvalid,
		{Task: list[0].ID, Text: "no"}: tasks.ErrTransition,
		{Task: "99", Text: "no"}:       tasks.ErrNotFound,
	} {
		if _, err := s.send(t.Context(), r); !errors.Is(err, want) {
			t.Errorf("%+v: %v, want %v", r, err, want)
		}
	}
	reply, err := s.send(t.Context(), api.ReturnRequest{Task: task.ID, Text: "no"})
	if err != nil || reply.How != api.ReturnedOpen || reply.Member != "" {
		t.Errorf("%+v, %v", reply, err)
	}
}

// TestReturnedWorkIsNotMergedByAll: `covey merge --all` and a merge of its member leave it.
func TestReturnedWorkIsNotMergedByAll(t *testing.T) {
	t.Parallel()
	back := tasks.Merge{Member: "ana", Tasks: []string{"1"}, State: tasks.MergeReturned}
	for r, want := range map[api.MergeRequest]bool{{All: true}: false, {Member: "ana"}: false, {Task: "1"}: true} {
		if r.Wants(back) != want {
			t.Errorf("%+v: %t", r, !want)
		}
	}
}
