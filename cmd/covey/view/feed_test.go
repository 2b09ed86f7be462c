package view

import (
	"testing"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/workcopies"
)

// TestKeepCopies: between two looks at the working copies, members have those of the last one,
// also if others have come or left.
func TestKeepCopies(t *testing.T) {
	t.Parallel()
	ana, ben, fresh := &workcopies.Status{Path: "/a"}, &workcopies.Status{Path: "/b"}, &workcopies.Status{Path: "/fresh"}
	before := []api.MemberStatus{{Name: "lead"}, {Name: "ana", Worktree: ana}, {Name: "ben", Worktree: ben}}
	now := []api.MemberStatus{{Name: "lead"}, {Name: "new"}, {Name: "ben"}, {Name: "ana", Worktree: fresh}}
	keepCopies(now, before)
	for i, want := range []*workcopies.Status{nil, nil, ben, fresh} {
		if now[i].Worktree != want {
			t.Errorf("%s has %+v, want %+v", now[i].Name, now[i].Worktree, want)
		}
	}
}
