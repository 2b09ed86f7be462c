package tasks

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"
)

func TestUpdateFields(t *testing.T) {
	s := open(t, nil)
	for range 3 {
		add(t, s, New{Metadata: map[string]json.RawMessage{"old": []byte("1"), "keep": []byte("2")}})
	}
	drain(t, s)
	task, fields, err := s.Update(t.Context(), as("lead"), "2", Patch{
		Subject: ptr("new"), Description: ptr("text"), ActiveForm: ptr("doing"), Owner: ptr("ann"), Status: ptr(Pending),
		AddBlocks: []string{"3", "3"}, AddBlockedBy: []string{"1"},
		Metadata: map[string]json.RawMessage{"old": []byte("null"), "keep": []byte("2"), "more": []byte(`"x"`)},
	})
	ok(t, task, err)
	wantList(t, "fields", fields, []string{"subject", "description", "activeForm", "owner", "metadata", "blocks", "blockedBy"})
	if task.Subject != "new" || task.Description != "text" || task.ActiveForm != "doing" || task.Owner != "ann" ||
		task.Version != 2 || len(task.Metadata) != 2 || string(task.Metadata["more"]) != `"x"` {
		t.Errorf("updated %+v", task)
	}
	wantList(t, "blocks", task.Blocks, []string{"3"})
	wantList(t, "blockedBy", task.BlockedBy, []string{"1"})
	events := drain(t, s)
	wantList(t, "events", told(t, events), []string{"updated 2 by lead", "updated 3 by lead", "task_assignment lead>ann"})
	if c := events[0].Data.(Change); len(c.Fields) != 7 || c.Task.Subject != "new" {
		t.Errorf("told %+v", c)
	}
	if third := get(t, s, "3"); third.Version != 2 {
		t.Errorf("the blocked task: %+v", third)
	}
	if first := get(t, s, "1"); first.Version != 1 || first.Blocks[0] != "2" {
		t.Errorf("the blocker: %+v", first)
	}
}

func TestUpdateThatChangesNothing(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{Subject: "s", Description: "d", Metadata: map[string]json.RawMessage{"k": []byte("1")}})
	add(t, s, New{BlockedBy: []string{"1"}})
	drain(t, s)
	for _, p := range []Patch{
		{},
		{Subject: ptr("s"), Description: ptr("d"), Status: ptr(Pending), Owner: ptr("")},
		{AddBlocks: []string{"2"}},
		{Metadata: map[string]json.RawMessage{"k": []byte(" 1 "), "absent": []byte("null")}},
	} {
		task, fields, err := s.Update(t.Context(), as("lead"), "1", p)
		if err != nil || len(fields) != 0 || task.Version != 1 {
			t.Errorf("%+v: %v, %v, version %d", p, fields, err, task.Version)
		}
	}
	wantList(t, "events", told(t, drain(t, s)), []string{})
}

func TestUpdateStatusEvents(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	drain(t, s)
	for _, status := range []Status{InProgress, Pending, InProgress, Completed, Pending, Completed} {
		_, fields, err := s.Update(t.Context(), as("lead"), "1", Patch{Status: &status, Owner: ptr("ann")})
		if err != nil || fields[len(fields)-1] != "status" {
			t.Fatalf("%s: %v, %v", status, fields, err)
		}
	}
	wantList(t, "events", told(t, drain(t, s)), []string{"claimed 1 by lead", "task_assignment lead>ann", "released 1 by lead",
		"claimed 1 by lead", "completed 1 by lead", "updated 1 by lead", "completed 1 by lead"})
}

func TestCompletingUnblocks(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	add(t, s, New{})
	add(t, s, New{BlockedBy: []string{"1", "2"}, Owner: "ann", Subject: "third"})
	add(t, s, New{BlockedBy: []string{"1"}, Owner: "lead"})
	add(t, s, New{BlockedBy: []string{"1"}})
	drain(t, s)
	setStatus(t, s, "1", Completed) // as the lead, to whom it is news as well that task 4 is ready
	wantList(t, "events", told(t, drain(t, s)), []string{"completed 1 by lead", "task_assignment lead>lead"})
	wantList(t, "ready", readyIDs(t, s), []string{"2", "5"})
	setStatus(t, s, "2", Completed)
	wantList(t, "events", told(t, drain(t, s)), []string{"completed 2 by lead", "task_assignment lead>ann"})
	list, err := s.mail.Unread(t.Context(), "ann")
	ok(t, list, err)
	n := unmarshal[Assignment](t, list[1].Data)
	want := Assignment{TaskID: "3", Subject: "third", AssignedBy: "lead", Timestamp: fixed, Ready: true}
	if n.TaskID != want.TaskID || !n.Ready || n.AssignedBy != "lead" || !n.Timestamp.Equal(fixed) || len(n.WaitsFor) != 0 {
		t.Errorf("told %+v, want %+v", n, want)
	}
	if first := unmarshal[Assignment](t, list[0].Data); first.Ready || len(first.WaitsFor) != 2 {
		t.Errorf("told first %+v", first)
	}
}

func TestOpeningAgainBlocks(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	add(t, s, New{BlockedBy: []string{"1"}})
	add(t, s, New{BlockedBy: []string{"1"}})
	setStatus(t, s, "1", Completed)
	claim(t, s, "3", "ann")
	wantList(t, "ready", readyIDs(t, s), []string{"2"})
	setStatus(t, s, "1", Pending)
	wantList(t, "ready", readyIDs(t, s), []string{"1"})
	if third := get(t, s, "3"); third.Status != InProgress {
		t.Errorf("work that had begun: %+v", third)
	}
	_, err := s.Claim(t.Context(), as("bob"), "2", Claim{})
	wantError(t, err, ErrBlocked, "task 1")
	setStatus(t, s, "3", Pending)
	_, _, err = s.Update(t.Context(), as("ann"), "3", Patch{Status: ptr(InProgress)})
	wantError(t, err, ErrBlocked, "task 1")
}

func TestStartWithANewBlocker(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	add(t, s, New{})
	setStatus(t, s, "2", Completed)
	start := func(blockers ...string) error {
		_, _, err := s.Update(t.Context(), as("lead"), add(t, s, New{}).ID,
			Patch{Status: ptr(InProgress), Owner: ptr("ann"), AddBlockedBy: blockers})
		return err
	}
	wantError(t, start("2", "1"), ErrBlocked, "task 1")
	if err := start("2"); err != nil {
		t.Error(err)
	}
}

func TestCompareAndSet(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	seen := claim(t, s, "1", "ann")
	_, _, err := s.Update(t.Context(), as("lead"), "1", Patch{Subject: ptr("changed under the gate")})
	ok(t, 0, err)
	_, _, err = s.Update(t.Context(), as("ann"), "1", Patch{Version: seen.Version, Status: ptr(Completed)})
	wantError(t, err, ErrConflict, "version 3, expected 2")
	if now := get(t, s, "1"); now.Status != InProgress {
		t.Errorf("it happened: %+v", now)
	}
	_, _, err = s.Update(t.Context(), as("ann"), "1", Patch{Version: 3, Epoch: seen.Epoch, Status: ptr(Completed)})
	ok(t, 0, err)
}

func TestDependencyRefusals(t *testing.T) {
	s := open(t, nil)
	for range 4 {
		add(t, s, New{})
	}
	depend := func(id string, p Patch) error { _, _, err := s.Update(t.Context(), as("lead"), id, p); return err }
	for _, id := range []string{"2", "3"} {
		n, _ := strconv.Atoi(id)
		if err := depend(id, Patch{AddBlockedBy: []string{strconv.Itoa(n - 1)}}); err != nil {
			t.Fatal(err)
		}
	}
	drain(t, s)
	wantError(t, depend("1", Patch{AddBlockedBy: []string{"1"}}), ErrCycle, "task 1 blocks 1")
	wantError(t, depend("1", Patch{AddBlocks: []string{"1"}}), ErrCycle)
	wantError(t, depend("1", Patch{AddBlockedBy: []string{"3"}}), ErrCycle, "task 1 blocks 2 blocks 3 blocks 1")
	wantError(t, depend("3", Patch{AddBlocks: []string{"1"}}), ErrCycle)
	wantError(t, depend("4", Patch{AddBlocks: []string{"1"}, AddBlockedBy: []string{"3"}}), ErrCycle)
	wantError(t, depend("4", Patch{AddBlockedBy: []string{"1", "9"}}), ErrDependency, `"9"`)
	wantError(t, depend("4", Patch{AddBlocks: []string{"x"}, Subject: ptr("new")}), ErrDependency, `"x"`)
	wantError(t, depend("9", Patch{AddBlocks: []string{"1"}}), ErrNotFound, "task 9")
	wantList(t, "events", told(t, drain(t, s)), []string{})
	if get(t, s, "4").Subject == "new" {
		t.Error("a refused patch left its subject")
	}
}

func TestUpdateRefusesBadInput(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	for name, p := range map[string]Patch{
		"empty subject": {Subject: ptr("")},
		"long form":     {ActiveForm: ptr(string(make([]byte, store.MaxShort+1)))},
		"owner":         {Owner: ptr("a\nb")},
		"metadata":      {Metadata: map[string]json.RawMessage{"k": []byte("}")}},
		"status":        {Status: ptr(Status("deleted"))},
	} {
		_, _, err := s.Update(t.Context(), as("lead"), "1", p)
		if wantError(t, err, ErrInvalid); err == nil {
			t.Error(name)
		}
	}
}

// TestWideAndDeepGraphs: thousands of tasks in one web are no trouble.
func TestWideAndDeepGraphs(t *testing.T) {
	t.Parallel()
	const n = 4000
	s := open(t, nil)
	list := make([]New, n)
	for i := range list {
		list[i] = New{Key: strconv.Itoa(i), Subject: "s"}
		switch {
		case i == n-1: // waits for the whole chain
			for j := range n - 1 {
				list[i].BlockedBy = append(list[i].BlockedBy, strconv.Itoa(j))
			}
		case i > 0:
			list[i].BlockedBy = []string{strconv.Itoa(i - 1)}
		}
	}
	start := time.Now()
	_, err := s.Add(t.Context(), actors.Actor{}, list)
	ok(t, 0, err)
	_, _, err = s.Update(t.Context(), as("lead"), "1", Patch{AddBlockedBy: []string{strconv.Itoa(n)}})
	wantError(t, err, ErrCycle)
	for id := range 20 {
		setStatus(t, s, strconv.Itoa(id+1), Completed)
	}
	wantList(t, "ready", readyIDs(t, s), []string{"21"})
	all, err := s.List(t.Context())
	if len(ok(t, all, err)) != n || len(all[0].Blocks) != 2 {
		t.Errorf("%d tasks, the first blocks %v", len(all), all[0].Blocks)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}
