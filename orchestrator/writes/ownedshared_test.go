package writes_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// sharing is a team whose members work in one folder: dev owns docs alone, and ben src.
// dev's steps and more keys of the spec are the test's, ben has nothing to do.
func sharing(steps, more string) map[string]string {
	files := map[string]string{
		"team.yaml": strings.NewReplacer(
			"  dev: {model: dev}\n", "  dev: {model: dev, owns: [docs/**]}\n  ben: {model: ben, owns: [src/**]}\n",
			"lead: {model: lead}\n", "defaults: {permission_mode: bypassPermissions, isolation: shared, self_claim: false}\nlead: {model: lead}\n",
			"  dev: {provider: script, script: dev.yaml}\n",
			"  dev: {provider: script, script: dev.yaml}\n  ben: {provider: script, script: ben.yaml}\n",
		).Replace(testkit.PairSpec) + "tasks: [{id: a, subject: A, owner: dev}]\n" + more,
		"lead.yaml": teamtest.LeadLetsWork, "ben.yaml": "steps: [{say: fine, times: -1}]\n",
		"dev.yaml": "steps:\n" + steps, ".gitignore": "*.log\n",
	}
	for _, name := range []string{"docs/a.md", "src/b.go", "main.go", "go.mod"} {
		files[name] = name + "\n"
	}
	return files
}

// grounds runs a test in a folder that is a git repository, and in one that is none.
func grounds(t *testing.T, files map[string]string, test func(t *testing.T, r *teamtest.Rig)) {
	t.Run("git", func(t *testing.T) { test(t, teamtest.NewGrove(t, files).Rig) })
	t.Run("no git", func(t *testing.T) { test(t, teamtest.NewRig(t, files)) })
}

// shell is a step with a command.
func shell(command string) string {
	return "  - call: [{tool: Bash, input: {command: " + teamtest.YAMLText(command) + "}}]\n"
}

const restOfScript = "  - {say: done, times: -1}\n"

// TestSharedWritesOutside: what a shell has written where its member may not write is
// found when the task is completed, in every way in which one can write; once it is taken
// back the work goes on.
func TestSharedWritesOutside(t *testing.T) {
	t.Parallel()
	back := `cp saved.log main.go; rm -f new.go go.mod2 link; mv -f mod.log go.mod; chmod 755 main.go`
	for name, tt := range map[string]struct{ do, want string }{
		"changed":  {`echo 2 >main.go`, "- main.go"},
		"new":      {`echo n >new.go`, "- new.go"},
		"deleted":  {`rm main.go`, "- main.go"},
		"renamed":  {`mv go.mod go.mod2`, "- go.mod\n- go.mod2"},
		"mode":     {`chmod 600 main.go`, "- main.go"},
		"link":     {`ln -s /etc/passwd link`, "- link"},
		"and back": {`echo 2 >src/b.go; echo src/b.go >src/b.go; touch main.go; echo n >new.go`, "- new.go"},
	} {
		t.Run(name, func(t *testing.T) {
			steps := shell(`cp -p main.go saved.log; cp -p go.mod mod.log; echo ok >docs/a.md; `+tt.do) +
				completesOne + "  - when: \"files that are not yours\"\n" + strings.Replace(shell(back),
				"  - call", "    call", 1) +
				completesOne + restOfScript
			grounds(t, sharing(steps, ""), func(t *testing.T, r *teamtest.Rig) {
				r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
				said := r.Feedbacks()
				if len(said) != 1 || !strings.Contains(said[0],
					"You have changed files that are not yours:\n"+tt.want+"\nYou may write to docs/**.") {
					t.Errorf("said %q\n%s", said, teamtest.Show(r.Lines.All()))
				}
				if got := r.Read("docs/a.md"); got != "ok\n" {
					t.Errorf("its own file is %q", got)
				}
			})
		})
	}
}

// TestSharedLeftBehind: what a command has left running writes in its member's name, also
// after the command.
func TestSharedLeftBehind(t *testing.T) {
	t.Parallel()
	steps := shell(`(sleep 0.15; echo 2 >main.go) >/dev/null 2>&1 & true`) +
		"  - {delay: 600ms, call: [{tool: TaskUpdate, input: {taskId: \"1\", status: completed}}]}\n  - when: not yours\n" +
		strings.Replace(shell(`echo main.go >main.go`), "  - call", "    call", 1) + completesOne + restOfScript
	r := teamtest.NewRig(t, sharing(steps, ""))
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if said := r.Feedbacks(); len(said) != 1 || !strings.Contains(said[0], "not yours:\n- main.go\n") {
		t.Errorf("said %q", said)
	}
}

// TestSharedFeedback: at the turn end the feedback names the files, whose they are, and
// how they are put back without anything else; what was changed before is not its own.
func TestSharedFeedback(t *testing.T) {
	t.Parallel()
	steps := shell(`echo 2 >src/b.go; echo 2 >>go.mod; echo n >"new'.go"`) + "  - {say: I believe that is it.}\n" +
		"  - when: not yours\n" + strings.Replace(shell(`git restore -- src; sed -i '$d' go.mod; rm new*; git status --porcelain >seen.log`),
		"  - call", "    call", 1) + completesOne + restOfScript
	g := teamtest.NewGrove(t, sharing(steps, ""))
	if err := os.WriteFile(filepath.Join(g.Dir, "go.mod"), []byte("a person was here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.Want(g.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	head := g.Git("rev-parse HEAD")
	said := g.Feedbacks()
	want := "Stop hook feedback:\n[owned-files]: You have changed files that are not yours:\n- go.mod\n- new'.go\n- src/b.go (ben may write there)\n" +
		"You may write to docs/**. Undo that with `git restore --source=" + head[:12] + ` --worktree -- 'new'\''.go' 'src/b.go'` +
		"` (`rm` for files that are new). Restore the state at the start of your turn (or remove what is new): go.mod. Or ask your lead"
	if len(said) != 1 || !strings.HasPrefix(said[0], want) {
		t.Errorf("said %q\nwant %q", said, want)
	}
	if got := g.Read("go.mod") + g.Read("seen.log"); got != "a person was here\n M go.mod\n" {
		t.Errorf("left %q", got)
	}
}

// TestSharedWithoutAnEnd: who does not take it back is refused as often as by any other
// gate, then it needs attention, and a person who lets it go on lets the files stay.
func TestSharedWithoutAnEnd(t *testing.T) {
	t.Parallel()
	steps := shell(`echo 2 >main.go`) + `  - {say: no., times: 3}
  - when: You may go on
    call: [{tool: TaskUpdate, input: {taskId: "1", status: completed}}]
` + restOfScript
	files := sharing(steps, "keep: true\n")
	files["team.yaml"] = strings.Replace(files["team.yaml"], "owns: [docs/**]",
		"owns: [docs/**], limits: {stop_block_cap: 2}", 1)
	u := teamtest.Start(teamtest.NewRig(t, files), &teamtest.HandClock{})
	r := u.Asked(requests.AskAttention)
	if !strings.Contains(r.Text, "refused its turn end 3 times in a row") || !strings.Contains(r.Text,
		"files that it may not: main.go") {
		t.Errorf("the inbox says %q", r.Text)
	}
	if _, err := u.Client().AnswerInbox(t.Context(), api.InboxAnswer{ID: r.ID, Approve: true,
		Feedback: "You may go on."}); err != nil {
		t.Fatal(err)
	}
	u.Lines.Wait(t, "the task's end", func(l events.Line) bool {
		return l.Type == "task" && strings.Contains(string(l.Data), `"op":"completed"`)
	})
	if _, err := u.Client().Down(t.Context(), "enough"); err != nil {
		t.Fatal(err)
	}
	u.End()
	if n := len(u.Feedbacks()); n != 3 {
		t.Errorf("refused %d times\n%s", n, teamtest.Show(u.Lines.All()))
	}
}

// TestSharedBeside: what somebody else may have written who may is nobody's breach, be it
// by a call, a shell or a program, and what a person changes while a member thinks is not
// the member's.
func TestSharedBeside(t *testing.T) {
	t.Parallel()
	wait := "while ! test -e %.log; do sleep 0.01; done; "
	steps := shell(strings.ReplaceAll("touch one.log; "+wait, "%",
		"two")+"echo mine >docs/a.md") + "  - {say: looking}\n" + completesOne + restOfScript
	for name, ben := range map[string]string{
		"shell": shell(strings.ReplaceAll(wait, "%", "one") + "echo 2 >src/b.go; touch two.log"),
		"call": shell(strings.ReplaceAll(wait, "%",
			"one")) + "  - call: [{tool: Write, input: {file_path: src/new.go, content: x}}]\n" +
			shell("touch two.log"),
	} {
		t.Run(name, func(t *testing.T) {
			files := sharing(steps, "")
			files["team.yaml"] = strings.Replace(files["team.yaml"], "owner: dev}]",
				"owner: dev}, {id: b, subject: B, owner: ben}]", 1)
			files["ben.yaml"] = "steps:\n" + ben + strings.Replace(completesOne, `"1"`, `"2"`, 1) + restOfScript
			grounds(t, files, func(t *testing.T, r *teamtest.Rig) {
				r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
				if said := append(r.Feedbacks(), r.Warnings("written to")...); len(said) > 0 {
					t.Errorf("said %q", said)
				}
			})
		})
	}
}

// TestSharedUnclear: where several could have written what none of them may, people are
// told, and nobody is held up.
func TestSharedUnclear(t *testing.T) {
	t.Parallel()
	meet := "touch %1.log; while ! test -e %2.log; do sleep 0.01; done; "
	files := sharing(shell(strings.NewReplacer("%1", "one", "%2",
		"two").Replace(meet)+"echo 2 >main.go; touch done.log")+
		completesOne+restOfScript, "")
	files["team.yaml"] = strings.Replace(files["team.yaml"], "owner: dev}]",
		"owner: dev}, {id: b, subject: B, owner: ben}]", 1)
	files["ben.yaml"] = "steps:\n" + shell(strings.NewReplacer("%1", "two", "%2",
		"one").Replace(meet)+"while ! test -e done.log; do sleep 0.01; done") +
		strings.Replace(completesOne, `"1"`, `"2"`, 1) + restOfScript
	grounds(t, files, func(t *testing.T, r *teamtest.Rig) {
		r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
		if said := r.Feedbacks(); len(said) > 0 {
			t.Errorf("refused %q", said)
		}
		told := r.Warnings("main.go was written by one of ben, dev, none of whom may")
		if len(told) == 0 {
			t.Errorf("people were told %q", r.Warnings(""))
		}
	})
}

// TestSharedPerson: what a person edits while a member thinks is not the member's, though
// nobody else works.
func TestSharedPerson(t *testing.T) {
	t.Parallel()
	steps := shell("echo 2 >docs/a.md") +
		"  - {delay: 1s, call: [{tool: TaskUpdate, input: {taskId: \"1\", status: completed}}]}\n" + restOfScript
	grounds(t, sharing(steps, ""), func(t *testing.T, r *teamtest.Rig) {
		u := teamtest.Start(r, &teamtest.HandClock{})
		u.Lines.Wait(t, "dev to think about what the shell said", func(l events.Line) bool {
			return l.Type == "pass_started" && l.Member == "dev" && strings.Contains(string(l.Data), "2")
		})
		time.Sleep(50 * time.Millisecond) // nobody is so fast that the file's clock could not tell
		if err := os.WriteFile(filepath.Join(r.Dir, "main.go"), []byte("a person's\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		u.Want(u.End(), orchestrator.CodeDone, "all work is done")
		if said := r.Feedbacks(); len(said) > 0 {
			t.Errorf("refused %q", said)
		}
		if got := r.Read("main.go"); got != "a person's\n" {
			t.Errorf("the person's file is %q", got)
		}
	})
}

// TestSharedProtected: what a shell has written to protected files a person is asked
// about; a yes lets them stay, a no is feedback, and with nobody to ask it is a no.
func TestSharedProtected(t *testing.T) {
	t.Parallel()
	steps := func(after string) string {
		return shell("echo 2 >docs/p.md") + completesOne + "  - {say: I wait., times: 1}\n" + after + restOfScript
	}
	yes := "  - when: may stay\n" + strings.Replace(completesOne, "  - call", "    call", 1)
	no := "  - when: not allowed\n" + strings.Replace(shell("rm docs/p.md"), "  - call", "    call", 1) + completesOne
	t.Run("yes", func(t *testing.T) {
		u := teamtest.Start(teamtest.NewGrove(t, sharing(steps(yes), "protect: [docs/p*]\non_ask: wait\n")).Rig, &teamtest.HandClock{})
		r := u.Asked(requests.AskMerge)
		if r.To != actors.Operator || !strings.Contains(r.Text,
			"dev has changed protected files: docs/p.md; may they stay?") {
			t.Errorf("asked %+v", r)
		}
		testkit.Eventually(t, "dev to wait in ps", func() bool {
			return u.Member("dev").WaitsFor == "a person's approval of protected files (docs/p.md)"
		})
		if _, err := u.Client().AnswerInbox(t.Context(), api.InboxAnswer{ID: r.ID, Approve: true}); err != nil {
			t.Fatal(err)
		}
		u.Want(u.End(), orchestrator.CodeDone, "all work is done")
		if got := u.Read("docs/p.md"); got != "2\n" {
			t.Errorf("it was allowed, and the file is %q", got)
		}
	})
	t.Run("no", func(t *testing.T) {
		u := teamtest.Start(teamtest.NewRig(t, sharing(steps(no), "protect: [docs/p*]\non_ask: wait\n")), &teamtest.HandClock{})
		r := u.Asked(requests.AskMerge)
		if _, err := u.Client().AnswerInbox(t.Context(), api.InboxAnswer{ID: r.ID,
			Feedback: "it is the law"}); err != nil {
			t.Fatal(err)
		}
		u.Want(u.End(), orchestrator.CodeDone, "all work is done")
		if _, err := os.Stat(filepath.Join(u.Dir, "docs/p.md")); err == nil {
			t.Error("it was refused, and the file is there")
		}
	})
	t.Run("nobody", func(t *testing.T) {
		r := teamtest.NewRig(t, sharing(strings.Replace(steps(strings.Replace(no, "not allowed", "nobody to ask now",
			1)), "  - {say: I wait., times: 1}\n", "", 1),
			"protect: [docs/p*]\n"))
		r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
		if said := r.Feedbacks(); len(said) != 1 || !strings.Contains(said[0],
			"You have changed protected files:\n- docs/p.md\n") {
			t.Errorf("said %q", said)
		}
	})
}

// TestSharedKilled: a turn that goes on after kill -9 knows how things stood when it
// began, and what was written before the kill is found.
func TestSharedKilled(t *testing.T) {
	steps := shell("echo 2 >main.go") + shell("true") + completesOne + "  - when: not yours\n" +
		strings.Replace(shell("echo main.go >main.go; chmod 755 main.go"), "  - call", "    call",
			1) + completesOne + restOfScript
	grounds(t, sharing(steps, ""), func(t *testing.T, r *teamtest.Rig) {
		t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
		u := teamtest.Start(r, &teamtest.HandClock{})
		u.Lines.Wait(t, "dev's shell", func(l events.Line) bool {
			return l.Type == "tool_result" &&
				l.Member == "dev"
		})
		n := slices.IndexFunc(u.Lines.All(), func(l events.Line) bool {
			return l.Type == "tool_result" &&
				l.Member == "dev"
		})
		u.End()
		r2 := teamtest.NewRig(t, sharing(steps, ""))
		if _, err := os.Stat(filepath.Join(r.Dir, ".git")); err == nil {
			r2 = teamtest.NewGrove(t, sharing(steps, "")).Rig
		}
		if r2.RunAndKill(n + 2) {
			t.Skip("it was too fast to be killed")
		}
		r2.Want(r2.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
		var said []string // by either run: the first may have come so far
		for l, err := range state.ReadJournal(r2.Place().Journal(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if l.Type == "hook_feedback" {
				said = append(said, string(l.Data))
			}
		}
		// Twice, if the kill came between the line and the turn that it begins.
		others := func(text string) bool { return !strings.Contains(text, `not yours:\n- main.go\n`) }
		if len(said) == 0 || slices.ContainsFunc(said, others) {
			t.Errorf("said %q, warned %q\n%s", said, r2.Warnings(""), teamtest.Show(r2.Lines.All()))
		}
	})
}
