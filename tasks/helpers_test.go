package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
)

// fixed is the time that stores in tests go by.
var fixed = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// open opens a new store and checks it when the test ends.
func open(t testing.TB, opts *Options) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "tasks.db"), opts)
}

func openAt(t testing.TB, path string, opts *Options) *Store {
	t.Helper()
	if opts == nil {
		opts = &Options{}
	}
	if opts.Now == nil {
		opts.Now = func() time.Time { return fixed }
	}
	if opts.LockTimeout == 0 {
		// A process that another test starts at this moment has the lock, too, until it runs its
		// own program.
		opts.LockTimeout = time.Minute
	}
	replicate(t, path, opts)
	s, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Check(context.Background()); err != nil && !errors.Is(err, ErrClosed) {
			t.Errorf("at the end: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// as is a member without a session, which stores do not check.
func as(name string) actors.Actor { return actors.Actor{Name: name} }

// ok fails the test if err is set, and gives the value.
func ok[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// wantError fails the test unless err is target and says every one of words.
func wantError(t testing.TB, err, target error, words ...string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("error %v, want %v", err, target)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// add makes a pending task.
func add(t testing.TB, s *Store, n New) Task {
	t.Helper()
	if n.Subject == "" {
		n.Subject = "a task"
	}
	list := ok1(t)(s.Add(t.Context(), actors.Actor{}, []New{n}))
	return list[0]
}

// ok1 is ok for calls that return a value and an error.
func ok1(t testing.TB) func([]Task, error) []Task {
	return func(list []Task, err error) []Task {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
}

func claim(t testing.TB, s *Store, id, member string) Task {
	t.Helper()
	task, err := s.Claim(t.Context(), as(member), id, Claim{})
	return ok(t, task, err)
}

func setStatus(t testing.TB, s *Store, id string, status Status) Task {
	t.Helper()
	task, _, err := s.Update(t.Context(), as("lead"), id, Patch{Status: &status})
	return ok(t, task, err)
}

func get(t testing.TB, s *Store, id string) Task {
	t.Helper()
	task, err := s.Task(t.Context(), id)
	return ok(t, task, err)
}

// ids gives the ids of tasks.
func ids(list []Task) []string {
	out := []string{}
	for _, task := range list {
		out = append(out, task.ID)
	}
	return out
}

// readyIDs gives the ids of Ready.
func readyIDs(t testing.TB, s *Store) []string {
	t.Helper()
	list, err := s.Ready(t.Context())
	return ids(ok(t, list, err))
}

// unread gives a member's mail as "kind from: text".
func unread(t testing.TB, s *Store, member string) []string {
	t.Helper()
	list, err := s.mail.Unread(t.Context(), member)
	ok(t, list, err)
	out := []string{}
	for _, m := range list {
		out = append(out, fmt.Sprintf("%s %s: %s", m.Kind, m.From, m.Text))
	}
	return out
}

// drain reads the whole outbox and settles it.
func drain(t testing.TB, s *Store) []Event {
	t.Helper()
	list, err := s.outbox.Events(t.Context(), 0, 1<<20)
	ok(t, list, err)
	if len(list) > 0 {
		if err := s.outbox.Remove(t.Context(), list[len(list)-1].ID); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// told writes events briefly: "claimed 1 by backend", "text lead>backend", "delivered".
func told(t testing.TB, list []Event) []string {
	t.Helper()
	out := []string{}
	for _, e := range list {
		switch data := e.Data.(type) {
		case Change:
			out = append(out, fmt.Sprintf("%s %s by %s", data.Op, data.Task.ID, data.By))
		case mail.Message:
			out = append(out, fmt.Sprintf("%s %s>%s", data.Kind, data.From, data.To))
		case requests.Request:
			out = append(out, fmt.Sprintf("%s %s of %s", data.Kind, data.State, data.Member))
		case Delivery:
			out = append(out, "delivered to "+e.Member)
		default:
			t.Fatalf("unknown event %T", e.Data)
		}
	}
	return out
}

func unmarshal[T any](t testing.TB, data []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}

func wantList(t testing.TB, what string, have, want []string) {
	t.Helper()
	if !slices.Equal(have, want) {
		t.Errorf("%s:\n have %q\n want %q", what, have, want)
	}
}

func ptr[T any](v T) *T { return &v }
