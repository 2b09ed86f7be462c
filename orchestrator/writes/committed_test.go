package writes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
)

// repo is a git repository for tests, in which dev works alone.
type repo struct {
	t    *testing.T
	dir  string
	w    *Watch
	team *folder
	dev  *members.Member
}

func newRepo(t *testing.T) repo {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(t.TempDir(), "none"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	r := repo{t: t, dir: t.TempDir()}
	r.git("init", "-q")
	r.git("config", "user.email", "dev@example.invalid")
	r.git("config", "user.name", "dev")
	r.write("a.txt", "one\n")
	r.git("add", ".")
	r.git("commit", "-q", "-m", "first")
	return r.begin(1)
}

// begin begins a turn of dev's in another run of its team.
func (r repo) begin(turn int) repo {
	r.t.Helper()
	scratch := filepath.Join(r.dir+".state", "scratch")
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		r.t.Fatal(err)
	}
	r.team = &folder{ownCopies: true, asked: true}
	r.dev = r.team.sit(configs.Member{Name: "dev"}, r.dir)
	r.w = New(Deps{
		Scratch: scratch, Home: filepath.Dir(r.dir + ".state"),
		Team:    func() *configs.Team { return &configs.Team{Workspace: r.dir} },
		Members: r.team,
		CopyOf: func(string) (top string, inGit bool) {
			if r.team.ownCopies {
				top = r.dir
			}
			return top, r.team.ownCopies
		},
		Asks: func(policy string) bool { return r.team.asked && policy == CommittedPolicy },
	})
	r.see(turn, events.TurnStarted{})
	return r
}

// folder is who works in a repo, and how.
type folder struct {
	members   []*members.Member
	ownCopies bool // in git copies of their own
	asked     bool // a gate names the policy
}

func (f *folder) MemberOf(in hooks.Input) string { _, name := in.Member(); return name }
func (f *folder) Turn(string) int                { return 0 }

func (f *folder) Member(name string) (*members.Member, bool) {
	for _, m := range f.members {
		if m.Name == name {
			return m, true
		}
	}
	return nil, false
}

func (f *folder) sit(m configs.Member, dir string) *members.Member {
	member := &members.Member{Member: &m, Dir: dir}
	f.members = append(f.members, member)
	return member
}

// see tells of something in a turn of dev's.
func (r repo) see(turn int, d events.Data) {
	_, err := r.w.Complete(r.t.Context(), r.dev, events.Event{Turn: turn, Data: d})
	testkit.Must(r.t, err)
}

func (r repo) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (r repo) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// ask asks the policy about the repository.
func (r repo) ask() hooks.Result {
	in := hooks.Input{Common: hooks.Common{Cwd: r.dir}, Payload: hooks.StopInput{TeammateName: "dev"}}
	return r.w.Committed(r.t.Context(), in)
}

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

func TestWorkCommitted(t *testing.T) {
	r := newRepo(t)
	if got := r.ask(); got.Outcome != hooks.Success {
		t.Errorf("a clean repository: %+v", got)
	}
	r.write("b.txt", "new")
	if got := r.ask(); got.Outcome != hooks.Blocking || !strings.Contains(got.Feedback, "?? b.txt") {
		t.Errorf("a new file: %+v", got)
	}
	r.git("add", "b.txt")
	if got := r.ask(); got.Outcome != hooks.Blocking || !strings.Contains(got.Feedback, "A  b.txt") {
		t.Errorf("a staged file: %+v", got)
	}
	r.git("commit", "-q", "-m", "second")
	r.write("a.txt", "two\n")
	if got := r.ask(); got.Outcome != hooks.Blocking || !strings.Contains(got.Feedback, " M a.txt") {
		t.Errorf("a changed file: %+v", got)
	}
	r.git("checkout", "-q", "a.txt")
	r.write(".gitignore", "*.log\n")
	r.git("add", ".gitignore")
	r.git("commit", "-q", "-m", "third")
	r.write("x.log", "")
	if got := r.ask(); got.Outcome != hooks.Success {
		t.Errorf("an ignored file: %+v", got)
	}
}

func TestWorkCommittedOutsideOfARepository(t *testing.T) {
	t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
	r := repo{t: t, dir: t.TempDir()}.begin(1)
	if got := r.ask(); got.Outcome != hooks.NonBlockingError || !strings.Contains(got.Warning,
		"no git repository") {
		t.Errorf("no repository: %+v", got)
	}
	r.dir = filepath.Join(r.dir, "gone")
	if got := r.ask(); got.Outcome != hooks.NonBlockingError || got.Warning == "" {
		t.Errorf("no folder: %+v", got)
	}
	r = newRepo(t)
	t.Setenv("PATH", t.TempDir())
	if got := r.ask(); got.Outcome != hooks.NonBlockingError || !strings.Contains(got.Warning, "git") {
		t.Errorf("no git: %+v", got)
	}
}

// TestWorkCommittedRunsNothingOfTheRepository: whoever can write a file can
// write .git/config. Each trap is set off by a plain git status first, so that
// the test cannot pass because git has changed its ways.
func TestWorkCommittedRunsNothingOfTheRepository(t *testing.T) {
	traps := map[string]func(r repo, program string){
		"core.fsmonitor": func(r repo, program string) { r.git("config", "core.fsmonitor", program) },
		"filter.x.clean": func(r repo, program string) {
			r.git("config", "filter.x.clean", program)
			r.git("config", "filter.x.required", "true")
			r.write(".git/info/attributes", "*.txt filter=x\n")
			r.write("a.txt", "two\n") // git looks into what was touched only
		},
		"a filter from an included file": func(r repo, program string) {
			r.git("config", "-f", ".git/more", "filter.x.clean", program)
			r.git("config", "include.path", "more")
			r.write(".git/info/attributes", "*.txt filter=x\n")
			r.write("a.txt", "two\n")
		},
	}
	for name, set := range traps {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			ran := filepath.Join(t.TempDir(), "ran")
			program := filepath.Join(t.TempDir(), "trap.sh")
			if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch '"+ran+"'\ncat\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			set(r, program)
			r.git("status")
			if err := os.Remove(ran); err != nil {
				t.Fatalf("the trap is none: %v", err)
			}
			r.write("a.txt", "three\n")
			if got := r.ask(); got.Outcome != hooks.Blocking || !strings.Contains(got.Feedback, " M a.txt") {
				t.Errorf("the policy says %+v", got)
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("the repository's program ran")
			}
		})
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
	r.see(1, events.TurnEnded{})
	for _, name := range []string{"a.txt", "user.txt", "new/user.txt"} {
		r.write(name, "the user's")
	}
	r.see(2, events.TurnStarted{})
	r.want("the user's own files", "")
	r.write("new/mine.txt", "mine")
	r.want("one of two in a new folder", "?? new/mine.txt")
	r.write("a.txt", "both")
	r.want("a file of the user's", " M a.txt\n?? new/mine.txt")
	r.write("a.txt", "the user's")
	r.want("put back", "?? new/mine.txt")
	r.see(2, events.TurnEnded{})
	r.want("between turns", "?? new/mine.txt")
	r.see(3, events.TurnStarted{})
	r.want("the next turn", "?? new/mine.txt")
	r.git("add", "new/mine.txt")
	r.want("staged", "A  new/mine.txt")
	r.git("commit", "-q", "-m", "mine")
	r.want("committed", "")
	r.write("left.txt", "mine")
	r.see(3, events.TurnEnded{})
	r.write("left.txt", "the user's by now")
	r.see(4, events.TurnStarted{})
	r.want("taken over", "")
}

// TestWorkCommittedAfterARestart: a turn that goes on in another process is held to what it
// changed before; a later turn is not held to what happened since an earlier one was cut off.
func TestWorkCommittedAfterARestart(t *testing.T) {
	r := newRepo(t)
	r.see(1, events.TurnEnded{})
	r.write("user.txt", "the user's")
	r.see(2, events.TurnStarted{})
	r.write("mine.txt", "mine")
	r = r.begin(2)
	r.want("the same turn", "?? mine.txt")
	r.see(2, events.TurnEnded{})
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
// member's own calls name, until it is committed or put back, also after a restart.
func TestWorkCommittedInASharedFolder(t *testing.T) {
	r := newRepo(t)
	shared := func(turn int) {
		r = r.begin(turn)
		r.team.ownCopies = false
	}
	shared(2)
	call := func(id, tool, file string, failed bool) {
		t.Helper()
		named := texts.Encode(map[string]string{"file_path": filepath.Join(r.dir, file)})
		r.see(2, events.ToolCalled{ID: id, Name: tool, Input: named})
		r.write(file, "text")
		r.see(2, events.ToolReturned{ID: id, Name: tool, IsError: failed})
	}
	r.write("user.txt", "the user's")
	call("1", "Bash", "shell.txt", false)
	call("2", "Write", "refused.txt", true)
	r.want("before it has named a file", "")
	call("3", "Write", "named.txt", false)
	call("4", "Edit", "a.txt", false)
	r.want("after it has named two", " M a.txt\n?? named.txt")
	shared(3)
	r.want("after a restart", " M a.txt\n?? named.txt")
	r.git("add", "named.txt")
	r.git("commit", "-q", "-m", "mine")
	r.git("checkout", "-q", "a.txt")
	r.want("committed and put back", "")
	r.write("named.txt", "the user's")
	r.want("changed by somebody else since", "")
	r.team.asked = false
	call("5", "Write", "unasked.txt", false)
	r.team.asked = true
	r.want("named when no gate asked", "")
}

// TestWorkCommittedUnasked: nothing is looked at where no gate names the policy, and one
// that comes in the middle of a turn holds from then on.
func TestWorkCommittedUnasked(t *testing.T) {
	r := newRepo(t)
	r.see(1, events.TurnEnded{})
	r.team.asked = false
	r.see(2, events.TurnStarted{})
	if data, err := os.ReadFile(filepath.Join(r.dir+".state", "scratch",
		"dev.turns.json")); strings.Contains(string(data), `"from"`) {
		t.Errorf("it was looked at: %s %v", data, err)
	}
	r.write("early.txt", "")
	r.team.asked = true
	r.want("when it comes", "")
	r.write("late.txt", "")
	r.want("later", "?? late.txt")
}
