package orchestrator

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestMaxDiskInARun: a member whose working copy takes the team beyond max_disk needs
// attention: the journal, ps, the inbox and the lead have it, with the figures and the place;
// nothing is deleted, and it goes on once a person says so.
func TestMaxDiskInARun(t *testing.T) {
	t.Parallel()
	// The file comes into the working copy whole, because the watch may look at any moment.
	files := groveFiles("head -c 300000 /dev/zero >../big && mv ../big big", "true", "worktree: {max_disk: 100kB}\nkeep: true\n")
	u := start(newGrove(t, files).rig, &handClock{})
	g := grove{u.rig}
	u.lines.wait(t, "ana to need attention", func(l events.Line) bool {
		return l.Member == "ana" && l.Type == "needs_attention"
	})
	testkit.Eventually(t, "ps to show it", func() bool { return u.member("ana").Attention != "" })
	for _, want := range []string{"more than worktree.max_disk, 100.0 kB", "that of this member takes 300.", g.tree("ana")} {
		if why := u.member("ana").Attention; !strings.Contains(why, want) {
			t.Errorf("ps says %q, want %q in it", why, want)
		}
	}
	if r := u.asked(requests.AskAttention); r.Member != "ana" || !strings.Contains(r.Text, "worktree.max_disk") {
		t.Errorf("the inbox has %+v", r)
	} else if _, err := u.client().AnswerInbox(t.Context(), api.InboxAnswer{ID: r.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.lines.wait(t, "the lead to be told", func(l events.Line) bool {
		return l.Type == "message" && strings.Contains(string(l.Data), `"to":"lead"`) &&
			strings.Contains(string(l.Data), "worktree.max_disk")
	})
	testkit.Eventually(t, "ana to go on", func() bool { return u.member("ana").Attention == "" })
	if u.member("ben").Attention != "" {
		t.Error("ben needs attention for what ana has written")
	}
	if got := g.git("-C " + g.tree("ana") + " log --format=%s -1; ls " + g.tree("ana",
		"big")); !strings.Contains(got, "big") {
		t.Errorf("what she has made: %s", got)
	}
	if all, err := u.client().Status(t.Context()); err != nil || all.Members[1].Worktree == nil {
		t.Errorf("the status of ana: %+v, %v", all.Members, err)
	}
	if brief, err := u.client().Brief(t.Context()); err != nil || len(brief.Members) != 3 || brief.Members[1].Worktree != nil {
		t.Errorf("the brief status of ana: %+v, %v", brief.Members, err)
	}
	u.stop(errors.New("enough"))
	u.end()
}

// TestOutlook is what doctor says before a team starts.
func TestOutlook(t *testing.T) {
	t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
	files := groveFiles("true", "true", "")
	plain := newRig(t, files)
	team, err := configs.Load(filepath.Join(plain.dir, "team.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if look := trees.OutlookOf(t.Context(), team); len(look.Members) != 3 || look.Fault == nil || look.Repository {
		t.Errorf("no repository: %+v", look)
	}
	g := newGrove(t, files)
	if team, err = configs.Load(filepath.Join(g.dir, "team.yaml")); err != nil {
		t.Fatal(err)
	}
	if look := trees.OutlookOf(t.Context(), team); strings.Join(look.Members, " ") != "lead ana ben" ||
		look.Fault != nil || !look.Repository {
		t.Errorf("a repository: %+v", look)
	}
	g.write("team.yaml", strings.Replace(g.read("team.yaml"), "self_claim: false",
		"self_claim: false, isolation: shared", 1))
	if team, err = configs.Load(filepath.Join(g.dir, "team.yaml")); err != nil {
		t.Fatal(err)
	}
	if look := trees.OutlookOf(t.Context(), team); look.Members != nil || look.Fault != nil {
		t.Errorf("shared by its own will: %+v", look)
	}
}

// TestFindFromACopy: commands in a member's shell mean its team, wherever its
// working copy is.
func TestFindFromACopy(t *testing.T) {
	t.Setenv("COVEY_STATE_HOME", t.TempDir())
	t.Setenv(state.RunVariable, "")
	place, err := state.PlaceOf("crew", t.TempDir())
	if err == nil {
		err = place.Create()
	}
	elsewhere := t.TempDir()
	below := filepath.Join(place.Worktrees(), "ana", "src")
	if err := errors.Join(err, os.MkdirAll(below, 0o755)); err != nil {
		t.Fatal(err)
	}
	if found, err := state.Find(below, ""); err != nil || found.Dir != place.Dir {
		t.Errorf("in the state folder: %+v, %v", found, err)
	}
	if _, err := state.Find(elsewhere, ""); !errors.Is(err, state.ErrNoTeam) {
		t.Errorf("elsewhere: %v", err)
	}
	t.Setenv(state.RunVariable, place.Dir)
	if found, err := state.Find(elsewhere, ""); err != nil || found.Dir != place.Dir {
		t.Errorf("in a copy that a hook has made: %+v, %v", found, err)
	}
	if _, err := state.Find(elsewhere, "other"); !errors.Is(err, state.ErrNoTeam) {
		t.Errorf("another team by name: %v", err)
	}
}
