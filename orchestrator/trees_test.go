package orchestrator

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/testkit"
	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/tasks"
)

// grove is a team of a lead, ana and ben in a git repository. What ana and ben do,
// and more keys of the spec, are the test's.
type grove struct{ *rig }

// groveFiles are the files of a grove. ana and ben run one command each and complete
// their task.
func groveFiles(ana, ben, more string) map[string]string {
	worker := func(task, command string) string {
		return `steps:
  - call: [{tool: Bash, input: {command: ` + yamlText(command) + `}}]
  - call: [{tool: TaskUpdate, input: {taskId: "` + task + `", status: completed}}]
  - {say: done, times: -1}
`
	}
	spec := `covey: 1
name: crew
goal: Ship it.
models:
  lead: {provider: script, script: lead.yaml}
  ana: {provider: script, script: ana.yaml}
  ben: {provider: script, script: ben.yaml}
defaults: {permission_mode: bypassPermissions, self_claim: false}
lead: {model: lead}
teammates:
  ana: {model: ana}
  ben: {model: ben}
tasks: [{id: a, subject: A, owner: ana}, {id: b, subject: B, owner: ben}]
`
	return map[string]string{
		"team.yaml": spec + more, "lead.yaml": "steps: [{say: fine, times: -1}]\n",
		"ana.yaml": worker("1", ana), "ben.yaml": worker("2", ben),
		"shared.txt": "one\ntwo\nthree\n", ".gitignore": "*.log\n.env\n",
	}
}

// yamlText quotes a text for YAML.
func yamlText(text string) string { return `'` + strings.ReplaceAll(text, "'", "''") + `'` }

func newGrove(t *testing.T, files map[string]string) grove {
	t.Helper()
	g := grove{newRig(t, files)}
	testkit.Commit(t, g.dir)
	return g
}

// git runs "git ARGS" in the workspace through a shell and returns what it printed.
func (g grove) git(args string) string {
	g.t.Helper()
	cmd := exec.CommandContext(g.t.Context(), "/bin/sh", "-ec", "git "+args)
	cmd.Dir = g.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("git %s: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// tree is a path in a member's working copy.
func (g grove) tree(elem ...string) string {
	return filepath.Join(append([]string{g.place().Worktrees()}, elem...)...)
}

// ops lists what happened to working copies in the last run, as "op member".
func (g grove) ops() []string {
	var ops []string
	for _, l := range g.lines.all() {
		if l.Type == "worktree" {
			op, _, _ := strings.Cut(strings.TrimPrefix(string(l.Data), `{"op":"`), `"`)
			ops = append(ops, op+" "+l.Member)
		}
	}
	slices.Sort(ops)
	return ops
}

// warned reports whether people were told of something in the last run.
func (g grove) warned(text string) bool {
	return slices.ContainsFunc(of[events.Warning](g.rig, "warning"), func(w events.Warning) bool {
		return strings.Contains(w.Text, text)
	})
}

// commitIn is a command that changes the shared file and commits it.
func commitIn(word string) string {
	return "sed -i 's/two/" + word + "/' shared.txt && git commit -qam " + word + " && pwd"
}

// TestWritersDoNotCollide is complaint 5 of TEAMS.md: two members change the same
// line of the same file, and neither the other nor the user sees it.
func TestWritersDoNotCollide(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles(commitIn("ana"), commitIn("ben"), ""))
	g.want(g.run(Options{}), 0, "all work is done")
	if got := g.read("shared.txt"); got != "one\ntwo\nthree\n" {
		t.Errorf("the workspace's file is %q", got)
	}
	if got := g.git("status --porcelain"); got != "" {
		t.Errorf("the workspace has changed: %s", got)
	}
	for _, name := range []string{"ana", "ben"} {
		if got := g.git("show covey/crew/" + name + ":shared.txt"); got != "one\n"+name+"\nthree" {
			t.Errorf("%s's branch has %q", name, got)
		}
		if got := read(t, g.tree(name, "shared.txt")); got != "one\n"+name+"\nthree\n" {
			t.Errorf("%s's copy has %q", name, got)
		}
	}
	// The lead could write too, and did not: its copy holds nothing and is gone.
	want := []string{"created ana", "created ben", "created lead", "removed lead"}
	if got := g.ops(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if branches := g.git("branch --list 'covey/crew/[abl]*' --format='%(refname:short)'"); branches != "covey/crew/ana\ncovey/crew/ben" {
		t.Errorf("branches: %s", branches)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOptOut(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles("pwd >at-ana", "pwd >at-ben", ""))
	g.write("team.yaml", strings.Replace(g.read("team.yaml"), "self_claim: false",
		"self_claim: false, isolation: shared", 1))
	g.want(g.run(Options{}), 0, "")
	if g.ops() != nil || strings.TrimSpace(g.read("at-ana")) != real(t, g.dir) {
		t.Errorf("%q; ana was at %s", g.ops(), g.read("at-ana"))
	}
}

// write writes a file of the workspace.
func (g grove) write(name, text string) {
	g.t.Helper()
	path := filepath.Join(g.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := testkit.WriteProgram(path, []byte(text)); err != nil {
		g.t.Fatal(err)
	}
}

// real is a path without links.
func real(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDemandRefused: who demands a working copy where there can be none is told so,
// and how to have one, before anything starts.
func TestDemandRefused(t *testing.T) {
	demand := "worktree: {base: nowhere}\n"
	const begun = "git init -q; git add -A; git -c user.name=x -c user.email=x commit -qm x"
	for what, c := range map[string]struct {
		prepare, more, says string
	}{
		"no repository":  {"", "", "git init"},
		"no commit":      {"git init -q", "", "no commit yet; create a first one"},
		"bare":           {"git init -q --bare .git", "", "has no working copy"},
		"no such base":   {begun, demand, "worktree.base: no such branch or commit: nowhere"},
		"no such target": {begun, "merge: {into: nowhere}\n", "merge.into: there is no branch nowhere"},
		"on no branch":   {begun + "; git checkout -q --detach", "merge: {}\n", "is on no branch: check one out"},
		"not committed": {"git init -q; git -c user.name=x -c user.email=x commit -q --allow-empty -m x",
			"", "has no files in commit"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
			files := groveFiles("true", "true", c.more)
			files["team.yaml"] = strings.Replace(files["team.yaml"], "ana: {model: ana}",
				"ana: {model: ana, isolation: worktree}", 1)
			r := newRig(t, files)
			cmd := exec.CommandContext(t.Context(), "/bin/sh", "-ec", c.prepare)
			cmd.Dir = r.dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			team, err := configs.Load(filepath.Join(r.dir, "team.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = New(team, Options{})
			if !errors.Is(err, configs.ErrSpec) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			// What is named must be there, whether or not somebody demands a copy.
			team.Teammates[0].Isolation = ""
			if _, err = New(team, Options{}); errors.Is(err, configs.ErrSpec) != (c.more != "") {
				t.Errorf("without the demand: %v", err)
			}
		})
	}
}

// TestGoesOnInItsCopy: a team that was cut off goes on in the copies that it had,
// with what lay there, and sets nothing up twice.
func TestGoesOnInItsCopy(t *testing.T) {
	t.Parallel()
	files := groveFiles("echo draft >draft; sleep 60", "true", "worktree: {setup: [echo x >>setup.log]}\n")
	g := newGrove(t, files)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	o := g.orchestrator(Options{})
	go func() {
		defer close(done)
		if _, err := o.Run(ctx); err != nil {
			t.Log(err)
		}
	}()
	waitFor(t, g.tree("ana", "draft"))
	// A call that is cut off is called again, and ben's script would have gone on by then.
	g.lines.wait(t, "ben's task", func(l events.Line) bool {
		return l.Type == "task" && l.Member == "ben" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
	cancel()
	<-done
	head := g.git("rev-parse covey/crew/ana")
	// A killed run may not even have noted the copy down.
	g.forgetTrees()
	// The cut-off call is the script's first step.
	g.write("ana.yaml", "steps: [{say: no}, {call: [{tool: Bash, input: {command: 'cat draft && git add -A && git commit -qm draft'}}]}, "+
		"{call: [{tool: TaskUpdate, input: {taskId: '1', status: completed}}]}, {say: done, times: -1}]\n")
	g.want(g.run(Options{}), 0, "all work is done")
	if got := g.git("log --format=%s main..covey/crew/ana"); got != "draft" ||
		head == g.git("rev-parse covey/crew/ana") {
		t.Errorf("ana's branch has %q", got)
	}
	if slices.Contains(g.ops(), "created ana") {
		t.Errorf("%q", g.ops())
	}
	if got := read(t, g.tree("ana", "setup.log")); got != "x\nx\n" && got != "x\n" { // once more only because the note was lost
		t.Errorf("set up as %q", got)
	}
}

// forgetTrees takes what the store knows of working copies.
func (g grove) forgetTrees() {
	g.t.Helper()
	store, err := tasks.Open(g.place().Store(), &tasks.Options{BlobDir: g.place().Blobs()})
	if err != nil {
		g.t.Fatal(err)
	}
	defer store.Close()
	if err := store.Put(g.t.Context(), "worktrees", notation.Encode(map[string]trees.Tree{})); err != nil {
		g.t.Fatal(err)
	}
}

// waitFor waits until a file is there.
func waitFor(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(testPatience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	t.Fatalf("%s did not come", path)
}

// TestFreshKeepsWork: --fresh forgets the run, and not what is in no commit.
func TestFreshKeepsWork(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles("echo draft >draft", commitIn("ben"), ""))
	g.want(g.run(Options{}), 0, "")
	g.want(g.run(Options{Fresh: true}), 0, "")
	refs := strings.Fields(g.git("for-each-ref --format='%(refname)' refs/covey/rescue/crew/ana refs/covey/rescue/crew/ben"))
	if len(refs) != 2 || !strings.HasPrefix(refs[0], "refs/covey/rescue/crew/ana/") ||
		!strings.HasPrefix(refs[1], "refs/covey/rescue/crew/ben/") {
		t.Fatalf("kept: %q", refs)
	}
	if got := g.git("show " + refs[0] + ":draft"); got != "draft" {
		t.Errorf("ana's file was kept as %q", got)
	}
	if got := g.git("show " + refs[1] + ":shared.txt"); got != "one\nben\nthree" {
		t.Errorf("ben's commit was kept as %q", got)
	}
	want := []string{"created ana", "created ben", "created lead", "removed lead", "rescued ana", "rescued ben"}
	if got := g.ops(); !slices.Equal(got, want) || !g.warned("`git branch NAME "+refs[0]+"`") {
		t.Errorf("%q, want %q", got, want)
	}
	if got := g.git("rev-list --count main..covey/crew/ben"); got != "1" {
		t.Errorf("ben's new branch is %s ahead", got)
	}
}

// TestRetired: the copy of a member that the spec has no more goes if it holds
// nothing, and stays if it does.
func TestRetired(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles("echo draft >draft", commitIn("ben"), ""))
	g.want(g.run(Options{}), 0, "")
	g.git("merge -q covey/crew/ben")
	spec := strings.NewReplacer("  ana: {model: ana}\n", "", "  ben: {model: ben}\n",
		"  zoe: {model: ben}\n  yan: {model: ben}\n",
		"tasks: [{id: a, subject: A, owner: ana}, {id: b, subject: B, owner: ben}]\n", "").Replace(g.read("team.yaml"))
	g.write("team.yaml", spec)
	g.write("ben.yaml", "steps: [{say: done, times: -1}]\n")
	g.want(g.run(Options{}), 0, "")
	if got := read(t, g.tree("ana", "draft")); got != "draft\n" || !g.warned("the spec no longer has member ana") {
		t.Errorf("ana's draft is %q", got)
	}
	if _, err := os.Stat(g.tree("ben")); err == nil || g.git("branch --list covey/crew/ben") != "" {
		t.Error("ben's merged copy, or its branch, is still there")
	}
	if got := g.ops(); !slices.Contains(got, "kept ana") || !slices.Contains(got, "removed ben") {
		t.Errorf("%q", got)
	}
}

// TestSquashedIsMerged: a pull request that was merged as one commit is merged.
func TestSquashedIsMerged(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles(commitIn("ana"), "true", ""))
	g.want(g.run(Options{}), 0, "")
	g.git("merge -q --squash covey/crew/ana; git commit -qm squashed")
	g.write("team.yaml", strings.Replace(g.read("team.yaml"), "Ship it.", "Ship it again.", 1))
	g.want(g.run(Options{}), 0, "")
	if got := g.ops(); !slices.Contains(got, "removed ana") {
		t.Errorf("%q", got)
	}
}

// TestLostCopies: what lies in a folder that is no working copy any more is put
// aside, and a folder that is gone is made again, from its branch.
func TestLostCopies(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles("echo draft >draft", commitIn("ben"), ""))
	g.want(g.run(Options{}), 0, "")
	g.git("worktree remove --force '" + g.tree("ben") + "'")
	if err := os.Remove(g.tree("ana", ".git")); err != nil {
		t.Fatal(err)
	}
	g.write("team.yaml", strings.Replace(g.read("team.yaml"), "Ship it.", "Ship it again.", 1))
	g.want(g.run(Options{}), 0, "")
	aside, err := filepath.Glob(g.tree("ana.lost-*", "draft"))
	if err != nil || len(aside) != 1 || !g.warned("its content is now in") {
		t.Errorf("%q, %v", aside, err)
	}
	if got := read(t, g.tree("ben", "shared.txt")); got != "one\nben\nthree\n" ||
		!g.warned("covey/crew/ben existed already") {
		t.Errorf("ben goes on with %q", got)
	}
}

// TestForeignBranch: a branch of a member's name that this team has not made is somebody's.
// It is not merged as work on a task, nor removed, however often the team runs.
func TestForeignBranch(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles(commitIn("ana"), "true", "merge: {into: main}\n"))
	g.git("checkout -q -b covey/crew/ana; echo mine >mine; git add mine; git commit -qm mine; git checkout -q main")
	g.git("branch covey/crew/ben") // and one that holds nothing of its own
	was := g.git("rev-parse covey/crew/ana covey/crew/ben")
	g.want(g.run(Options{}), 0, "all work is done")
	other := "covey/" + filepath.Base(g.place().Dir) + "/ana"
	if text := "branch covey/crew/ana of " + g.git("rev-parse --show-toplevel") + " was not created by this team"; !g.warned(text) || !g.warned("ana works on "+other) {
		t.Errorf("nobody was told that %s", text)
	}
	g.write("team.yaml", strings.Replace(g.read("team.yaml"), "Ship it.", "Ship it again.", 1))
	g.want(g.run(Options{}), 0, "")
	g.want(g.run(Options{Fresh: true}), 0, "")
	if got := g.git("rev-parse covey/crew/ana covey/crew/ben"); got != was {
		t.Errorf("the branches are at %s and were at %s", got, was)
	}
	if got := g.git("log --format=%s main"); strings.Contains(got, "mine") || !strings.Contains(got, "ana") {
		t.Errorf("main has\n%s", got)
	}
}

// TestBranchInTheWay: git has no branch covey/crew/ana beside one called covey, and the
// start fails over it in one line that says what to do.
func TestBranchInTheWay(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles("true", "true", ""))
	g.git("branch covey")
	_, err := g.orchestrator(Options{}).Run(t.Context())
	want := "can be created in " + g.git("rev-parse --show-toplevel") + ": covey is in the way; `git branch -m covey NAME`"
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "update-ref") {
		t.Errorf("%v, want %q in it", err, want)
	}
	g.git("branch -m covey covey/crew") // which leaves room beside it
	g.want(g.run(Options{}), 0, "all work is done")
}

// TestFreshGoesOnOnItsBranch: a branch whose copy somebody removed is the team's still
// when it is begun afresh.
func TestFreshGoesOnOnItsBranch(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles(commitIn("ana"), "true", ""))
	g.want(g.run(Options{}), 0, "")
	if err := os.RemoveAll(g.tree("ana")); err != nil {
		t.Fatal(err)
	}
	g.write("ana.yaml", "steps: [{call: [{tool: TaskUpdate, input: {taskId: '1', status: completed}}]}, {say: done, times: -1}]\n")
	g.want(g.run(Options{Fresh: true}), 0, "")
	if got := g.git("log --format=%s main..covey/crew/ana"); got != "ana" ||
		!g.warned("covey/crew/ana existed already") {
		t.Errorf("her branch has %q", got)
	}
}

// TestSubfolder: the workspace is a folder of its repository.
func TestSubfolder(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles("pwd >&2; echo x >new; git add new; git commit -qm new", "true", ""))
	sub := filepath.Join(g.dir, "apps", "till")
	if err := os.MkdirAll(filepath.Dir(sub), 0o755); err != nil {
		t.Fatal(err)
	}
	g.git("mv -k * .gitignore apps/ 2>/dev/null; mkdir apps/till; git mv -k apps/* apps/.gitignore apps/till/; git commit -qam moved")
	g.dir = sub
	g.want(g.run(Options{}), 0, "")
	if got := g.git("show --name-only --format= covey/crew/ana"); got != "apps/till/new" {
		t.Errorf("ana committed %q", got)
	}
}

// TestTwoTeamsOfOneName work in two copies of one repository, each on branches of
// its own.
func TestTwoTeamsOfOneName(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles(commitIn("ana"), "true", ""))
	g.want(g.run(Options{}), 0, "")
	second := filepath.Join(t.TempDir(), "second")
	g.git("worktree add -q -b other '" + second + "'")
	g.dir = second
	g.want(g.run(Options{}), 0, "")
	branches := strings.Fields(g.git("branch --list 'covey/*/ana' --format='%(refname:short)'"))
	if len(branches) != 2 || branches[0] != "covey/"+filepath.Base(g.place().Dir)+"/ana" ||
		branches[1] != "covey/crew/ana" {
		t.Errorf("%q", branches)
	}
}

// TestSharedFromNowOn: work does not vanish from sight when its member is moved into
// the workspace.
func TestSharedFromNowOn(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles("echo draft >draft", commitIn("ben"), ""))
	g.want(g.run(Options{}), 0, "")
	g.git("merge -q covey/crew/ben")
	g.write("team.yaml", strings.NewReplacer("Ship it.", "Ship it again.", "self_claim: false",
		"self_claim: false, isolation: shared").
		Replace(g.read("team.yaml")))
	g.want(g.run(Options{}), 0, "")
	if got := g.ops(); !slices.Equal(got, []string{"kept ana", "removed ben"}) ||
		!g.warned("ana works in the workspace from now on") {
		t.Errorf("%q", got)
	}
	if read(t, g.tree("ana", "draft")) != "draft\n" {
		t.Error("the draft is gone")
	}
}

// TestHalfMadeCopy: what git was killed over is thrown away and made again.
func TestHalfMadeCopy(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles("cat shared.txt >copy", "true", ""))
	if err := g.place().Create(); err != nil {
		t.Fatal(err)
	}
	g.git("worktree add -q --no-checkout --lock --reason initializing -b covey/crew/ana '" + real(t,
		g.place().Dir) + "/worktrees/ana'")
	g.want(g.run(Options{}), 0, "all work is done")
	if got := read(t, g.tree("ana", "copy")); got != "one\ntwo\nthree\n" {
		t.Errorf("ana saw %q", got)
	}
}

// TestRemovesNothingOfOthers: copies and branches that are not the team's stay, and
// so does the user's stash.
func TestRemovesNothingOfOthers(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles("true", "true", ""))
	mine := filepath.Join(t.TempDir(), "mine")
	g.git("worktree add -q -b mine '" + mine + "'")
	g.git("branch covey/other/x; git branch idle")
	g.write("shared.txt", "put aside\n")
	g.git("stash -q")
	g.write("shared.txt", "of the user\n")
	before := g.git("branch --list; git stash list; git status --porcelain; git worktree list")
	g.want(g.run(Options{}), 0, "")
	g.want(g.run(Options{Fresh: true}), 0, "")
	if after := g.git("branch --list; git stash list; git status --porcelain; git worktree list"); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	if read(t, filepath.Join(mine, "shared.txt")) != "one\ntwo\nthree\n" || g.read("shared.txt") != "of the user\n" {
		t.Error("files of the user have changed")
	}
}

// TestEnclosedRepositories: what no commit can hold is never removed.
func TestEnclosedRepositories(t *testing.T) {
	t.Parallel()
	g := newGrove(t, groveFiles("git init -q own && echo x >own/x", "true", ""))
	g.want(g.run(Options{}), 0, "")
	if read(t, g.tree("ana", "own", "x")) != "x\n" {
		t.Error("it was removed when the team was done")
	}
	_, err := g.orchestrator(Options{Fresh: true}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "git worktree remove --force") ||
		!strings.Contains(err.Error(), "own") {
		t.Errorf("--fresh: %v", err)
	}
	if read(t, g.tree("ana", "own", "x")) != "x\n" {
		t.Error("--fresh removed it")
	}
}
