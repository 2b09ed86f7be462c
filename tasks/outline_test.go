package tasks

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

func outlines(t *testing.T, s *Store) []Outline {
	t.Helper()
	list, err := s.Outline(t.Context())
	return ok(t, list, err)
}

// TestOutlineIsTheList: outlines tell of each task what List tells.
func TestOutlineIsTheList(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	if all := outlines(t, s); len(all) > 0 {
		t.Errorf("an empty store has %v", all)
	}
	manyTasks(t, s, 30)
	_, err := s.Delete(t.Context(), actors.Actor{}, "3", nil)
	testkit.Must(t, err)
	owner := "ana"
	_, _, err = s.Update(t.Context(), actors.Actor{}, "7", Patch{Owner: &owner})
	testkit.Must(t, err)
	same := func() {
		t.Helper()
		have, want := outlines(t, s), Outlines(ok1(t)(s.List(t.Context())))
		if len(have) != 29 || !reflect.DeepEqual(have, want) {
			t.Errorf("outlines\n%+v\nof\n%+v", have, want)
		}
	}
	same()
	// What a caller does to its list is not in the next one, nor in its neighbours.
	mine := outlines(t, s)
	for i := range mine {
		mine[i].BlockedBy = append(mine[i].BlockedBy, "99")
	}
	for i := range mine {
		if by := mine[i].BlockedBy; by[len(by)-1] != "99" || len(by) > 2 {
			t.Errorf("task %s has the blockers %v", mine[i].ID, by)
		}
	}
	same()
}

// TestOutlineTakesLittle: whoever asks for outlines pays neither for a copy of each task nor
// for texts that lie in files.
func TestOutlineTakesLittle(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, filepath.Join(dir, "tasks.db"), nil)
	manyTasks(t, s, 1000)
	add(t, s, New{Description: strings.Repeat("long ", 50_000)})
	outlines(t, s)
	allocs := testing.AllocsPerRun(10, func() { outlines(t, s) })
	if allocs > 1100 { // one for the checksum of each entry
		t.Errorf("the outlines of 1,001 tasks take %.0f allocations", allocs)
	}
	blobs := filepath.Join(dir, "tasks.db.blobs")
	testkit.Must(t, os.Rename(blobs, blobs+".away"))
	defer func() { testkit.Must(t, os.Rename(blobs+".away", blobs)) }()
	if _, err := s.List(t.Context()); err == nil {
		t.Error("no text lies in a file")
	}
	if all := outlines(t, s); len(all) != 1001 {
		t.Errorf("%d outlines", len(all))
	}
}

// TestBlockers: blockers are those that are there, each once; the open ones are not
// completed.
func TestBlockers(t *testing.T) {
	t.Parallel()
	all := []Outline{
		{ID: "2", Status: Completed},
		{ID: "3", Status: Pending},
		{ID: "5", Status: InProgress, BlockedBy: []string{"3", "4", "2", "3", "05", "x", "10", "-1", "0"}},
		{ID: "10", Status: Pending},
	}
	if by := all[2].Blockers(all); !slices.Equal(by, []string{"3", "2", "10"}) {
		t.Errorf("its blockers are %v", by)
	}
	if by := all[2].OpenBlockers(all); !slices.Equal(by, []string{"3", "10"}) {
		t.Errorf("it waits for %v", by)
	}
}

// TestUnreadCounts: the counts are those of the mailboxes.
func TestUnreadCounts(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	sent, err := s.mail.Send(t.Context(), as("ana"), mail.Outgoing{To: []string{"ben", "cy"}, Text: "one"})
	testkit.Must(t, err)
	_, err = s.mail.Send(t.Context(), as("ana"), mail.Outgoing{To: []string{"ben"}, Text: "two"})
	testkit.Must(t, err)
	testkit.Must(t, s.mail.Deliver(t.Context(), as("cy"), []string{sent[1].ID}))
	if have, err := s.mail.UnreadCounts(t.Context()); err != nil || fmt.Sprint(have) != "map[ben:2]" {
		t.Errorf("unread: %v, %v", have, err)
	}
}
