package orchestrator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/teammate"
)

// standing is a crew with the working copies of a grove's last run, and nobody in
// them.
func (g grove) standing() *crew {
	g.t.Helper()
	o := g.orchestrator(Options{})
	store := openStore(g.t)
	c := &crew{store: store}
	dir := filepath.Join(real(g.t, g.place().Dir), "worktrees")
	c.trees = &trees{o: o, c: c, dir: dir, by: map[string]ownTree{}}
	var err error
	if c.trees.repo, c.trees.base, err = groundOf(g.t.Context(), worktree.Git{}, o.team()); err != nil {
		g.t.Fatal(err)
	}
	if err := c.trees.discover(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
	for _, m := range o.team().Members() {
		s := &seat{crew: c, member: &roster.Member{Member: &m, Lead: m.Name == "lead", Dir: g.dir}}
		if own, ok := c.trees.by[m.Name]; ok {
			s.member.Dir, s.tree = own.Root, &own
		}
		c.sit(s)
	}
	return c
}

// TestShowTrees is what ps shows of working copies.
func TestShowTrees(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles(commitIn("ana"), commitIn("ben"), ""))
	g.want(g.run(Options{}), 0, "")
	if err := os.WriteFile(g.tree("ana", "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := g.standing()
	members := []MemberStatus{{Name: "lead"}, {Name: "ana"}, {Name: "ben"}, {Name: "nobody"}}
	c.showTrees(t.Context(), members)
	if members[0].Worktree != nil || members[3].Worktree != nil {
		t.Errorf("the lead's copy is gone: %+v", members)
	}
	want := WorktreeStatus{Path: c.trees.by["ana"].Top, Branch: "covey/crew/ana", Dirty: 1, Ahead: 1}
	if got := members[1].Worktree; got == nil || *got != want {
		t.Errorf("ana: %+v, want %+v", got, want)
	}
	g.git("merge -q covey/crew/ben")
	c.showTrees(t.Context(), members)
	if got := members[2].Worktree; got == nil || got.Dirty != 0 || got.Ahead != 0 || got.Unknown {
		t.Errorf("ben, merged: %+v", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c.showTrees(ended, members)
	if got := members[2].Worktree; got == nil || !got.Unknown {
		t.Errorf("git had no time to answer: %+v", got)
	}
	(&crew{}).showTrees(t.Context(), members) // nobody was hired
}

// TestMeasure: beyond max_disk, the member with the largest copy needs attention,
// once.
func TestMeasure(t *testing.T) {
	g := newGrove(t, groveFiles("head -c 5000 /dev/zero >big; echo x >x", "echo y >y", ""))
	g.want(g.run(Options{}), 0, "")
	c := g.standing()
	journal, end := runTestJournal(t, c.store)
	c.journal = journal
	for _, s := range c.seats() {
		s.mate = &teammate.Teammate{}
	}
	team := *c.trees.o.team()
	team.Worktree.MaxDisk = 1 << 30
	c.trees.o.design.Store(&design{team: &team})
	if c.trees.measure(t.Context(), false) {
		t.Error("it is beyond a GiB")
	}
	small := team
	small.Worktree.MaxDisk = 4000
	c.trees.o.design.Store(&design{team: &small})
	if used := diskUse(t.Context(), c.trees.dir); used < 5000 {
		t.Errorf("%d bytes", used)
	}
	// Who was told already is not told again.
	if !c.trees.measure(t.Context(), true) {
		t.Error("it is not beyond")
	}
	for _, l := range end() {
		if l.Store == 0 {
			t.Errorf("people were told twice: %s %s", l.Type, l.Data)
		}
	}
}

// TestMaxDiskInARun: a member whose working copy takes the team beyond max_disk needs
// attention: the journal, ps, the inbox and the lead have it, with the figures and the place;
// nothing is deleted, and it goes on once a person says so.
func TestMaxDiskInARun(t *testing.T) {
	t.Parallel()
	files := groveFiles("head -c 300000 /dev/zero >big", "true", "worktree: {max_disk: 100kB}\nkeep: true\n")
	u := start(newGrove(t, files).rig, &handClock{})
	g := grove{u.rig}
	u.lines.wait(t, "ana to need attention", func(l journal.Line) bool {
		return l.Member == "ana" && l.Type == "needs_attention"
	})
	testkit.Eventually(t, "ps to show it", func() bool { return u.member("ana").Attention != "" })
	for _, want := range []string{"beyond worktree.max_disk, 100.0 kB", "its own takes 300.", g.tree("ana")} {
		if why := u.member("ana").Attention; !strings.Contains(why, want) {
			t.Errorf("ps says %q, want %q in it", why, want)
		}
	}
	if r := u.asked(requests.AskAttention); r.Member != "ana" || !strings.Contains(r.Text, "worktree.max_disk") {
		t.Errorf("the inbox has %+v", r)
	} else if _, err := u.client().AnswerInbox(t.Context(), InboxAnswer{ID: r.ID, Approve: true}); err != nil {
		t.Fatal(err)
	}
	u.lines.wait(t, "the lead to be told", func(l journal.Line) bool {
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
	u.stop(errors.New("enough"))
	u.end()
}

func TestDiskUse(t *testing.T) {
	dir := t.TempDir()
	for name, n := range map[string]int{"a": 10, "d/b": 20, "d/e/c": 30} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if got := diskUse(t.Context(), dir); got != 60 {
		t.Errorf("%d bytes", got)
	}
	if got := diskUse(t.Context(), filepath.Join(dir, "none")); got != 0 {
		t.Errorf("%d bytes of nothing", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := diskUse(ended, dir); got != 0 {
		t.Errorf("%d bytes after the end", got)
	}
}

func TestNameless(t *testing.T) {
	g := newGrove(t, groveFiles("true", "true", ""))
	o := g.orchestrator(Options{})
	s := &seat{member: &roster.Member{Member: &configs.Member{Name: "ana"}}, tree: &ownTree{}}
	unnamed := &trees{o: o}
	if env := strings.Join(unnamed.nameless(s), " "); !strings.Contains(env,
		"GIT_AUTHOR_EMAIL=ana@crew.covey.invalid") {
		t.Errorf("%q", env)
	}
	if env := (&trees{o: o, user: worktree.Person{Name: "u", Email: "u@x"}}).nameless(s); env != nil {
		t.Errorf("git knows the user, and gets %q", env)
	}
	if env := unnamed.nameless(&seat{}); env != nil {
		t.Errorf("in the workspace: %q", env)
	}
	if env := (*trees)(nil).nameless(s); env != nil {
		t.Errorf("without copies: %q", env)
	}
	t.Setenv("GIT_AUTHOR_EMAIL", "x@y")
	if env := unnamed.nameless(s); env != nil {
		t.Errorf("the environment names an author: %q", env)
	}
}

func TestUnmergedText(t *testing.T) {
	for want, u := range map[string]unmerged{
		"": {}, "2 files that are not committed": {Changed: 2},
		"1 files that are not committed, 3 commits that are not merged": {Changed: 1, Commits: 3},
		"repositories of their own: a, b, c and 1 more":                 {Beyond: []string{"a", "b", "c", "d"}},
	} {
		if u.String() != want || u.none() != (want == "") {
			t.Errorf("%+v: %q, %v", u, u.String(), u.none())
		}
	}
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
	if look := OutlookOf(t.Context(), team); len(look.Members) != 3 || look.Fault == nil || look.Repository {
		t.Errorf("no repository: %+v", look)
	}
	g := newGrove(t, files)
	if team, err = configs.Load(filepath.Join(g.dir, "team.yaml")); err != nil {
		t.Fatal(err)
	}
	if look := OutlookOf(t.Context(), team); strings.Join(look.Members, " ") != "lead ana ben" ||
		look.Fault != nil || !look.Repository {
		t.Errorf("a repository: %+v", look)
	}
	g.write("team.yaml", strings.Replace(g.read("team.yaml"), "self_claim: false",
		"self_claim: false, isolation: shared", 1))
	if team, err = configs.Load(filepath.Join(g.dir, "team.yaml")); err != nil {
		t.Fatal(err)
	}
	if look := OutlookOf(t.Context(), team); look.Members != nil || look.Fault != nil {
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
