package orchestrator

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/teammate/agent"
)

// blamed are the lines of git's status that the policy holds against dev; empty: none.
func (r repo) blamed() string {
	r.t.Helper()
	return blamedIn(r.t, r.ask())
}

// blamedIn are the lines of git's status in a verdict.
func blamedIn(t *testing.T, got hooks.Result) string {
	t.Helper()
	if got.Outcome == hooks.Success {
		return ""
	}
	_, list, ok := strings.Cut(got.Feedback, "not committed:\n")
	list, _, end := strings.Cut(list, "\nCommit what belongs to your task")
	if !ok || !end || got.Outcome != hooks.Blocking {
		t.Errorf("the policy says %+v", got)
	}
	return list
}

// want checks what the policy holds against dev.
func (r repo) want(when, lines string) {
	r.t.Helper()
	if got := r.blamed(); got != lines {
		r.t.Errorf("%s: blamed for %q, want %q", when, got, lines)
	}
}

// TestWorkCommittedSinceTheTurnBegan: what stood uncommitted in the working copy when the
// turn began is not the member's, until the member changes it; what the member leaves in
// one turn it still answers for in the next, unless somebody else has seen to it.
func TestWorkCommittedSinceTheTurnBegan(t *testing.T) {
	r := newRepo(t)
	if err := os.Mkdir(filepath.Join(r.dir, "new"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.see(1, agent.TurnEnded{})
	for _, name := range []string{"a.txt", "user.txt", "new/user.txt"} {
		r.write(name, "the user's")
	}
	r.see(2, agent.TurnStarted{})
	r.want("the user's own files", "")
	r.write("new/mine.txt", "mine")
	r.want("one of two in a new folder", "?? new/mine.txt")
	r.write("a.txt", "both")
	r.want("a file of the user's", " M a.txt\n?? new/mine.txt")
	r.write("a.txt", "the user's")
	r.want("put back", "?? new/mine.txt")
	r.see(2, agent.TurnEnded{})
	r.want("between turns", "?? new/mine.txt")
	r.see(3, agent.TurnStarted{})
	r.want("the next turn", "?? new/mine.txt")
	r.git("add", "new/mine.txt")
	r.want("staged", "A  new/mine.txt")
	r.git("commit", "-q", "-m", "mine")
	r.want("committed", "")
	r.write("left.txt", "mine")
	r.see(3, agent.TurnEnded{})
	r.write("left.txt", "the user's by now")
	r.see(4, agent.TurnStarted{})
	r.want("taken over", "")
}

// TestWorkCommittedAfterARestart: a turn that goes on in another process is held to what it
// changed before; a later turn is not held to what happened since an earlier one was cut off.
func TestWorkCommittedAfterARestart(t *testing.T) {
	r := newRepo(t)
	r.see(1, agent.TurnEnded{})
	r.write("user.txt", "the user's")
	r.see(2, agent.TurnStarted{})
	r.write("mine.txt", "mine")
	r = r.begin(2)
	r.want("the same turn", "?? mine.txt")
	r.see(2, agent.TurnEnded{})
	r = r.begin(3)
	r.want("the next turn", "?? mine.txt")
	r.write("later.txt", "the user's")
	r = r.begin(5)
	r.want("another turn", "?? mine.txt")
	if err := os.WriteFile(filepath.Join(r.dir+".state", "scratch", "dev.turns.json"), []byte(`{"turn"`),
		0o600); err != nil {
		t.Fatal(err)
	}
	r = r.begin(5)
	r.want("a damaged record", "")
}

// TestWorkCommittedInASharedFolder: in a folder that others write in too, it is what the
// member's own calls wrote.
func TestWorkCommittedInASharedFolder(t *testing.T) {
	r := newRepo(t)
	s, _ := r.c.seat("dev")
	r.c.writes.copyOf = func(string) (bool, bool) { return false, false }
	s.member.Agent.Kind = configs.Builtin
	r.c.sit(&seat{member: &roster.Member{Member: &configs.Member{Name: "ops", Agent: configs.Agent{Kind: configs.ACP}}, Dir: r.dir}, crew: r.c})
	ops, _ := r.c.seat("ops")
	see := func(s *seat, d agent.EventData) { r.c.writes.see(t.Context(), s, agent.Event{Turn: 2, Data: d}) }
	call := func(id, file string) {
		see(s, agent.ToolCalled{ID: id, Name: "Bash"})
		r.write(file, "dev's")
		see(s, agent.ToolReturned{ID: id, Name: "Bash"})
		time.Sleep(60 * time.Millisecond) // the kernel's clock for files may be that much behind
	}
	see(s, agent.TurnStarted{})
	call("1", "dev.txt")
	r.write("user.txt", "the user's, while dev thinks")
	time.Sleep(60 * time.Millisecond)
	r.want("alone", "?? dev.txt")
	see(ops, agent.TurnStarted{})
	call("2", "either.txt")
	named := rawjson.Encode(map[string]string{"file_path": filepath.Join(r.dir, "named.txt")})
	see(s, agent.ToolCalled{ID: "3", Name: "Write", Input: named})
	see(s, agent.PermissionDecided{ID: "3", Tool: "Write", Decision: "allow"})
	r.write("named.txt", "dev's")
	see(s, agent.ToolReturned{ID: "3", Name: "Write"})
	r.want("beside a program", "?? dev.txt\n?? named.txt")
	see(ops, agent.TurnEnded{})
	see(s, agent.TurnEnded{})
	r.want("when it is over", "?? dev.txt\n?? named.txt")
}

// TestWorkCommittedUnasked: nothing is looked at where no gate names the policy, and one
// that comes in the middle of a turn holds from then on.
func TestWorkCommittedUnasked(t *testing.T) {
	r := newRepo(t)
	r.see(1, agent.TurnEnded{})
	asked := r.c.writes.changes.asked
	r.c.writes.changes.asked = func() bool { return false }
	r.see(2, agent.TurnStarted{})
	if data, err := os.ReadFile(filepath.Join(r.dir+".state", "scratch",
		"dev.turns.json")); strings.Contains(string(data), `"from"`) {
		t.Errorf("it was looked at: %s %v", data, err)
	}
	r.write("early.txt", "")
	r.c.writes.changes.asked = asked
	r.want("when it comes", "")
	r.write("late.txt", "")
	r.want("later", "?? late.txt")

	policy := hooks.Settings{hooks.Stop: {{Hooks: []hooks.Handler{{Policy: workCommitted}}}}}
	if !namesPolicy([]settings.Source{{}, {Settings: policy}}, workCommitted) ||
		namesPolicy([]settings.Source{{Settings: policy}}, "x") {
		t.Error("who names a policy is wrong")
	}
}

// wantBlamed checks what the gates said, in order: a list of lines of git's status each.
func (r *rig) wantBlamed(want ...string) {
	r.t.Helper()
	var got []string
	for _, text := range r.feedbacks() {
		got = append(got, blamedIn(r.t, hooks.Result{Outcome: hooks.Blocking, Feedback: text}))
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("blamed for %q, want %q\n%s", got, want, show(r.lines.all()))
	}
}

// leave puts files into the workspace that nobody has committed.
func (r *rig) leave(names ...string) {
	r.t.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte("a person's\n"), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

// thenCommits is a step that answers the policy.
func thenCommits(file string) string {
	return "  - when: not committed\n" + strings.Replace(shell("git add "+file+" && git commit -qm mine -- "+file), "  - call", "    call", 1)
}

// TestWorkCommittedOfTheLead: the lead works in the user's folder, and is not asked to
// commit what the user has there.
func TestWorkCommittedOfTheLead(t *testing.T) {
	t.Parallel()
	g := newGrove(t, map[string]string{
		"team.yaml": pairSpec + "defaults: {permission_mode: bypassPermissions}\ngates: {stop: [{policy: work-committed}]}\n",
		"lead.yaml": "steps:\n" + shell("echo 1 >lead.txt") + "  - {say: That is it.}\n" + thenCommits("lead.txt") + restOfScript,
		"dev.yaml":  "steps: [{say: fine, times: -1}]\n", "a.txt": "a\n",
	})
	g.leave("a.txt", "notes.txt")
	g.want(g.run(Options{}), CodeDone, "all work is done")
	g.wantBlamed("?? lead.txt")
	if got := g.git("status --porcelain"); got != "M a.txt\n?? notes.txt" {
		t.Errorf("left %q", got)
	}
}

// TestWorkCommittedInACopy: what worktree.setup leaves in a member's working copy is not
// the member's.
func TestWorkCommittedInACopy(t *testing.T) {
	t.Parallel()
	g := newGrove(t, map[string]string{
		"team.yaml": pairSpec + "defaults: {permission_mode: bypassPermissions}\nworktree: {setup: [touch left.txt]}\n" +
			"gates: {task: [{policy: work-committed}]}\ntasks: [{id: a, subject: A, owner: dev}]\n",
		"lead.yaml": leadLetsWork,
		"dev.yaml":  "steps:\n" + shell("echo 1 >own.txt") + completesOne + thenCommits("own.txt") + completesOne + restOfScript,
	})
	g.want(g.run(Options{}), CodeDone, "all work is done")
	g.wantBlamed("?? own.txt")
	if _, err := os.Stat(g.tree("dev", "left.txt")); err != nil {
		t.Error("setup has left nothing:", err)
	}
}

// TestWorkCommittedKilled: a turn that goes on after kill -9 is held to what it wrote before
// the kill, and to nothing else.
func TestWorkCommittedKilled(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"shared", "worktree"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			wait := `touch "$COVEY_WORKSPACE/ready.log"; until [ -e "$COVEY_WORKSPACE/go.log" ]; do sleep 0.05; done`
			g := newGrove(t, map[string]string{
				"team.yaml": strings.Replace(pairSpec, "dev: {model: dev}",
					"dev: {model: dev, isolation: "+isolation+"}", 1) +
					"defaults: {permission_mode: bypassPermissions}\ngates: {task: [{policy: work-committed}]}\n" + ownedByDev,
				"lead.yaml": leadLetsWork, ".gitignore": "*.log\n",
				"dev.yaml": "steps:\n" + shell("echo 1 >own.txt") + shell(wait) + completesOne + thenCommits("own.txt") +
					completesOne + restOfScript,
			})
			g.leave("notes.txt")
			if g.runAndKill(1, func() { g.awaitFile("ready.log") }) {
				t.Fatal("the team ended before it was killed")
			}
			g.leave("go.log")
			g.want(g.run(Options{}), CodeDone, "all work is done")
			g.wantBlamed("?? own.txt")
		})
	}
}

// awaitFile waits until a program has made a file in the workspace.
func (r *rig) awaitFile(name string) {
	r.t.Helper()
	for range 20_000 {
		if _, err := os.Stat(filepath.Join(r.dir, name)); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond) // the program tells nobody
	}
	r.t.Fatalf("nobody has made %s", name)
}

// TestWorkCommittedOfPrograms: what an agent program has written in a folder that it shares
// is found whether it tells of its calls or not.
func TestWorkCommittedOfPrograms(t *testing.T) {
	const gates = "defaults: {permission_mode: bypassPermissions, isolation: shared}\ngates: {stop: [{policy: work-committed}]}\n"
	t.Run("acp", func(t *testing.T) {
		r, _ := newFakeRig(t, leadLetsWork, gates+ownedByDev,
			act{When: "not committed", Do: []string{"sneak git add named.txt sneaked.txt && git commit -qm mine -- named.txt sneaked.txt"}},
			act{When: "You own task #1", Do: []string{claims, "sneak echo 1 >sneaked.txt",
				"edit named.txt 1", finishes}})
		g := grove{r}
		g.git("init -q -b main; git config user.name dev; git config user.email dev@x; git add -A; git commit -qm first")
		g.leave("notes.txt")
		g.want(g.run(Options{}), CodeDone, "all work is done")
		g.wantBlamed("?? named.txt\n?? sneaked.txt")
	})
	t.Run("command", func(t *testing.T) {
		t.Parallel()
		g := newGrove(t, map[string]string{
			"team.yaml": strings.Replace(pairSpec, "dev: {model: dev}",
				"dev: {agent: cmd}\nagents: {cmd: {use: command, command: [sh, work.sh]}}", 1) +
				gates,
			"lead.yaml": "steps:\n  - call: [{tool: SendMessage, input: {to: dev, message: Begin.}}]\n" + restOfScript,
			"dev.yaml":  "steps:\n" + restOfScript,
			"work.sh": `case $(cat) in
*"not committed"*) git add own.txt && git commit -qm mine -- own.txt;;
*) echo 1 >own.txt;;
esac
`,
		})
		g.leave("notes.txt")
		g.want(g.run(Options{}), CodeDone, "all work is done")
		g.wantBlamed("?? own.txt")
	})
}
