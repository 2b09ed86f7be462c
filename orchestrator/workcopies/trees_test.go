package workcopies

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
)

// noHooks are those of a team without any.
type noHooks struct{}

func (noHooks) Run(context.Context, hooks.Input, func(hooks.Progress)) (hooks.Outcome, error) {
	return hooks.Outcome{}, nil
}

func (noHooks) Sources() []settings.Source { return nil }

// sh runs a shell script in a folder.
func sh(t *testing.T, dir, script string) {
	t.Helper()
	testkit.Shell(t, dir, script)
}

// grove is a team of a lead, ana and ben in a git repository, of whom ana and ben have
// working copies, and what needed attention.
type grove struct {
	*Trees
	options  Deps
	team     *configs.Team
	members  map[string]*members.Member
	attended []string
}

func newGrove(t *testing.T) *grove {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir := testkit.Folder(t)
	sh(t, dir, "git init -q -b main; echo one >shared.txt; git add -A; git commit -qm first")
	g := &grove{members: map[string]*members.Member{}, team: &configs.Team{
		Name: "crew", Workspace: dir, Lead: configs.Member{Name: "lead", Isolation: configs.Shared},
		Teammates: []configs.Member{{Name: "ana"}, {Name: "ben"}},
	}}
	g.options = Deps{
		Processes: process.New(process.Unmarked), Functions: &hooks.Registry{}, Hooks: noHooks{},
		Slots: state.NewSlots(t.TempDir(), func() int { return 0 }, func(string, events.Data) {}), Environ: os.Environ(),
		Team: func() *configs.Team { return g.team },
	}
	g.settle(t, "crew-01234567")
	testkit.Must(t, g.begin(t, g.options))
	return g
}

// attention notes that a member needs a person.
func (g *grove) attention(_ context.Context, member, why string) {
	g.attended = append(g.attended, member+": "+why)
}

// settle gives the team a state folder with a new store.
func (g *grove) settle(t *testing.T, name string) {
	t.Helper()
	p := state.Place{Dir: filepath.Join(testkit.Folder(t), name), Team: "crew", Workspace: g.team.Workspace}
	testkit.Must(t, os.MkdirAll(p.Scratch(), 0o700))
	store, err := tasks.Open(p.Store(), &tasks.Options{BlobDir: p.Blobs(), Identity: p.Identity()})
	testkit.Must(t, err)
	t.Cleanup(func() { _ = store.Close() })
	g.options.Place, g.options.Store = p, store
}

// begin begins a run: all members get their folders and are set up. What people are told stays in
// notices, because no journal runs.
func (g *grove) begin(t *testing.T, o Deps) error {
	t.Helper()
	g.Trees = New(o)
	t.Cleanup(g.Trees.Close)
	if err := g.Open(t.Context()); err != nil {
		return err
	}
	for _, m := range g.team.Members() {
		member := &members.Member{Member: &m, Lead: m.Name == "lead", Session: actors.Member{Session: m.Name}}
		g.members[m.Name] = member
		if err := g.AssignDir(t.Context(), member); err != nil {
			return err
		}
		if err := g.Ready(t.Context(), member); err != nil {
			return err
		}
	}
	return g.Retire(t.Context())
}

// end ends a run.
func (g *grove) end(t *testing.T) {
	t.Helper()
	g.Tidy(t.Context())
	g.Close()
}

// TestOf: who works in the workspace has no copy, nor has who left the team; work that
// would be missed stays.
func TestOf(t *testing.T) {
	g := newGrove(t)
	if _, own := g.Of("lead"); own || g.members["lead"].Dir != g.team.Workspace {
		t.Error("the lead has a copy")
	}
	own, has := g.Of("ana")
	if !has || own.Branch != "covey/crew/ana" || own.Root != g.members["ana"].Dir || own.Root == g.team.Workspace {
		t.Errorf("ana's copy: %+v", own)
	}
	sh(t, own.Root, "echo draft >draft")
	g.team.Teammates = g.team.Teammates[1:]
	g.Forget("ana")
	if err := g.Retire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, has := g.Of("ana"); has || !IsFolder(own.Top) {
		t.Error("ana still has her copy, or her draft is gone")
	}
	// ben moves into the workspace; nothing in his copy would be missed.
	ben := *g.members["ben"].Member
	ben.Isolation = configs.Shared
	was, _ := g.Of("ben")
	m := &members.Member{Member: &ben}
	if err := g.AssignDir(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if _, has := g.Of("ben"); has || m.Dir != g.team.Workspace || IsFolder(was.Top) {
		t.Error("ben still has his copy")
	}
}

// TestStatus is what ps shows of working copies.
func TestStatus(t *testing.T) {
	g := newGrove(t)
	ana, _ := g.Of("ana")
	ben, _ := g.Of("ben")
	sh(t, ana.Root, "git commit -q --allow-empty -m hers; echo x >x; echo two >shared.txt")
	sh(t, ben.Root, "git commit -q --allow-empty -m his")
	g.publish(t, "ben")
	g.git(t, "merge -q covey/crew/ben")
	got := g.Status(t.Context(), []string{"lead", "ana", "ben", "nobody"})
	if got[0] != nil || got[3] != nil {
		t.Errorf("they have no copies: %+v", got)
	}
	if want := (Status{Path: ana.Top, Branch: "covey/crew/ana", Dirty: 2, Ahead: 1, Added: 1, Removed: 1}); got[1] == nil || *got[1] != want {
		t.Errorf("ana: %+v, want %+v", got[1], want)
	}
	if want := (Status{Path: ben.Top, Branch: "covey/crew/ben"}); got[2] == nil || *got[2] != want {
		t.Errorf("ben, merged: %+v", got[2])
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got := g.Status(ended, []string{"ben"}); got[0] == nil || !got[0].Unknown {
		t.Errorf("git had no time to answer: %+v", got)
	}
	if got := (&Trees{}).Status(t.Context(), []string{"ana"}); got[0] != nil {
		t.Errorf("a team without copies: %+v", got)
	}
}

// TestMeasure: beyond max_disk, the member with the largest copy needs attention, once.
func TestMeasure(t *testing.T) {
	g := newGrove(t)
	ana, _ := g.Of("ana")
	sh(t, ana.Root, "head -c 5000 /dev/zero >big")
	for _, c := range []struct {
		limit     int64
		was, over bool
		attended  int
	}{{1 << 30, false, false, 0}, {4000, true, true, 0}, {4000, false, true, 1}, {0, true, false, 1}} {
		g.team.Worktree.MaxDisk = c.limit
		if over := g.measure(t.Context(), c.was, g.attention); over != c.over || len(g.attended) != c.attended {
			t.Errorf("with a limit of %d: %v, %q", c.limit, over, g.attended)
		}
	}
	if !strings.Contains(g.attended[0], "ana: the members' working copies take") ||
		!strings.Contains(g.attended[0], ana.Root) {
		t.Errorf("%q", g.attended)
	}
}

// TestTexts: each is told where it works, and who works on which branch.
func TestTexts(t *testing.T) {
	g := newGrove(t)
	text := g.PlaceText(g.members["ana"], g.team.Workspace)
	for _, want := range []string{"You work in " + g.members["ana"].Dir, "on the branch covey/crew/ana", "git fetch covey"} {
		if !strings.Contains(text, want) {
			t.Errorf("ana is not told %q:\n%s", want, text)
		}
	}
	if text := g.PlaceText(g.members["lead"], g.team.Workspace); text != "You work in "+g.team.Workspace+"." {
		t.Errorf("the lead is told %q", text)
	}
	if text := g.BranchesText(); !strings.Contains(text, "- ana: covey/crew/ana\n- ben: covey/crew/ben\n") {
		t.Errorf("the branches: %q", text)
	}
	if text := (&Trees{}).BranchesText(); text != "" {
		t.Errorf("without copies: %q", text)
	}
}

func TestAuthorEnv(t *testing.T) {
	g := newGrove(t)
	t.Setenv("GIT_AUTHOR_EMAIL", "")
	if env := strings.Join(g.AuthorEnv("ana"), " "); !strings.Contains(env, "GIT_AUTHOR_EMAIL=ana@crew.covey.invalid") {
		t.Errorf("%q", env)
	}
	if env := g.AuthorEnv("lead"); env != nil {
		t.Errorf("in the workspace: %q", env)
	}
	t.Setenv("GIT_AUTHOR_EMAIL", "x@y")
	if env := g.AuthorEnv("ana"); env != nil {
		t.Errorf("the environment names an author: %q", env)
	}
	t.Setenv("GIT_AUTHOR_EMAIL", "")
	g.user = worktree.Person{Name: "u", Email: "u@x"}
	env := g.AuthorEnv("ana")
	if len(env) != 1 {
		t.Fatalf("git knows the user, and gets %q", env)
	}
	for dir, want := range map[string]string{g.team.Workspace: "ana@crew.covey.invalid", g.members["ana"].Dir: "u@x"} {
		cmd := exec.Command("git", "config", "user.email")
		sh(t, dir, "git config user.email u@x")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		if got, err := cmd.Output(); err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("in %s: %q, %v", dir, got, err)
		}
	}
}

func TestIsolationOf(t *testing.T) {
	w := configs.Member{Name: "w"}
	reader := configs.Member{Name: "r", Tools: []string{"Read", "Grep"}}
	planner := configs.Member{Name: "p", PermissionMode: configs.Plan}
	teamOnly := configs.Member{Name: "t", Tools: []string{}}
	sharing := configs.Member{Name: "s", Isolation: configs.Shared}
	apart := configs.Member{Name: "a", Isolation: configs.InWorktree}
	gated := configs.Member{Name: "g", PlanRequired: true}
	crew := configs.Member{Name: "c", Agent: configs.Agent{Kind: configs.ACP, Command: []string{"/bin/covey", "-C", "c", "acp"}}}
	for _, c := range []struct {
		what string
		of   configs.Member
		with []configs.Member
		able bool
		want configs.Isolation
	}{
		{"two writers", w, []configs.Member{w, w}, true, configs.InWorktree},
		{"one writer", w, []configs.Member{w, reader, planner, teamOnly}, true, configs.Shared},
		{"no repository", w, []configs.Member{w, w}, false, configs.Shared},
		{"a reader among writers", reader, []configs.Member{w, w, reader}, true, configs.Shared},
		{"a planner among writers", planner, []configs.Member{w, w, planner}, true, configs.Shared},
		{"a writer whose plan is to be approved", gated, []configs.Member{w, gated}, true, configs.InWorktree},
		{"beside one who opted out", w, []configs.Member{w, sharing}, true, configs.InWorktree},
		{"who opted out", sharing, []configs.Member{w, sharing}, true, configs.Shared},
		{"who demands it, alone", apart, []configs.Member{apart}, true, configs.InWorktree},
		{"who demands it, in vain", apart, []configs.Member{apart}, false, configs.InWorktree},
		{"a team", crew, []configs.Member{w, w, crew}, true, configs.Shared},
		{"Bash writes", configs.Member{Tools: []string{"Bash"}}, []configs.Member{w,
			{Tools: []string{"Bash"}}}, true, configs.InWorktree},
	} {
		team := &configs.Team{Lead: c.with[0], Teammates: c.with[1:]}
		if got := isolationOf(c.of, team, c.able); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// TestIsolationOfMany: a large team is not copied for each of its members.
func TestIsolationOfMany(t *testing.T) {
	team := &configs.Team{Teammates: make([]configs.Member, 10_000)}
	if n := testing.AllocsPerRun(10, func() { isolationOf(team.Teammates[1], team, true) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
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

func TestUnmergedText(t *testing.T) {
	for want, u := range map[string]unmerged{
		"": {}, "2 uncommitted files": {Changed: 2},
		"1 uncommitted files, 3 unmerged commits": {Changed: 1, Commits: 3},
		"nested repositories: a, b, c and 1 more": {Beyond: []string{"a", "b", "c", "d"}},
	} {
		if u.String() != want || u.none() != (want == "") {
			t.Errorf("%+v: %q, %v", u, u.String(), u.none())
		}
	}
}

func TestBytesText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 2_500_000: "2.5 MB",
		5e9: "5.0 GB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestSaid(t *testing.T) {
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	testkit.Must(t, err)
	defer log.Close()
	for _, c := range []struct {
		write string
		from  int64
		want  string
	}{{"abc", 3, ""}, {"", 0, "abc"}, {" d\xff\n", 1, "bc d"}, {strings.Repeat("é", saidAtMost), 0, strings.Repeat("é", saidAtMost/2)}} {
		_, err := log.WriteString(c.write)
		testkit.Must(t, err)
		if got := said(log, c.from); got != c.want {
			t.Errorf("from %d: %q, want %q", c.from, got, c.want)
		}
	}
}
