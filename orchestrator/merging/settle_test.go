package merging

import (
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// returns sends the work on a completed task back, and returns the task to revise it.
func (s *shop) returns(id string) tasks.Task {
	s.t.Helper()
	s.finish(id)
	reply, err := sender{s.Store, s.spec}.send(s.t.Context(), api.ReturnRequest{Task: id, Text: "More."})
	testkit.Must(s.t, err)
	fix, err := s.Store.Task(s.t.Context(), reply.Task)
	testkit.Must(s.t, err)
	return fix
}

// finish has a task's owner begin and complete it, and returns it.
func (s *shop) finish(id string) tasks.Task {
	s.t.Helper()
	t, err := s.Store.Task(s.t.Context(), id)
	testkit.Must(s.t, err)
	by := actors.Actor{Name: t.Owner}
	_, err = s.Store.Claim(s.t.Context(), by, id, tasks.Claim{Member: t.Owner})
	testkit.Must(s.t, err)
	done := tasks.Completed
	t, _, err = s.Store.Update(s.t.Context(), by, id, tasks.Patch{Status: &done})
	testkit.Must(s.t, err)
	return t
}

func (s *shop) settles() {
	s.t.Helper()
	testkit.Must(s.t, s.settle(s.t.Context(), func(tasks.Task) bool { return true }))
}

// TestMendedTogether: an author who mends two returned pieces with the first of the tasks to revise them has
// mended both, in whichever order; the second is shown since the returned version.
func TestMendedTogether(t *testing.T) {
	t.Parallel()
	for _, turned := range []bool{false, true} {
		s := newShop(t, "echo 1 >a", "ben")
		s.spec.Merge.Given = false
		one, two := s.does("ben", "echo bad >x"), s.does("ben", "echo bad >y")
		first, second := s.returns(one.Tasks[0]), s.returns(two.Tasks[0])
		if turned {
			first, second = second, first
		}
		testkit.Shell(t, s.copies["ben"].Top, "echo good >x; echo good >y")
		s.harvest("ben", s.finish(first.ID))
		m := s.harvest("ben", s.finish(second.ID))
		back := two
		if turned {
			back = one
		}
		if m == nil || m.From != back.Commit || m.Tasks[0] != second.ID {
			t.Fatalf("the second revision is %+v", m)
		}
		review, err := reviewOne(t.Context(), s.Queue, *m)
		testkit.Must(t, err)
		d, err := differ{Queue: s.Queue}.of(t.Context(), review)
		if testkit.Must(t, err); review.Revises != back.Commit || !strings.Contains(d.Revised, "-bad") || strings.Contains(d.Text, "-bad") {
			t.Errorf("since it was sent back, %s: %s", review.Revises, d.Revised)
		}
		s.settles()
		s.want("returned returned waiting waiting")
		asked, err := s.Request(t.Context(), "operator", false, func(o tasks.Merge) bool { return o.Tasks[0] == first.ID })
		if err != nil || len(asked) != 1 {
			t.Fatalf("%+v, %v", asked, err)
		}
		s.work()
		s.want("merged merged merged merged")
		if s.on("main", "x")+s.on("main", "y") != "good\ngood\n" {
			t.Error("what was mended is not on main")
		}
	}
}

// TestRevision: a revision of returned work has no mark for what it has mended, also where other work lies between. What it
// has changed since is shown without that work, and what it changes itself comes before what its merge brings besides.
func TestRevision(t *testing.T) {
	t.Parallel()
	s := newShop(t, "printf 'def test_a():\\n  assert 1 == f(1)\\n' >test_a.py", "ben", "cy")
	s.spec.Merge.Given = false
	bad := s.does("ben", "git rm -q test_a.py; echo x >x")
	s.does("ben", "echo other >aa")
	fix := s.returns(bad.Tasks[0])
	s.does("cy", "echo merged >m")
	_, err := s.Request(t.Context(), "operator", false, func(o tasks.Merge) bool { return o.Member == "cy" })
	testkit.Must(t, err)
	s.work()
	testkit.Shell(t, s.copies["ben"].Top, "git fetch -q covey; git merge -q covey/main; git checkout -q covey/main -- test_a.py; echo more >x")
	m := s.harvest("ben", s.finish(fix.ID))
	review, err := reviewOne(t.Context(), s.Queue, *m)
	testkit.Must(t, err)
	if review.Hints, _ = s.hintsOf(t.Context(), review); len(hints.Words(review.Hints)) != 0 {
		t.Errorf("it has the marks of what it mends: %v", review.Hints)
	}
	d, err := differ{Queue: s.Queue}.of(t.Context(), review)
	testkit.Must(t, err)
	for text, in := range map[string]bool{"+def test_a": true, "-x\n+more": true, "+other": false, "+merged": false} {
		if strings.Contains(d.Revised, text) != in {
			t.Errorf("%q: %v, since it was sent back:\n%s", text, !in, d.Revised)
		}
	}
	if own, other := strings.Index(d.Text, "+more"), strings.Index(d.Text, "+other"); own < 0 || other < own || strings.Contains(d.Text, "test_a") {
		t.Errorf("its merge brings\n%s", d.Text)
	}
}

// TestRevisedWithoutAChange: returned work is reviewed again if the task to revise it is completed without
// a change, by other work, or deleted. As long as its author has it, it stays.
func TestRevisedWithoutAChange(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end         func(s *shop, fix tasks.Task)
		want, while string
	}{
		"open": {func(*shop, tasks.Task) {}, "returned", ""},
		"unchanged": {func(s *shop, fix tasks.Task) {
			if m := s.harvest("ben", s.finish(fix.ID)); m != nil {
				s.t.Errorf("%+v", m)
			}
		}, "waiting", "is completed and has not changed it"},
		"by other work": {func(s *shop, fix tasks.Task) {
			testkit.Shell(s.t, s.copies["cy"].Top, "echo mended >z")
			s.harvest("cy", s.finish(fix.ID))
		}, "waiting waiting", "is completed and has not changed it"},
		"deleted": {func(s *shop, fix tasks.Task) {
			_, err := s.Store.Delete(s.t.Context(), actors.Actor{Name: actors.Operator}, fix.ID, nil)
			testkit.Must(s.t, err)
		}, "waiting", "was deleted"},
		"taken back": {func(s *shop, fix tasks.Task) {
			testkit.Shell(s.t, s.copies["ben"].Top, "rm x")
			m := s.harvest("ben", s.finish(fix.ID))
			_, err := s.Request(s.t.Context(), "operator", false, func(o tasks.Merge) bool { return o.ID == m.ID })
			testkit.Must(s.t, err)
			s.work()
		}, "dropped dropped", "has taken it back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, "echo 1 >a", "ben", "cy")
			s.spec.Merge.Given = false
			fix := s.returns(s.does("ben", "echo bad >x").Tasks[0])
			tc.end(s, fix)
			for range 2 { // a second time changes nothing
				s.settles()
				s.want(tc.want)
			}
			m := s.merges()[0]
			if name != "open" && (m.Refused != (m.State == tasks.MergeDropped) || !strings.Contains(m.Reason, "task "+fix.ID) || !strings.Contains(m.Reason, tc.while)) {
				t.Errorf("%+v", m)
			}
		})
	}
}

// TestQueueReturnsAgain: what the gates refused and its author did not change is tested again, until a person has to
// decide.
func TestQueueReturnsAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ben")
	s.does("ben", "echo 1 >bad")
	for range maxRounds {
		s.work()
		s.want("returned")
		s.finish(s.merges()[0].Fix)
		s.settles()
		s.want("queued")
	}
	s.work()
	s.want("held")
}
