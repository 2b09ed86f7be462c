package tasks

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"
)

func TestStatusLeadsTo(t *testing.T) {
	legal := map[Status][]Status{
		Proposed:   nil,
		Pending:    {InProgress, Completed},
		InProgress: {Pending, Completed},
		Completed:  {Pending},
		"deleted":  nil,
	}
	all := []Status{Proposed, Pending, InProgress, Completed, "deleted", ""}
	for from, next := range legal {
		for _, to := range all {
			if have, want := from.leadsTo(to), slices.Contains(next, to); have != want {
				t.Errorf("%q leads to %q: %v, want %v", from, to, have, want)
			}
		}
	}
}

func TestClaimable(t *testing.T) {
	for _, tt := range []struct {
		name     string
		task     Task
		blockers []string
		busy     []string
		max      int
		again    bool
		err      error
		words    string
	}{
		{name: "free", task: Task{Status: Pending}},
		{name: "assigned to the claimant", task: Task{Status: Pending, Owner: "ann"}},
		{name: "below the limit", task: Task{Status: Pending}, busy: []string{"4"}, max: 2},
		{name: "at the limit", task: Task{Status: Pending}, busy: []string{"4", "5"}, max: 2,
			err: ErrBusy, words: "ann has tasks 4, 5 already (limit 2)"},
		{name: "no limit", task: Task{Status: Pending}, busy: []string{"4", "5"}},
		{name: "mine already", task: Task{Status: InProgress, Owner: "ann"}, again: true},
		{name: "mine already, at the limit", task: Task{Status: InProgress, Owner: "ann"},
			busy: []string{"7"}, max: 1, again: true},
		{name: "in progress elsewhere", task: Task{Status: InProgress, Owner: "bob"},
			err: ErrOwned, words: "bob (in_progress)"},
		{name: "assigned elsewhere", task: Task{Status: Pending, Owner: "bob"}, err: ErrOwned, words: "bob (pending)"},
		{name: "blocked", task: Task{Status: Pending}, blockers: []string{"2", "3"},
			err: ErrBlocked, words: "blocked by tasks 2, 3"},
		{name: "owned before blocked", task: Task{Status: Pending, Owner: "bob"}, blockers: []string{"2"}, err: ErrOwned},
		{name: "completed", task: Task{Status: Completed, Owner: "ann"}, err: ErrDone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.task.ID = "7"
			again, err := Claim{Member: "ann", Max: tt.max}.claimable(tt.task, tt.blockers, tt.busy)
			if again != tt.again || !errors.Is(err, tt.err) {
				t.Fatalf("again %v, error %v", again, err)
			}
			if tt.err != nil {
				wantError(t, err, tt.err, tt.words, "7")
			}
		})
	}
}

func TestAdvance(t *testing.T) {
	member := actors.Actor{Name: "ann", Session: 1}
	for _, tt := range []struct {
		name     string
		task     Task
		patch    Patch
		actor    actors.Actor
		blockers []string
		want     string // status owner epoch fields
		err      error
	}{
		{name: "nothing", task: Task{Status: Pending}, want: "pending  0 []"},
		{name: "same values", task: Task{Status: Pending, Subject: "s", Owner: "bob"},
			patch: Patch{Subject: ptr("s"), Owner: ptr("bob"), Status: ptr(Pending)}, want: "pending bob 0 []"},
		{name: "texts", task: Task{Status: Pending}, patch: Patch{Subject: ptr("s"), ActiveForm: ptr("doing s")},
			want: "pending  0 [subject activeForm]"},
		{name: "start by a member", task: Task{Status: Pending}, actor: member,
			patch: Patch{Status: ptr(InProgress)}, want: "in_progress ann 1 [owner status]"},
		{name: "start an assigned task", task: Task{Status: Pending, Owner: "bob"}, actor: member,
			patch: Patch{Status: ptr(InProgress)}, want: "in_progress bob 1 [status]"},
		{name: "start for somebody", task: Task{Status: Pending}, actor: member,
			patch: Patch{Status: ptr(InProgress), Owner: ptr("bob")}, want: "in_progress bob 1 [owner status]"},
		{name: "start by nobody", task: Task{Status: Pending}, patch: Patch{Status: ptr(InProgress)}, err: ErrInvalid},
		{name: "start without owner", task: Task{Status: Pending, Owner: "bob"}, actor: member,
			patch: Patch{Status: ptr(InProgress), Owner: ptr("")}, err: ErrInvalid},
		{name: "start while blocked", task: Task{Status: Pending, Owner: "bob"}, blockers: []string{"1"},
			patch: Patch{Status: ptr(InProgress)}, err: ErrBlocked},
		{name: "go on while blocked", task: Task{Status: InProgress, Owner: "bob", Epoch: 1}, blockers: []string{"1"},
			patch: Patch{Status: ptr(InProgress)}, want: "in_progress bob 1 []"},
		{name: "put back", task: Task{Status: InProgress, Owner: "bob", Epoch: 1},
			patch: Patch{Status: ptr(Pending)}, want: "pending bob 2 [status]"},
		{name: "hand over", task: Task{Status: InProgress, Owner: "bob", Epoch: 1},
			patch: Patch{Owner: ptr("ann")}, want: "in_progress ann 2 [owner]"},
		{name: "take the owner of work away", task: Task{Status: InProgress, Owner: "bob", Epoch: 1},
			patch: Patch{Owner: ptr("")}, err: ErrInvalid},
		{name: "put back and free", task: Task{Status: InProgress, Owner: "bob", Epoch: 1},
			patch: Patch{Status: ptr(Pending), Owner: ptr("")}, want: "pending  2 [owner status]"},
		{name: "complete", task: Task{Status: InProgress, Owner: "bob", Epoch: 1},
			patch: Patch{Status: ptr(Completed)}, want: "completed bob 2 [status]"},
		{name: "complete at once", task: Task{Status: Pending}, blockers: []string{"1"},
			patch: Patch{Status: ptr(Completed)}, want: "completed  0 [status]"},
		{name: "open again", task: Task{Status: Completed, Owner: "bob", Epoch: 2},
			patch: Patch{Status: ptr(Pending)}, want: "pending bob 2 [status]"},
		{name: "restart", task: Task{Status: Completed, Owner: "bob"},
			patch: Patch{Status: ptr(InProgress)}, err: ErrTransition},
		{name: "propose", task: Task{Status: Pending}, patch: Patch{Status: ptr(Proposed)}, err: ErrInvalid},
		{name: "unknown status", task: Task{Status: Pending}, patch: Patch{Status: ptr(Status("done"))}, err: ErrInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.task.ID = "7"
			task, fields, err := tt.patch.advance(tt.task, tt.actor, tt.blockers)
			if tt.err != nil {
				wantError(t, err, tt.err)
				return
			}
			have := fmt.Sprint(task.Status, " ", task.Owner, " ", task.Epoch, " ", fields)
			if err != nil || have != tt.want {
				t.Errorf("have %q, %v, want %q", have, err, tt.want)
			}
		})
	}
}

func TestPatchAdmits(t *testing.T) {
	task := Task{ID: "7", Version: 3, Epoch: 2}
	for _, tt := range []struct {
		patch Patch
		err   error
	}{
		{Patch{}, nil},
		{Patch{Version: 3, Epoch: 2}, nil},
		{Patch{Version: 2}, ErrConflict},
		{Patch{Version: 4}, ErrConflict},
		{Patch{Epoch: 1}, ErrStale},
		{Patch{Version: 3, Epoch: 3}, ErrStale},
	} {
		if err := tt.patch.admits(task); !errors.Is(err, tt.err) {
			t.Errorf("%+v: %v, want %v", tt.patch, err, tt.err)
		}
	}
}

func TestTaskList(t *testing.T) {
	many := store.FormatIDs([]uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	for want, ids := range map[string][]string{
		"task 4":     {"4"},
		"tasks 4, 5": {"4", "5"},
		"tasks 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more": many,
	} {
		if have := taskList(ids); have != want {
			t.Errorf("have %q, want %q", have, want)
		}
	}
}
