package workcopies_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks/requests"
)

// TestSetup: a working copy gets the ignored files that the spec names, and its
// commands run in it, by the workspace's scripts.
func TestSetup(t *testing.T) {
	t.Parallel()
	files := teamtest.GroveFiles("cat set-up.log .env sub/.env", "true", `worktree:
  setup: [./tools/setup.sh one, 'echo "$COVEY_MEMBER" >>set-up.log']
  include: ["**/.env", "*.txt", "link.log", "new.md"]
`)
	files["tools/setup.sh"] = "#!/bin/sh\necho committed $1 >>set-up.log\n"
	g := teamtest.NewGrove(t, files)
	write(g, "tools/setup.sh", "#!/bin/sh\necho trusted $1 >>set-up.log\n")
	write(g, ".env", "KEY=1\n")
	write(g, "sub/.env", "KEY=2\n")
	write(g, "new.md", "not ignored\n")
	secret := filepath.Join(t.TempDir(), "secret.log")
	if err := os.WriteFile(secret, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(g.Dir, "link.log")); err != nil {
		t.Fatal(err)
	}
	g.Run(orchestrator.Options{Keep: false})
	results := teamtest.Of[events.ToolReturned](g.Rig, "tool_result")
	if !slices.ContainsFunc(results, func(r events.ToolReturned) bool {
		return strings.Contains(r.Content, "trusted one\nana\nKEY=1\nKEY=2")
	}) {
		t.Errorf("ana found %+v\n%s", results, teamtest.Show(g.Lines.All()))
	}
	if !warned(g, "git does not ignore new.md, shared.txt") ||
		!warned(g, "the workspace has uncommitted changes") {
		t.Errorf("warnings: %+v", teamtest.Of[events.Warning](g.Rig, "warning"))
	}
	for _, name := range []string{"new.md", "link.log"} {
		if _, err := os.Lstat(g.Tree("ana", name)); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
}

// TestSetupMendedInTheBase: a copy whose setup failed begins anew with what was committed
// since, unless it holds work.
func TestSetupMendedInTheBase(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		setup, left string // left: a file that a kill during the setup leaves
		code        int
	}{
		"clean": {"test -e cure", "", orchestrator.CodeDone}, "with work": {"echo x >work; test -e cure", "", orchestrator.CodeUnfinished},
		"cut off": {"test -e cure", ".covey-part", orchestrator.CodeDone},
	} {
		t.Run(name, func(t *testing.T) {
			g := teamtest.NewGrove(t, teamtest.GroveFiles("true", "true", "worktree: {setup: ['"+tt.setup+"']}\n"))
			g.Want(g.Run(orchestrator.Options{}), orchestrator.CodeUnfinished, "")
			write(g, "cure", "")
			g.Git("add cure")
			g.Git("commit -qm cure")
			if tt.code == orchestrator.CodeDone { // nothing is there to merge
				base := g.Git("-C " + g.Tree("ana") + " rev-parse HEAD")
				if _, err := g.MergeNow(t.Context(), api.MergeRequest{All: true}); err == nil {
					t.Error("something was merged")
				}
				if after := g.Git("-C " + g.Tree("ana") + " rev-parse HEAD"); after != base {
					t.Errorf("a run that only merges made the copy anew: %s, %s", base, after)
				}
			}
			if tt.left != "" {
				if err := os.WriteFile(g.Tree("ana", tt.left), []byte("half"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			g.Want(g.Run(orchestrator.Options{}), tt.code, "")
			if _, err := os.Stat(g.Tree("ana", "work")); tt.code != orchestrator.CodeDone && err != nil {
				t.Errorf("the work is gone: %v", err)
			}
		})
	}
}

// TestWorktreeHooks: a hook makes the copies in git's place, and is told when one
// goes.
func TestWorktreeHooks(t *testing.T) {
	t.Parallel()
	files := teamtest.GroveFiles("pwd; echo x >x", "true", `hooks:
  WorktreeCreate:
    - hooks: [{type: command, command: './make.sh'}]
  WorktreeRemove:
    - hooks: [{type: command, command: 'cat >>"$CLAUDE_PROJECT_DIR"/removed.log'}]
`)
	for member, task := range map[string]string{"ana": "1", "ben": "2"} {
		files[member+".yaml"] = strings.Replace(files[member+".yaml"], "  - {say: done,",
			`  - {when: "approve.*true", call: [{tool: TaskUpdate, input: {taskId: "`+task+`", status: completed}}]}`+"\n  - {say: done,", 1)
	}
	g := teamtest.NewGrove(t, files)
	places := t.TempDir()
	write(g, "make.sh", `#!/bin/sh
in=$(cat)
name=$(echo "$in" | sed 's/.*"name":"\([^"]*\)".*/\1/')
echo "$in" >>"$CLAUDE_PROJECT_DIR"/made.log
echo noise
mkdir -p `+places+`/$name && printf '\033[32m`+places+`/%s\033[0m\n' "$name"
`)
	// git cannot merge from there, so the tasks are not done before a person has taken the work.
	end := g.Run(orchestrator.Options{})
	if end.Code != orchestrator.CodeUnfinished || !strings.Contains(end.Reason, "who waits for a person's approval of task 1") ||
		!slices.ContainsFunc(end.Problems, func(p string) bool { return strings.Contains(p, teamtest.RealPath(t, places)+"/ana") }) {
		t.Errorf("ended with %d, %s: %q", end.Code, end.Reason, end.Problems)
	}
	if len(teamtest.Of[events.HookFinished](g.Rig, "hook_finished")) < 3 {
		t.Error("the journal does not tell of the hooks")
	}
	for _, id := range []string{"r1", "r2"} {
		if _, err := inbox.AnswerStopped(t.Context(), g.Place(), id, requests.Ruling{Approve: true}); err != nil {
			t.Fatal(err)
		}
	}
	g.Want(g.Run(orchestrator.Options{}), 0, "")
	if got := testkit.Read(t, filepath.Join(places, "ana", "x")); got != "x\n" {
		t.Errorf("ana wrote %q", got)
	}
	made := strings.Split(strings.TrimSpace(g.Read("made.log")), "\n")
	var in map[string]any
	if len(made) != 3 || json.Unmarshal([]byte(made[1]), &in) != nil {
		t.Fatalf("made: %q", made)
	}
	if in["hook_event_name"] != "WorktreeCreate" || in["name"] != "ana" || in["cwd"] != g.Dir ||
		in["session_id"] == "" {
		t.Errorf("the hook's input: %v", in)
	}
	// On the next run the folders are there; with --fresh the hook is told to remove them.
	write(g, "team.yaml", strings.Replace(g.Read("team.yaml"), "Ship it.", "Ship it again.", 1))
	g.Want(g.Run(orchestrator.Options{}), 0, "")
	if again := strings.Count(g.Read("made.log"), "\n"); again != 3 {
		t.Errorf("%d copies were made", again)
	}
	if end := g.Run(orchestrator.Options{Fresh: true}); end.Code != orchestrator.CodeUnfinished { // nobody has taken the work
		t.Errorf("afresh it ended with %d, %s", end.Code, end.Reason)
	}
	if got := g.Read("removed.log"); !strings.Contains(got, `"worktree_path":"`+teamtest.RealPath(t, places)+`/ana"`) {
		t.Errorf("removed: %s", got)
	}
}

// TestWorktreeHookBranches: work in copies of the repository that a hook makes is merged, whether they
// are on no branch or on one whose name has no folder.
func TestWorktreeHookBranches(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, teamtest.GroveFiles("echo a >a", "echo b >b", "merge: {into: main}\n"+`hooks:
  WorktreeCreate:
    - hooks: [{type: command, command: './make.sh'}]
`))
	places := t.TempDir()
	write(g, "make.sh", `#!/bin/sh
name=$(sed 's/.*"name":"\([^"]*\)".*/\1/')
case $name in ben) how="-b plain";; *) how=--detach;; esac
git worktree add -q $how `+places+`/$name && echo `+places+`/$name
`)
	g.Git("branch -M main")
	g.Want(g.Run(orchestrator.Options{}), 0, "")
	for file, want := range map[string]string{"a": "a", "b": "b"} {
		if got := g.Git("show main:" + file); got != want {
			t.Errorf("main has %s: %q", file, got)
		}
	}
	if got := g.Git("for-each-ref --format='%(refname:short)' refs/heads"); got != "main\nplain" {
		t.Errorf("the branches are %q", got)
	}
	// What belongs to no task is not dropped without a word.
	g = teamtest.NewGrove(t, teamtest.GroveFiles("git commit -qm loose --allow-empty; echo a >a; git add a; git commit -qm more", "true", `hooks:
  WorktreeCreate:
    - hooks: [{type: command, command: './make.sh'}]
`))
	other := t.TempDir()
	write(g, "make.sh", `#!/bin/sh
name=$(sed 's/.*"name":"\([^"]*\)".*/\1/')
git worktree add -q --detach `+other+`/$name && echo `+other+`/$name
`)
	write(g, "ana.yaml", strings.Replace(g.Read("ana.yaml"), "status: completed", "subject: A2", 1))
	if end := g.Run(orchestrator.Options{}); !slices.ContainsFunc(end.Unmerged, func(s string) bool { return strings.Contains(s, "ana has 2 commits") }) {
		t.Errorf("unmerged is %q", end.Unmerged)
	}
}

// TestWorktreeHookFails: no copy, no start.
func TestWorktreeHookFails(t *testing.T) {
	t.Parallel()
	for command, says := range map[string]string{
		"echo no room >&2; exit 1": "no room", "true": "named no folder", "echo /nowhere/at/all": "/nowhere/at/all",
		`echo "$CLAUDE_PROJECT_DIR"`: "workspace",
	} {
		g := teamtest.NewGrove(t, teamtest.GroveFiles("true", "true",
			"hooks: {WorktreeCreate: [{hooks: [{type: command, command: "+teamtest.YAMLText(command)+"}]}]}\n"))
		_, err := g.Orchestrator(orchestrator.Options{}).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "working copy") {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// TestHooksOfTheWorkspace: a member may change its own copy of a hook's script; what
// runs is the workspace's, on the member's files.
func TestHooksOfTheWorkspace(t *testing.T) {
	t.Parallel()
	files := teamtest.GroveFiles("printf '#!/bin/sh\\nexit 0\\n' >policy/no.sh; git commit -qam forged; touch seen", "true", `hooks:
  PostToolUse:
    - matcher: Bash
      hooks: [{type: command, command: 'sh policy/no.sh'}]
`)
	files["policy/no.sh"] = "#!/bin/sh\nls seen && echo trusted >>\"$CLAUDE_PROJECT_DIR\"/ran.log && pwd >>\"$CLAUDE_PROJECT_DIR\"/ran.log\nexit 0\n"
	g := teamtest.NewGrove(t, files)
	g.Want(g.Run(orchestrator.Options{}), 0, "")
	if got := g.Read("ran.log"); got != "trusted\n"+teamtest.RealPath(t, g.Tree("ana"))+"\n" {
		t.Errorf("what ran said %q", got)
	}
}

// TestMaxDisk: no copy is made beyond the limit.
func TestMaxDisk(t *testing.T) {
	t.Parallel()
	g := teamtest.NewGrove(t, teamtest.GroveFiles("true", "true", "worktree: {max_disk: 1kB}\n"))
	_, err := g.Orchestrator(orchestrator.Options{}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "exceeds worktree.max_disk, 1.0 kB") || orchestrator.FaultOf(err) != orchestrator.FaultDiskFull {
		t.Errorf("%v", err)
	}
}

// TestGrowsLive: a second writer that comes while the team runs has a working copy,
// from what the workspace is on by then; one that leaves takes none of its work along.
func TestGrowsLive(t *testing.T) {
	t.Parallel()
	files := teamtest.GroveFiles("cat shared.txt >copy", "true", "keep: true\n")
	spec := files["team.yaml"]
	files["team.yaml"] = strings.NewReplacer("lead: {model: lead}\n", "lead: {model: lead, tools: []}\n",
		"  ana: {model: ana}\n", "",
		"{id: a, subject: A, owner: ana}, ", "").Replace(spec)
	files["ana.yaml"] = strings.ReplaceAll(files["ana.yaml"], `taskId: "1"`, `taskId: "2"`)
	files["ben.yaml"] = strings.ReplaceAll(files["ben.yaml"], `taskId: "2"`, `taskId: "1"`)
	g := teamtest.NewGrove(t, files)
	l := &teamtest.Living{Underway: teamtest.Start(g.Rig, &teamtest.HandClock{})}
	g.Lines.Wait(t, "ben's task", func(l events.Line) bool {
		return l.Type == "task" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
	if ops(g) != nil {
		t.Errorf("one writer: %q", ops(g))
	}
	var err error
	if l.Client, err = api.Dial(t.Context(), g.Place()); err != nil {
		t.Fatal(err)
	}
	defer l.Client.Close()
	write(g, "shared.txt", "later\n")
	g.Git("commit -qam later")
	both := strings.NewReplacer("lead: {model: lead}\n", "lead: {model: lead, tools: []}\n",
		"{id: a, subject: A, owner: ana}, {id: b, subject: B, owner: ben}", "{id: b, subject: B, owner: ben}, {id: a, subject: A, owner: ana}").Replace(spec)
	if _, err := l.Rewrite(both); err != nil {
		t.Fatal(err)
	}
	g.Lines.Wait(t, "ana's task", func(l events.Line) bool {
		return l.Type == "task" && l.Member == "ana" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
	if got := testkit.Read(t, g.Tree("ana", "copy")); got != "later\n" {
		t.Errorf("ana began from %q", got)
	}
	if _, err := l.Rewrite(strings.Replace(both, "  ana: {model: ana}\n", "", 1)); err == nil {
		t.Error("a task of ana's stays in a spec without her")
	}
	if _, err := l.Rewrite(strings.NewReplacer("  ana: {model: ana}\n", "",
		", {id: a, subject: A, owner: ana}", "").Replace(both)); err != nil {
		t.Fatal(err)
	}
	g.Lines.Wait(t, "what becomes of ana's copy", func(l events.Line) bool {
		return l.Type == "worktree" && l.Member == "ana" && strings.Contains(string(l.Data), `"op":"kept"`)
	})
	l.Down()
}

// TestPorts: the setup, the member's shell, its gates and the gates of merges have the ports of their
// working copy, and nobody has those of another.
func TestPorts(t *testing.T) {
	t.Parallel()
	say := func(what string) string {
		return `echo "` + what + ` $PWD $COVEY_PORT_0 $COVEY_PORT_1 $COVEY_PORT_2" >>"$COVEY_WORKSPACE"/said.log`
	}
	work := say("shell") + "; echo $COVEY_MEMBER >$COVEY_MEMBER.txt; git add -A; git commit -qm work"
	g := teamtest.NewGrove(t, teamtest.GroveFiles(work, work, `worktree: {ports: 2, setup: [`+teamtest.YAMLText(say("setup"))+`]}
gates: {task: [`+teamtest.YAMLText(say("gate"))+`]}
merge: {into: main}
`))
	g.Want(g.Run(orchestrator.Options{}), 0, "all work is done")
	ports, by := map[string]string{}, map[string]string{}
	var kinds []string
	for _, line := range strings.Split(strings.TrimSpace(testkit.Read(t, filepath.Join(g.Dir, "said.log"))), "\n") {
		word := strings.Fields(line)
		if len(word) != 4 || word[2] == word[3] {
			t.Fatalf("%q has not two ports", line)
		}
		where := filepath.Base(word[1])
		kinds = append(kinds, where+" "+word[0])
		for _, port := range word[2:] {
			if other, taken := by[port]; taken && other != where {
				t.Errorf("%s and %s have port %s", where, other, port)
			}
			by[port] = where
		}
		if was, known := ports[where]; known && was != word[2]+word[3] {
			t.Errorf("the ports of %s changed: %q", where, line)
		}
		ports[where] = word[2] + word[3]
	}
	slices.Sort(kinds)
	want := []string{"ana gate", "ana setup", "ana shell", "ben gate", "ben setup", "ben shell", "lead setup", "merge gate", "merge setup"}
	if got := slices.Compact(kinds); !slices.Equal(got, want) {
		t.Errorf("ports were named to %q", got)
	}
}
