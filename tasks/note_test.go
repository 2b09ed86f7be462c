package tasks

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"

	"pgregory.net/rapid"
)

// TestNotesLoseNothing: whatever is put and dropped in whatever order, the
// receiver sees each completed task of each sender exactly once, in order, and
// there is never more than one note of a sender.
func TestNotesLoseNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := open(t, nil)
		defer s.Close()
		did, seen, next := map[string][]string{}, map[string][]string{}, 0
		look := func(from string) {
			notes, err := s.mail.Notes(t.Context(), "lead")
			ok(t, notes, err)
			var ids []string
			for _, n := range notes {
				if from == "" || n.From == from {
					seen[n.From] = append(seen[n.From], n.Completed...)
					ids = append(ids, n.ID)
				}
			}
			if err := s.mail.DropNotes(t.Context(), as("lead"), append(ids, "idle-gone")); err != nil {
				rt.Fatal(err)
			}
		}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			from := rapid.SampledFrom([]string{"ana", "ben", "cy"}).Draw(rt, "member")
			if rapid.IntRange(0, 3).Draw(rt, "look") == 0 {
				look(from)
				continue
			}
			n := mail.Note{IdleNote: mail.IdleNote{From: from, IdleReason: "available"}}
			for range rapid.IntRange(0, 2).Draw(rt, "completed") {
				next++
				n.Completed = append(n.Completed, fmt.Sprint(next))
			}
			did[from] = append(did[from], n.Completed...)
			if err := s.mail.PutNote(t.Context(), "lead", n); err != nil {
				rt.Fatal(err)
			}
			if err := s.Check(t.Context()); err != nil {
				rt.Fatal(err)
			}
		}
		look("")
		for _, from := range slices.Sorted(maps.Keys(did)) {
			if !slices.Equal(did[from], seen[from]) {
				rt.Errorf("%s completed %v, the lead saw %v", from, did[from], seen[from])
			}
		}
		if left, err := s.mail.Notes(t.Context(), "lead"); err != nil || len(left) > 0 {
			rt.Errorf("%d notes are left, %v", len(left), err)
		}
	})
}

// TestNoteChangesWhileItIsSeen: what is dropped is what was seen, not what has
// come since.
func TestNoteChangesWhileItIsSeen(t *testing.T) {
	s := open(t, nil)
	put := func(n mail.Note) {
		t.Helper()
		n.From = "ana"
		if err := s.mail.PutNote(t.Context(), "lead", n); err != nil {
			t.Fatal(err)
		}
	}
	put(mail.Note{Completed: []string{"1"}, Wakes: true})
	old, err := s.mail.Notes(t.Context(), "lead")
	ok(t, old, err)
	put(mail.Note{Completed: []string{"2"}})
	if err := s.mail.DropNotes(t.Context(), as("lead"), []string{old[0].ID}); err != nil {
		t.Fatal(err)
	}
	now, err := s.mail.Notes(t.Context(), "lead")
	if err != nil || len(now) != 1 || !slices.Equal(now[0].Completed, []string{"1", "2"}) || !now[0].Wakes {
		t.Errorf("the lead has %+v, %v", now, err)
	}
	// No mail is made of it, and no event: the journal has the member's own.
	if mail, err := s.mail.Unread(t.Context(), "lead"); err != nil || len(mail) > 0 {
		t.Errorf("mail: %+v, %v", mail, err)
	}
	if events, err := s.outbox.Events(t.Context(), 0, 0); err != nil || len(events) > 0 {
		t.Errorf("events: %+v, %v", events, err)
	}
}

func TestNoteShown(t *testing.T) {
	n := mail.Note{ID: "idle-1", IdleNote: mail.IdleNote{Type: mail.IdleNotification, From: "ana", IdleReason: "available", Result: "Done."}}
	for _, tt := range []struct {
		completed []string
		want      string
	}{
		{nil, `"idleReason":"available","result":"Done."}`},
		{[]string{"3"}, `"completedTaskId":"3","completedStatus":"completed"}`},
		{[]string{"3", "7"}, `"completedTaskId":"7","completedStatus":"completed","completedTaskIds":["3","7"]}`},
	} {
		n.Completed = tt.completed
		if got := string(n.Shown()); !strings.HasSuffix(got, tt.want) || strings.Contains(got, "idle-1") {
			t.Errorf("%v is shown as %s, want %s at its end", tt.completed, got, tt.want)
		}
	}
}

func TestNotesRefused(t *testing.T) {
	s := open(t, nil)
	for name, put := range map[string]func() error{
		"no sender": func() error { return s.mail.PutNote(t.Context(), "lead", mail.Note{}) },
		"no receiver": func() error {
			return s.mail.PutNote(t.Context(), "", mail.Note{IdleNote: mail.IdleNote{From: "ana"}})
		},
		"too long": func() error {
			return s.mail.PutNote(t.Context(), "lead", mail.Note{IdleNote: mail.IdleNote{From: "ana", Result: strings.Repeat("x", store.MaxShort+1)}})
		},
	} {
		if err := put(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
