package merging

import (
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks"
)

// TestContainedWorkNamesItsMerge: work that came in with later work has the commit of that
// merge, and never the one that was tested for it and refused. If no merge of the team brought
// it in, it has none.
func TestContainedWorkNamesItsMerge(t *testing.T) {
	t.Parallel()
	s := newShop(t, "echo 1 >a", "ana", "ben")
	s.does("ana", "echo x >bad")
	s.work()
	s.want("returned")
	refused := s.merges()[0].Result
	testkit.Shell(t, s.copies["ana"].Top, "rm bad; echo mended >x")
	s.harvest("ana", *mustTask(t, s, s.lastFix()))
	s.does("ben", "echo ben >y") // lands last, and holds the work, too
	s.work()
	s.want("merged merged merged")
	first, fix := s.merges()[0], s.merges()[1]
	if refused == "" || first.Result != fix.Result || first.Base != fix.Base {
		t.Errorf("it was tested as %s; it is merged as %+v\nwith %+v", refused, first, fix)
	}

	// A person merges what is being repaired.
	s.does("ana", "echo x >bad")
	s.work()
	s.want("merged merged merged returned")
	branch := s.merges()[3].Branch
	testkit.Shell(t, s.Repo.Top, "git merge -q --no-ff -m person "+branch+"; git rm -q bad; git commit -qm mended")
	s.does("ben", "echo more >z")
	s.work()
	s.want("merged merged merged merged merged")
	for _, m := range s.merges() {
		if there, err := s.Repo.Holds(t.Context(), "main", m.Result); m.Result != "" && (err != nil || !there) {
			t.Errorf("main does not contain the commit of %+v: %v", m, err)
		}
	}
	if m := s.merges()[3]; m.Result != "" || m.State != tasks.MergeDone {
		t.Errorf("a person merged %+v", m)
	}
}
