package workcopies_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestMaxDiskInARun: a member whose working copy takes the team beyond max_disk needs
// attention: the journal, ps, the inbox and the lead have it, with the figures and the place;
// nothing is deleted, and it goes on once a person says so.
func TestMaxDiskInARun(t *testing.T) {
	t.Parallel()
	// The file comes into the working copy whole, because the watch may look at any moment.
	files := teamtest.GroveFiles("head -c 300000 /dev/zero >../big && mv ../big big", "true", "worktree: {max_disk: 100kB}\nkeep: true\n")
	u := teamtest.Start(teamtest.NewGrove(t, files).Rig, &teamtest.HandClock{})
	g := teamtest.Grove{Rig: u.Rig}
	u.Lines.Wait(t, "ana to need attention", func(l events.Line) bool {
		return l.Member == "ana" && l.Type == "needs_attention"
	})
	testkit.Eventually(t, "ps to show it", func() bool { return u.Member("ana").Attention != "" })
	for _, want := range []string{"more than worktree.max_disk, 100.0 kB", "that of this member takes 30", g.Tree("ana")} {
		if why := u.Member("ana").Attention; !strings.Contains(why, want) {
			t.Errorf("ps says %q, want %q in it", why, want)
		}
	}
	if r := u.Asked(requests.AskAttention); r.Member != "ana" || !strings.Contains(r.Text, "worktree.max_disk") {
		t.Errorf("the inbox has %+v", r)
	} else if _, err := u.Client().AnswerInbox(t.Context(), api.InboxAnswer{ID: r.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.Lines.Wait(t, "the lead to be told", func(l events.Line) bool {
		return l.Type == "message" && strings.Contains(string(l.Data), `"to":"lead"`) &&
			strings.Contains(string(l.Data), "worktree.max_disk")
	})
	testkit.Eventually(t, "ana to go on", func() bool { return u.Member("ana").Attention == "" })
	if u.Member("ben").Attention != "" {
		t.Error("ben needs attention for what ana has written")
	}
	if got := g.Git("-C " + g.Tree("ana") + " log --format=%s -1; ls " + g.Tree("ana",
		"big")); !strings.Contains(got, "big") {
		t.Errorf("what she has made: %s", got)
	}
	if all, err := u.Client().Status(t.Context()); err != nil || all.Members[1].Worktree == nil {
		t.Errorf("the status of ana: %+v, %v", all.Members, err)
	}
	if brief, err := u.Client().Brief(t.Context()); err != nil || len(brief.Members) != 3 || brief.Members[1].Worktree != nil {
		t.Errorf("the brief status of ana: %+v, %v", brief.Members, err)
	}
	u.Stop(errors.New("enough"))
	u.End()
}
