package teamtools

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate"
)

// newNotes makes the notes of a team that lead leads, in a store of its own.
func newNotes(t *testing.T) (n *Notes, changed *int) {
	t.Helper()
	store, err := tasks.Open(filepath.Join(t.TempDir(), "tasks.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	changed = new(int)
	return NewNotes(store.Mail(), func() string { return "lead" }, func() { *changed++ }), changed
}

// waiting returns what notes say of a scene.
func waiting(n *Notes) (s plan.Scene) {
	n.Describe(&s, nil)
	return s
}

// TestStint: a note tells what its member has done since the last one, once, and is worth a
// turn of the lead's only where somebody waits for an answer.
func TestStint(t *testing.T) {
	n, _ := newNotes(t)
	text, notice := []mail.Message{{Kind: mail.Text}}, []mail.Message{{Kind: mail.Notice}}
	n.Asked("lead", text)
	n.Asked("dev", notice)
	if n.WasAsked("lead") || n.WasAsked("dev") {
		t.Error("somebody waits for an answer to a notice, or of the lead")
	}
	n.Asked("dev", text)
	n.Closed(tasks.Task{ID: "1", Owner: "dev"})
	n.Closed(tasks.Task{ID: "1", Owner: "dev"})
	n.Closed(tasks.Task{ID: "2"})
	if !n.WasAsked("dev") || !slices.Equal(n.CompletedBy("dev"), []string{"1"}) {
		t.Errorf("asked %v, completed %q", n.WasAsked("dev"), n.CompletedBy("dev"))
	}
	note := n.Of("dev", events.Idle{Reason: events.IdleAvailable, LastText: "4"})
	if !note.Wakes || !slices.Equal(note.Completed, []string{"1"}) || note.Result != "4" || note.FailureReason != "" {
		t.Errorf("the note is %+v", note)
	}
	if note = n.Of("dev", events.Idle{Reason: events.IdleFailed, LastText: "no luck"}); note.Wakes || note.Completed != nil ||
		note.Result != "" || note.FailureReason != "no luck" {
		t.Errorf("the next note is %+v", note)
	}
	n.Asked("dev", text)
	n.Sent([]mail.Message{{From: "dev", To: "ops", Summary: "four"}})
	if note = n.Of("dev", events.Idle{}); note.Wakes || note.Summary != "[to ops] four" {
		t.Errorf("after a message the note is %+v", note)
	}
	n.Asked("dev", text)
	if err := n.Left(t.Context(), "dev"); err != nil {
		t.Fatal(err)
	}
	if n.WasAsked("dev") || len(n.activity) > 0 {
		t.Errorf("%v is left", n.activity)
	}
}

// TestNotesOfTheStore: what was put is shown until it is dropped, in this run or in the next.
func TestNotesOfTheStore(t *testing.T) {
	n, changed := newNotes(t)
	ctx := t.Context()
	put := func(from string, wakes bool, completed ...string) {
		t.Helper()
		note := mail.Note{IdleNote: mail.IdleNote{From: from, IdleReason: "available"}, Wakes: wakes}
		note.Completed = completed
		if err := n.Put(ctx, note); err != nil {
			t.Fatal(err)
		}
	}
	put("ana", false, "1")
	put("ben", false)
	if waiting(n).Noted || *changed != 0 {
		t.Error("a note wakes the lead that answers nobody")
	}
	put("dev", true, "2")
	next := NewNotes(n.boxes, n.lead, func() {})
	if err := next.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*Notes{n, next} {
		if !waiting(n).Noted {
			t.Error("the note of dev is worth no turn")
		}
	}
	list, err := n.Take(ctx)
	in := NoteInputs(list)
	if err != nil || len(in) != 2 || *changed != 1 {
		t.Fatalf("shown %+v, %v; changed %d times", in, err, *changed)
	}
	if waiting(n).Noted {
		t.Error("what was taken waits")
	}
	others, err := n.Drop(ctx, actors.Actor{Name: "lead"}, []string{"m1", in[0].MessageID, in[1].MessageID})
	if err != nil || !slices.Equal(others, []string{"m1"}) {
		t.Errorf("others %q, %v", others, err)
	}
	if list, err = n.List(ctx); err != nil || len(list) > 0 {
		t.Errorf("shown again %+v, %v", list, err)
	}
}

// TestDigests: turns of the lead for notes alone are counted, and any other work begins the count
// again.
func TestDigests(t *testing.T) {
	n, _ := newNotes(t)
	lead := &members.Member{Lead: true}
	for i, test := range []struct {
		digest bool
		want   int
	}{{true, 1}, {true, 2}, {false, 0}, {true, 1}} {
		n.Assigned(lead, teammate.Work{Digest: test.digest})
		n.Assigned(&members.Member{}, teammate.Work{})
		if got := waiting(n).Digests; got != test.want {
			t.Errorf("turn %d: %d turns in a row, want %d", i, got, test.want)
		}
	}
}
