package tasks

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"
)

func TestCreateIsInvisibleUntilConfirmed(t *testing.T) {
	s := open(t, nil)
	task, err := s.Create(t.Context(), as("lead"), New{
		Subject: "Add the endpoint", Description: "GET /changelog", ActiveForm: "Adding", Owner: "backend",
		Labels: []string{"go"}, Wants: Wants{Tools: []string{"Bash"}, Role: "coder"},
		Metadata: map[string]json.RawMessage{"pr": []byte(` 7 `), "gone": []byte("null")},
	})
	ok(t, task, err)
	if task.ID != "1" || task.Status != Proposed || task.Version != 1 || !task.Created.Equal(fixed) {
		t.Errorf("created %+v", task)
	}
	for what, list := range map[string]func() ([]Task, error){
		"List":  func() ([]Task, error) { return s.List(t.Context()) },
		"Ready": func() ([]Task, error) { return s.Ready(t.Context()) },
		"Owned": func() ([]Task, error) { return s.Owned(t.Context(), "backend") },
	} {
		if have, err := list(); err != nil || len(have) != 0 {
			t.Errorf("%s shows %v, %v", what, ids(have), err)
		}
	}
	_, err = s.Task(t.Context(), "1")
	wantError(t, err, ErrNotFound)
	_, err = s.Claim(t.Context(), as("backend"), "1", Claim{})
	wantError(t, err, ErrNotFound)
	_, _, err = s.Update(t.Context(), as("backend"), "1", Patch{Subject: ptr("x")})
	wantError(t, err, ErrNotFound)
	wantList(t, "events", told(t, drain(t, s)), []string{})
	wantList(t, "mail", unread(t, s, "backend"), []string{})

	confirmed, err := s.Confirm(t.Context(), as("lead"), "1")
	ok(t, confirmed, err)
	if confirmed.Status != Pending || confirmed.Version != 2 || string(confirmed.Metadata["pr"]) != "7" ||
		len(confirmed.Metadata) != 1 || confirmed.Wants.Role != "coder" {
		t.Errorf("confirmed %+v", confirmed)
	}
	wantList(t, "events", told(t, drain(t, s)), []string{"created 1 by lead", "task_assignment lead>backend"})
	wantList(t, "mail", unread(t, s, "backend"), []string{"task_assignment lead: Task 1 is yours: Add the endpoint"})
	_, err = s.Confirm(t.Context(), as("lead"), "1")
	wantError(t, err, ErrNotFound)
}

func TestDiscard(t *testing.T) {
	s := open(t, nil)
	_, err := s.Create(t.Context(), as("lead"), New{Subject: "s"})
	ok(t, 0, err)
	if err := s.Discard(t.Context(), as("lead"), "1", "too vague\x00"); err != nil {
		t.Fatal(err)
	}
	events := drain(t, s)
	wantList(t, "events", told(t, events), []string{"refused 1 by lead"})
	c := events[0].Data.(Change)
	if c.Reason != "too vague\uFFFD" || c.Task.Status != Proposed {
		t.Errorf("told %+v", c)
	}
	wantError(t, s.Discard(t.Context(), as("lead"), "1", ""), ErrNotFound)
	if id := add(t, s, New{}).ID; id != "2" {
		t.Errorf("the next id is %s: ids are never reused", id)
	}
	wantError(t, s.Discard(t.Context(), as("lead"), "2", ""), ErrNotFound) // pending: Delete is for those
}

func TestProposedSurvivesARestart(t *testing.T) {
	path := t.TempDir() + "/tasks.db"
	s := openAt(t, path, nil)
	_, err := s.Create(t.Context(), as("lead"), New{Subject: "s", Owner: "lead"})
	ok(t, 0, err)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path, nil)
	list, err := s.Proposed(t.Context())
	wantList(t, "proposed", ids(ok(t, list, err)), []string{"1"})
	_, err = s.Confirm(t.Context(), as("lead"), "1")
	ok(t, 0, err)
	wantList(t, "mail to oneself", unread(t, s, "lead"), []string{})
}

func TestConfirmForgetsDeletedBlockers(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	add(t, s, New{})
	_, err := s.Create(t.Context(), as("lead"), New{Subject: "s", BlockedBy: []string{"1", "2", "1"}})
	ok(t, 0, err)
	if blocks := get(t, s, "1").Blocks; len(blocks) != 0 {
		t.Errorf("a proposed task is seen in blocks: %v", blocks)
	}
	_, err = s.Delete(t.Context(), as("lead"), "1", nil)
	ok(t, 0, err)
	task, err := s.Confirm(t.Context(), as("lead"), "3")
	wantList(t, "blockedBy", ok(t, task, err).BlockedBy, []string{"2"})
	wantList(t, "blocks", get(t, s, "2").Blocks, []string{"3"})
}

func TestAddResolvesKeys(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	list, err := s.Add(t.Context(), actors.Actor{}, []New{
		{Key: "api", Subject: "api", Owner: "backend", BlockedBy: []string{"schema", "1"}},
		{Key: "schema", Subject: "schema"},
		{Subject: "docs", Owner: "docs", BlockedBy: []string{"api", "schema", "api"}},
	})
	wantList(t, "ids", ids(ok(t, list, err)), []string{"2", "3", "4"})
	wantList(t, "api waits", list[0].BlockedBy, []string{"3", "1"})
	wantList(t, "docs waits", list[2].BlockedBy, []string{"2", "3"})
	wantList(t, "schema blocks", list[1].Blocks, []string{"2", "4"})
	wantList(t, "ready", readyIDs(t, s), []string{"1", "3"})
	wantList(t, "mail", unread(t, s, "backend"), []string{"task_assignment : Task 2 is yours: api (it waits for tasks 1, 3)"})
	wantList(t, "events", told(t, drain(t, s)), []string{"created 1 by ", "created 2 by ", "task_assignment >backend",
		"created 3 by ", "created 4 by ", "task_assignment >docs"})
}

func TestAddRefusesTheWholeList(t *testing.T) {
	s := open(t, nil)
	for _, tt := range []struct {
		name  string
		list  []New
		err   error
		words []string
	}{
		{"unknown blocker", []New{{Subject: "a"}, {Subject: "b", BlockedBy: []string{"x"}}},
			ErrDependency, []string{`"x"`, `"b"`}},
		{"id of a later entry", []New{{Subject: "a", BlockedBy: []string{"2"}}, {Subject: "b"}}, ErrDependency, nil},
		{"cycle", []New{{Key: "a", Subject: "a", BlockedBy: []string{"b"}}, {Key: "b", Subject: "b", BlockedBy: []string{"a"}}},
			ErrCycle, []string{"task 1 blocks 2 blocks 1"}},
		{"itself", []New{{Key: "a", Subject: "a", BlockedBy: []string{"a"}}}, ErrCycle, []string{"1 blocks 1"}},
		{"key twice", []New{{Key: "a", Subject: "a"}, {Key: "a", Subject: "b"}}, ErrInvalid, []string{`"a"`}},
		{"no subject", []New{{Subject: "a"}, {Subject: " \n"}}, ErrInvalid, []string{"entry 2 of 2", "subject"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.Add(t.Context(), actors.Actor{}, tt.list)
			wantError(t, err, tt.err, tt.words...)
			if list, err := s.List(t.Context()); err != nil || len(list) != 0 {
				t.Errorf("%v, %v", ids(list), err)
			}
		})
	}
	if id := add(t, s, New{}).ID; id != "1" {
		t.Errorf("the first id is %s", id)
	}
}

func TestCreateRefusesBadInput(t *testing.T) {
	s := open(t, nil)
	tooMany := map[string]json.RawMessage{}
	for _, k := range slices.Repeat([]string{"k"}, 2) {
		for i := range store.MaxList {
			tooMany[k+strings.Repeat("x", i%200)+string(rune('a'+i/200))] = []byte("1")
		}
	}
	tooMany["one more"] = []byte("1")
	for name, n := range map[string]New{
		"no subject":      {},
		"long subject":    {Subject: strings.Repeat("x", store.MaxShort+1)},
		"long form":       {Subject: "s", ActiveForm: strings.Repeat("x", store.MaxShort+1)},
		"owner with NUL":  {Subject: "s", Owner: "a\x00b"},
		"long owner":      {Subject: "s", Owner: strings.Repeat("x", store.MaxName+1)},
		"empty label":     {Subject: "s", Labels: []string{""}},
		"bad tool":        {Subject: "s", Wants: Wants{Tools: []string{"\n"}}},
		"bad role":        {Subject: "s", Wants: Wants{Role: "\n"}},
		"metadata":        {Subject: "s", Metadata: map[string]json.RawMessage{"k": []byte("{")}},
		"metadata key":    {Subject: "s", Metadata: map[string]json.RawMessage{"": []byte("1")}},
		"much metadata":   {Subject: "s", Metadata: tooMany},
		"call id of 1 KB": {},
	} {
		a := as("lead")
		if strings.HasPrefix(name, "call") {
			a.CallID, n.Subject = strings.Repeat("x", 1024), "s"
		}
		_, err := s.Create(t.Context(), a, n)
		if wantError(t, err, ErrInvalid); len(err.Error()) > 400 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
	_, err := s.Create(t.Context(), as("lead"), New{Subject: "s", BlockedBy: []string{strings.Repeat("9", 5000)}})
	if wantError(t, err, ErrDependency); len(err.Error()) > 400 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}

func TestInvalidTextIsRepaired(t *testing.T) {
	s := open(t, nil)
	task := add(t, s, New{Subject: "a\xffb", Description: "c\x00d", Labels: []string{"e\xff"},
		Metadata: map[string]json.RawMessage{"k": []byte("\"\xff\"")}})
	if task.Subject != "a\uFFFDb" || task.Description != "c\uFFFDd" || task.Labels[0] != "e\uFFFD" ||
		string(task.Metadata["k"]) != `"`+"\uFFFD"+`"` {
		t.Errorf("stored %+v", task)
	}
}
