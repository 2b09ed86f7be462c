package workcopies

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// again ends the run and begins another one.
func (g *grove) again(t *testing.T) {
	t.Helper()
	g.end(t)
	testkit.Must(t, g.begin(t, g.options))
}

// fresh begins a run that forgets the one before.
func (g *grove) fresh(t *testing.T) error {
	t.Helper()
	o := g.options
	o.Fresh, o.Left = true, ReadRemains(t.Context(), o.Store)
	testkit.Must(t, errors.Join(o.Store.Put(t.Context(), keyTrees, []byte("{}")), o.Store.Put(t.Context(), keyBranches, []byte("[]"))))
	return g.begin(t, o)
}

// does runs a script in a member's working copy.
func (g *grove) does(t *testing.T, member, script string) string {
	t.Helper()
	own, _ := g.Of(member)
	return testkit.Shell(t, own.Root, script)
}

// publish brings a member's commits to the workspace, as the end of a turn does.
func (g *grove) publish(t *testing.T, member string) {
	t.Helper()
	copy, head, err := g.Copy(t.Context(), member)
	testkit.Must(t, err)
	_, err = copy.Publish(t.Context(), head)
	testkit.Must(t, err)
}

// git runs a command of git in the workspace.
func (g *grove) git(t *testing.T, args string) string {
	t.Helper()
	return testkit.Shell(t, g.team.Workspace, "git "+args)
}

// ops lists what happened to working copies in this run, as "op member".
func (g *grove) ops() []string {
	var ops []string
	for _, e := range g.notices.early {
		if c, ok := e.Data.(events.WorktreeChanged); ok {
			ops = append(ops, c.Op+" "+e.Member)
		}
	}
	slices.Sort(ops)
	return ops
}

// warned reports whether people were told of something in this run.
func (g *grove) warned(text string) bool {
	return slices.ContainsFunc(g.notices.early, func(e events.Event) bool {
		w, ok := e.Data.(events.Warning)
		return ok && strings.Contains(w.Text, text)
	})
}

const (
	draft  = "echo draft >draft"
	commit = "echo two >>shared.txt; git commit -qam work"
)

// TestFreshKeepsWork: a run that forgets the one before keeps what is in no other commit.
func TestFreshKeepsWork(t *testing.T) {
	g := newGrove(t)
	g.does(t, "ana", draft)
	g.does(t, "ben", commit)
	g.end(t)
	testkit.Must(t, g.fresh(t))
	refs := strings.Fields(g.git(t, "for-each-ref --format='%(refname)' refs/covey/rescue/crew/ana refs/covey/rescue/crew/ben"))
	if len(refs) != 2 || g.git(t, "show "+refs[0]+":draft") != "draft" || g.git(t, "show "+refs[1]+":shared.txt") != "one\ntwo" {
		t.Fatalf("kept: %q", refs)
	}
	want := []string{"created ana", "created ben", "rescued ana", "rescued ben"}
	if got := g.ops(); !slices.Equal(got, want) || !g.warned("`git branch NAME "+refs[0]+"`") {
		t.Errorf("%q, want %q", got, want)
	}
	if got := g.git(t, "rev-list --count main..covey/crew/ben"); got != "0" {
		t.Errorf("ben's new branch is %s ahead", got)
	}
}

// TestFreshGoesOnOnItsBranch: a branch whose copy somebody removed is the team's still.
func TestFreshGoesOnOnItsBranch(t *testing.T) {
	g := newGrove(t)
	g.does(t, "ana", commit)
	g.publish(t, "ana")
	testkit.Must(t, os.RemoveAll(g.members["ana"].Dir))
	g.end(t)
	testkit.Must(t, g.fresh(t))
	if got := g.git(t, "log --format=%s main..covey/crew/ana"); got != "work" || !g.warned("covey/crew/ana existed already") {
		t.Errorf("her branch has %q", got)
	}
}

// TestRetired: the copy of a member that the spec has no more goes if it holds nothing, and stays if
// it does.
func TestRetired(t *testing.T) {
	g := newGrove(t)
	g.does(t, "ana", draft)
	g.does(t, "ben", commit)
	ana, ben := g.members["ana"].Dir, g.members["ben"].Dir
	g.end(t)
	g.git(t, "merge -q covey/crew/ben")
	g.team.Teammates = []configs.Member{{Name: "zoe"}, {Name: "yan"}}
	testkit.Must(t, g.begin(t, g.options))
	if !IsFolder(ana) || !g.warned("the spec no longer has member ana") {
		t.Error("ana's draft is gone")
	}
	if IsFolder(ben) || g.git(t, "branch --list covey/crew/ben") != "" {
		t.Error("ben's merged copy, or its branch, is still there")
	}
	if got := g.ops(); !slices.Contains(got, "kept ana") || !slices.Contains(got, "removed ben") {
		t.Errorf("%q", got)
	}
}

// TestSquashedIsMerged: a pull request that was merged as one commit is merged.
func TestSquashedIsMerged(t *testing.T) {
	g := newGrove(t)
	g.does(t, "ana", commit)
	g.end(t)
	g.git(t, "merge -q --squash covey/crew/ana")
	g.git(t, "commit -qm squashed")
	g.again(t)
	g.end(t)
	if got := g.ops(); !slices.Contains(got, "removed ana") {
		t.Errorf("%q", got)
	}
}

// TestLostCopies: what lies in a folder that is no working copy any more is put aside, and a folder
// that is gone is made again, from its branch.
func TestLostCopies(t *testing.T) {
	g := newGrove(t)
	g.does(t, "ana", draft)
	g.does(t, "ben", commit)
	ana, ben := g.members["ana"].Dir, g.members["ben"].Dir
	g.publish(t, "ben")
	testkit.Must(t, errors.Join(os.RemoveAll(ben), os.RemoveAll(filepath.Join(ana, ".git"))))
	g.again(t)
	aside, err := filepath.Glob(filepath.Join(ana+".lost-*", "draft"))
	if err != nil || len(aside) != 1 || !g.warned("its content is now in") {
		t.Errorf("%q, %v", aside, err)
	}
	if got := g.does(t, "ben", "cat shared.txt"); got != "one\ntwo" || !g.warned("covey/crew/ben existed already") {
		t.Errorf("ben goes on with %q", got)
	}
}

// TestBranchInTheWay: git has no branch covey/crew/ana beside one called covey, and the start fails
// over it in one line that says what to do.
func TestBranchInTheWay(t *testing.T) {
	g := newGrove(t)
	g.end(t)
	g.git(t, "branch covey")
	err := g.begin(t, g.options)
	want := "can be created in " + g.team.Workspace + ": covey is in the way; `git branch -m covey NAME`"
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "update-ref") {
		t.Errorf("%v, want %q in it", err, want)
	}
	g.git(t, "branch -m covey covey/crew") // which leaves room beside it
	g.again(t)
}

// TestSubfolder: the workspace is a folder of its repository.
func TestSubfolder(t *testing.T) {
	g := newGrove(t)
	g.end(t)
	sh(t, g.team.Workspace, "mkdir -p apps/till; echo x >apps/till/file; git add -A; git commit -qm sub")
	g.team.Workspace = filepath.Join(g.team.Workspace, "apps", "till")
	testkit.Must(t, g.begin(t, g.options))
	own, _ := g.Of("ana")
	if got := g.does(t, "ana", "cat file"); got != "x" || g.members["ana"].Dir != filepath.Join(own.Top, "apps", "till") {
		t.Errorf("ana works in %s and finds %q", g.members["ana"].Dir, got)
	}
}

// TestTwoTeamsOfOneName work in two copies of one repository, each on branches of its own.
func TestTwoTeamsOfOneName(t *testing.T) {
	g := newGrove(t)
	g.does(t, "ana", commit)
	second := filepath.Join(testkit.Folder(t), "second")
	g.git(t, "worktree add -q -b other "+second)
	g.end(t)
	g.team.Workspace = second
	g.settle(t, "crew-89abcdef")
	testkit.Must(t, g.begin(t, g.options))
	branches := strings.Fields(g.git(t, "branch --list 'covey/*/ana' --format='%(refname:short)'"))
	if !slices.Equal(branches, []string{"covey/crew-89abcdef/ana", "covey/crew/ana"}) {
		t.Errorf("%q", branches)
	}
}

// TestSharedFromNowOn: work does not vanish from sight when its member is moved into the workspace.
func TestSharedFromNowOn(t *testing.T) {
	g := newGrove(t)
	g.does(t, "ana", draft)
	g.does(t, "ben", commit)
	ana := g.members["ana"].Dir
	g.end(t)
	g.git(t, "merge -q covey/crew/ben")
	for i := range g.team.Teammates {
		g.team.Teammates[i].Isolation = configs.Shared
	}
	testkit.Must(t, g.begin(t, g.options))
	if got := g.ops(); !slices.Equal(got, []string{"kept ana", "removed ben"}) || !g.warned("ana works in the workspace from now on") {
		t.Errorf("%q", got)
	}
	if !IsFolder(ana) || g.members["ana"].Dir != g.team.Workspace {
		t.Errorf("the draft is gone, or ana works in %s", g.members["ana"].Dir)
	}
}

// TestHalfMadeCopy: what a kill leaves of a copy that is made, or removed, hinders nobody.
func TestHalfMadeCopy(t *testing.T) {
	for what, script := range map[string]string{
		"no name yet":     "mv ana .new-1; rm -rf ana; git -C $W update-ref -d refs/heads/covey/crew/ana; git -C $W update-ref -d $I/ana",
		"no references":   "git -C $W update-ref -d refs/heads/covey/crew/ana; git -C $W update-ref -d $I/ana",
		"no branch":       "git -C $W update-ref -d refs/heads/covey/crew/ana",
		"a base in parts": "rm -rf ../base.git; mkdir ../.new-base.git",
		"looked at":       "mv ana .look-ana",
		"half removed":    "mkdir .new-2; mv ana .new-2; rm .new-2/ana/.git/HEAD; git -C $W update-ref -d refs/heads/covey/crew/ana",
		"locks":           "touch ana/.git/index.lock ana/.git/HEAD.lock ana/.git/refs/heads/covey/crew/ana.lock $W/.git/$I/ana.lock",
	} {
		t.Run(what, func(t *testing.T) {
			g := newGrove(t)
			g.Close()
			script = strings.NewReplacer("$W", g.team.Workspace, "$I", "refs/covey/in/crew-01234567").Replace(script)
			sh(t, g.dir, script)
			o := g.options
			if what != "looked at" { // nor did the store know it
				testkit.Must(t, errors.Join(o.Store.Put(t.Context(), keyTrees, []byte("{}")), o.Store.Put(t.Context(), keyBranches, []byte("[]"))))
			}
			testkit.Must(t, g.begin(t, o))
			if got := g.does(t, "ana", commit+"; cat shared.txt"); got != "one\ntwo" {
				t.Errorf("ana saw %q", got)
			}
			g.publish(t, "ana")
			if got := g.git(t, "log -1 --format=%s covey/crew/ana"); got != "work" {
				t.Errorf("her branch has %q", got)
			}
			if left, err := filepath.Glob(filepath.Join(g.dir, ".*")); err != nil || len(left) > 0 {
				t.Errorf("left: %q, %v", left, err)
			}
		})
	}
}

// TestLinkedBefore: a working copy of an older covey stays as it is, and people are told what to do.
func TestLinkedBefore(t *testing.T) {
	g := newGrove(t)
	ana := g.members["ana"].Dir
	g.end(t)
	g.git(t, "worktree add -q -b covey/crew/ana "+ana)
	sh(t, ana, draft)
	for what, err := range map[string]error{"begin": g.begin(t, g.options), "fresh": g.fresh(t)} {
		if !errors.Is(err, configs.ErrSpec) || !strings.Contains(err.Error(), "worktree remove "+ana) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := testkit.Read(t, filepath.Join(ana, "draft")); got != "draft\n" {
		t.Errorf("the draft is %q", got)
	}
	g.stopped(t)
	if _, err := LegacyOf(t.Context(), worktree.Git{}, g.deps.Place); err == nil || !strings.Contains(err.Error(), "worktree remove "+ana) {
		t.Errorf("rm: %v", err)
	}
}

// TestStrays: what is on other branches of a copy, or stashed there, is work.
func TestStrays(t *testing.T) {
	g := newGrove(t)
	g.does(t, "ana", "git checkout -q -b try; echo try >try; git add try; git commit -qm try; git checkout -q -; echo aside >shared.txt; git stash -q")
	ana := g.members["ana"].Dir
	g.end(t)
	if !IsFolder(ana) {
		t.Fatal("the copy is gone")
	}
	testkit.Must(t, g.fresh(t))
	ref := g.git(t, "for-each-ref --format='%(refname)' refs/covey/rescue/crew/ana")
	if got := g.git(t, "show "+ref+"^2:try "+ref+"^3:shared.txt "+ref+":shared.txt"); got != "try\naside\none" {
		t.Errorf("kept: %s", got)
	}
}

// TestRemovesNothingOfOthers: copies and branches that are not the team's stay, and so does the user's
// stash.
func TestRemovesNothingOfOthers(t *testing.T) {
	g := newGrove(t)
	g.end(t)
	mine := filepath.Join(testkit.Folder(t), "mine")
	sh(t, g.team.Workspace, "git worktree add -q -b mine "+mine+
		"; git branch covey/other/x; git branch idle; echo aside >shared.txt; git stash -q; echo user >shared.txt")
	look := "branch --list; git stash list; git status --porcelain; git worktree list; cat shared.txt"
	before := g.git(t, look)
	testkit.Must(t, g.begin(t, g.options))
	g.end(t)
	testkit.Must(t, g.fresh(t))
	g.end(t)
	if after := g.git(t, look); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
}

// TestEnclosedRepositories: what no commit can hold is never removed.
func TestEnclosedRepositories(t *testing.T) {
	g := newGrove(t)
	g.does(t, "ana", "git init -q own && echo x >own/x")
	inside := filepath.Join(g.members["ana"].Dir, "own", "x")
	g.end(t)
	err := g.fresh(t)
	if err == nil || !strings.Contains(err.Error(), "delete the folder") || !strings.Contains(err.Error(), "own") {
		t.Errorf("begun afresh: %v", err)
	}
	if _, err := os.Stat(inside); err != nil {
		t.Error(err)
	}
}

// TestSetupFails: the member does not begin, people are told why, and the next run tries again.
func TestSetupFails(t *testing.T) {
	g := newGrove(t)
	g.end(t)
	cure := filepath.Join(t.TempDir(), "cure")
	g.team.Worktree.Setup = []string{"echo looking; test -e " + cure + " || { echo no cure >&2; exit 7; }"}
	if err := g.begin(t, g.options); err == nil || !strings.Contains(err.Error(), "no cure") {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(g.options.Place.Scratch(), "ana.setup.log"))
	if err != nil || !strings.Contains(string(log), "$ echo looking") || !strings.Contains(string(log), "no cure") {
		t.Errorf("the log: %s, %v", log, err)
	}
	testkit.Must(t, os.WriteFile(cure, nil, 0o600))
	g.again(t)
}

// TestOutlook is what doctor says before a team starts.
func TestOutlook(t *testing.T) {
	plain := testkit.Folder(t)
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(plain))
	team := &configs.Team{Workspace: plain, Lead: configs.Member{Name: "lead"}, Teammates: []configs.Member{{Name: "ana"}}}
	if look := OutlookOf(t.Context(), team); len(look.Members) != 2 || look.Fault == nil || look.Repository {
		t.Errorf("no repository: %+v", look)
	}
	team.Workspace = newGrove(t).team.Workspace
	if look := OutlookOf(t.Context(), team); strings.Join(look.Members, " ") != "lead ana" || look.Fault != nil || !look.Repository {
		t.Errorf("a repository: %+v", look)
	}
	team.Lead.Isolation, team.Teammates[0].Isolation = configs.Shared, configs.Shared
	if look := OutlookOf(t.Context(), team); look.Members != nil || look.Fault != nil {
		t.Errorf("shared by its own will: %+v", look)
	}
}

// TestDemandRefused: who demands a working copy where there can be none is told so, and how to have
// one, before anything starts.
func TestDemandRefused(t *testing.T) {
	const begun = "git init -q; echo x >x; git add x; git commit -qm x"
	for what, c := range map[string]struct {
		prepare string
		base    string
		merge   configs.Merge
		says    string
	}{
		"no repository":  {"true", "", configs.Merge{}, "git init"},
		"no commit":      {"git init -q", "", configs.Merge{}, "no commit yet; create a first one"},
		"bare":           {"git init -q --bare .git", "", configs.Merge{}, "has no working copy"},
		"no such base":   {begun, "nowhere", configs.Merge{}, "worktree.base: no such branch or commit: nowhere"},
		"no such target": {begun, "", configs.Merge{Given: true, Into: "nowhere"}, "merge.into: there is no branch nowhere"},
		"on no branch":   {begun + "; git checkout -q --detach", "", configs.Merge{Given: true}, "is on no branch: check one out"},
		"not committed":  {"git init -q; git commit -q --allow-empty -m x", "", configs.Merge{}, "has no files in commit"},
	} {
		t.Run(what, func(t *testing.T) {
			dir := testkit.Folder(t)
			t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
			sh(t, dir, c.prepare)
			team := &configs.Team{
				Workspace: dir, Worktree: configs.Worktree{Base: c.base}, Merge: c.merge, Lead: configs.Member{Name: "lead"},
				Teammates: []configs.Member{{Name: "ana", Isolation: configs.InWorktree}},
			}
			if err := Check(worktree.Git{}, team, nil); !errors.Is(err, configs.ErrSpec) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			// What is named must be there, whether or not somebody demands a copy.
			team.Teammates[0].Isolation = ""
			if err := Check(worktree.Git{}, team, nil); (err != nil) != (c.base != "" || c.merge.Given) {
				t.Errorf("without the demand: %v", err)
			}
		})
	}
}

// TestGuardGit: members with working copies are refused what changes the workspace; who works there is
// not.
func TestGuardGit(t *testing.T) {
	g := newGrove(t)
	for member, refused := range map[string]bool{"ana": true, "lead": false, "nobody": false} {
		input, err := json.Marshal(map[string]string{"command": "git -C " + g.team.Workspace + " stash"})
		testkit.Must(t, err)
		why := g.refusedGit(hooks.Input{
			Common:  hooks.Common{SessionID: member, Cwd: g.team.Workspace},
			Payload: hooks.PreToolUseInput{ToolName: "Bash", ToolInput: input},
		})
		if (why != "") != refused {
			t.Errorf("%s: refused with %q", member, why)
		}
	}
}
