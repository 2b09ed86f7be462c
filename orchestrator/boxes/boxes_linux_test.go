package boxes

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
)

// level1 is a system that has landlock and no namespaces, level0 one that has nothing.
func level1() sandbox.Support {
	return sandbox.Support{Landlock: 7, Seccomp: true, Missing: missing("namespaces")}
}
func level2() sandbox.Support {
	return sandbox.Support{Landlock: 7, Seccomp: true, Namespaces: true, Layers: true}
}
func level0() sandbox.Support { return sandbox.Support{Missing: missing("landlock")} }

func missing(part string) []sandbox.Lacks {
	return []sandbox.Lacks{{Part: part, Why: "there is no " + part, Cure: "get it"}}
}

// teamOf is a team with a lead that works in the workspace and ana with a working copy.
func teamOf(t *testing.T, level sandbox.Want) (*configs.Team, state.Place) {
	t.Helper()
	s := configs.Sandbox{Level: level}
	work := t.TempDir()
	place, err := state.PlaceIn(t.TempDir(), "crew", work)
	testkit.Must(t, err)
	return &configs.Team{
		Name: "crew", Workspace: place.Workspace, Sandbox: s, GateSandbox: s,
		Lead:      configs.Member{Name: "lead", Sandbox: s},
		Teammates: []configs.Member{{Name: "ana", Isolation: configs.InWorktree, Sandbox: s}},
	}, place
}

// boxesOf are the boxes of a team on a system; events get to told.
func boxesOf(team *configs.Team, place state.Place, copies map[string]string, support func() sandbox.Support, told *[]events.Data) *Boxes {
	return New(Deps{
		Place: place, Bin: "/opt/covey", Environ: []string{"HOME=/home/ana", "PATH=/usr/bin:/home/ana/.tool/bin:/home/ana/.local/bin", "GOFLAGS=-v"},
		Team: func() *configs.Team { return team }, Support: support,
		CopyOf: func(member string) (string, bool) { return copies[member], true },
		Tell:   func(_ string, e events.Data) { *told = append(*told, e) },
	})
}

// TestMemberBox: what a member's box grants, and what it never does.
func TestMemberBox(t *testing.T) {
	team, place := teamOf(t, sandbox.Best)
	copy := t.TempDir()
	var told []events.Data
	b := boxesOf(team, place, map[string]string{"ana": copy}, level1, &told)
	ana := &members.Member{Member: &team.Teammates[0], Dir: copy}
	testkit.Must(t, b.Ready(context.Background(), ana))
	kit := b.Of("ana")
	p := kit.Box().Policy()
	granted := func(path string, dirs []string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return texts.Within(dir, path) })
	}
	for path, want := range map[string]string{
		copy + "/a": "write", "/usr/bin/env": "read", "/opt/covey": "read", "/home/ana/.tool/lib/x": "read", "/home/ana/.local/bin/x": "read",
		filepath.Join(place.Dir, "boxes", "ana", "tmp"): "write", filepath.Join(place.Dir, "cache", "x"): "write",
		filepath.Dir(place.MemberSocket("ana")): "read", place.Scratch() + "/ana/x": "read",
		// never
		"/home/ana/.ssh/id": "", "/home/ana/.local/share/x": "", place.Workspace + "/.env": "", place.Store(): "", place.Home() + "/trust.json": "",
		filepath.Dir(place.Socket()): "", filepath.Dir(place.MemberSocket("bob")): "", place.Scratch() + "/bob/x": "", "/tmp/x": "", "/root/x": "",
	} {
		got := ""
		switch {
		case granted(path, append(p.Write, p.Temp)):
			got = "write"
		case granted(path, p.Read):
			got = "read"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for _, want := range []string{"TMPDIR=" + filepath.Join(place.Dir, "boxes", "ana", "tmp"), "GOCACHE=" + place.Dir + "/cache/go-build", "GOFLAGS=-v -modcacherw"} {
		if !slices.Contains(kit.Env(), want) {
			t.Errorf("the environment lacks %s: %v", want, kit.Env())
		}
	}
	if e, ok := told[0].(events.Sandboxed); !ok || e.Level != 1 || len(e.Lost) > 0 || e.Policy == "" {
		t.Errorf("told: %+v", told)
	}
	testkit.Must(t, b.Left(context.Background(), "ana"))
	if b.Of("ana") != nil {
		t.Error("a member that has left has a box")
	}
}

// TestGitGrants: a copy has what it borrows, whatever its member writes of that, a linked worktree its own part of the
// repository, and the configuration of a repository that all use is read-only.
func TestGitGrants(t *testing.T) {
	dir := t.TempDir()
	git := func(at string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = at
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	work := filepath.Join(dir, "work")
	git(dir, "init", "-q", "origin")
	git(dir+"/origin", "commit", "-q", "--allow-empty", "-m", "x")
	git(dir, "clone", "-q", "--shared", "origin", "work")
	place := state.Place{Dir: filepath.Join(dir, "state", "crew-1"), Team: "crew", Workspace: work}
	testkit.Must(t, os.MkdirAll(place.Worktrees(), 0o700))
	git(work, "clone", "-q", "--bare", "--shared", work, place.Dir+"/base.git")
	for _, name := range []string{"clone", "liar", "fake", "pipe"} {
		git(place.Worktrees(), "clone", "-q", "--shared", place.Dir+"/base.git", name)
	}
	git(work, "worktree", "add", "-q", "-b", "covey/crew/ana", filepath.Join(place.Worktrees(), "linked"))
	write := func(name, text string) {
		t.Helper()
		testkit.Must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		testkit.Must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	// What members could write to be granted more.
	liar, lied := place.Worktrees()+"/liar/", filepath.Join(dir, "home")
	write(lied+"/.ssh/objects/x", "")
	write(liar+".git/objects/info/alternates", lied+"/.ssh/objects\n/objects\n")
	if g := grantsOf(work, false, place); !slices.Contains(g.read, filepath.Join(dir, "origin/.git/objects")) { // the first box
		t.Errorf("without what it borrows: %v", g.read)
	}
	write(work+"/.git/objects/info/alternates", lied+"/.ssh/objects\n")
	fake := place.Worktrees() + "/fake"
	testkit.Must(t, os.RemoveAll(fake+"/.git"))
	write(fake+"/.git", "gitdir: evil\n")
	testkit.Must(t, os.RemoveAll(place.Worktrees()+"/pipe/.git"))
	testkit.Must(t, unix.Mkfifo(place.Worktrees()+"/pipe/.git", 0o600)) // nobody waits for who writes to it
	write(fake+"/evil/commondir", lied)
	write(fake+"/evil/gitdir", fake+"/.git")
	for _, c := range []struct {
		dir                            string
		own                            bool
		read, write, readOnly, nowhere string // one path of each
	}{
		{work, false, "origin/.git/objects", "work/.git/objects", "work/.git/config", "home/.ssh/objects/x"},
		{place.Worktrees() + "/clone", true, "state/crew-1/base.git/refs", "state/crew-1/worktrees/clone/.git/config", "", "work/.git/config"},
		{place.Worktrees() + "/clone/sub", true, "work/.git/objects", "state/crew-1/worktrees/clone/x", "", "work/x"},
		{place.Worktrees() + "/clone", true, "origin/.git/objects", "state/crew-1/worktrees/clone/x", "", "origin/x"},
		{place.Worktrees() + "/linked", true, "work/.git/config", "work/.git/worktrees/linked", "work/.git/objects/info", "work/x"},
		{place.Worktrees() + "/linked", true, "work/.git/refs/heads/main", "work/.git/refs/heads/covey/crew", "", "linked2"},
		{place.Worktrees() + "/liar", true, "state/crew-1/base.git/refs", "", "", "home/.ssh/x"},
		{place.Worktrees() + "/fake", true, "state/crew-1/base.git/refs", "", "", "home/x"},
		{place.Worktrees() + "/pipe", true, "state/crew-1/base.git/refs", "", "", "home/x"},
	} {
		g := grantsOf(c.dir, c.own, place)
		for list, path := range map[*[]string]string{&g.read: c.read, &g.write: c.write, &g.readOnly: c.readOnly} {
			if path != "" && !slices.ContainsFunc(*list, func(have string) bool {
				return texts.Within(have, filepath.Join(dir, path))
			}) {
				t.Errorf("%s: %s is not among %v", c.dir, path, *list)
			}
		}
		if path := filepath.Join(dir, c.nowhere); c.nowhere != "" &&
			slices.ContainsFunc(slices.Concat(g.read, g.write), func(have string) bool { return texts.Within(have, path) }) {
			t.Errorf("%s: %s is granted: %+v", c.dir, path, g)
		}
	}
}

// TestOwns: in a folder that others use, too, commands write only where their member owns files.
func TestOwns(t *testing.T) {
	team, place := teamOf(t, sandbox.Best)
	for _, name := range []string{"src/deep", "docs", ".git"} {
		testkit.Must(t, os.MkdirAll(filepath.Join(place.Workspace, name), 0o700))
	}
	testkit.Must(t, os.WriteFile(place.Workspace+"/one.txt", nil, 0o600))
	m := &team.Teammates[0]
	m.Isolation = configs.Shared
	for _, c := range []struct {
		owns       []string
		write, not string
	}{
		{nil, "any", ""},
		{[]string{}, ".git/index", "any"},
		{[]string{"src/**"}, "src/deep/x", "docs/x"},
		{[]string{"src/deep", "one.txt"}, "one.txt", "src/x"},
		{[]string{"docs/*.md", "src/new/x.go"}, "docs/x", "one.txt"},
		{[]string{"src/new/x.go"}, "src/new", "docs/x"},
	} {
		m.Owns = c.owns
		var told []events.Data
		b := boxesOf(team, place, nil, level1, &told)
		testkit.Must(t, b.Ready(context.Background(), &members.Member{Member: m, Dir: place.Workspace}))
		p := b.Of(m.Name).Box().Policy()
		may := func(path string, dirs []string) bool {
			return slices.ContainsFunc(dirs, func(dir string) bool {
				return texts.Within(dir, filepath.Join(place.Workspace, path))
			})
		}
		if !may(c.write, p.Write) || c.not != "" && (may(c.not, p.Write) || !may(c.not, p.Read)) {
			t.Errorf("%q may write %v and read %v", c.owns, p.Write, p.Read)
		}
	}
}

// TestGit: covey's git runs in a member's working copy in a box that holds what the member's does, and no list of hosts.
func TestGit(t *testing.T) {
	team, place := teamOf(t, sandbox.Best)
	copy := t.TempDir()
	b := boxesOf(team, place, map[string]string{"ana": copy}, level2, new([]events.Data))
	for _, c := range []struct{ network, want sandbox.Mode }{
		{"", sandbox.NetworkOn}, {sandbox.NetworkOn, sandbox.NetworkOn}, {sandbox.NetworkList, sandbox.NetworkOff}, {sandbox.NetworkOff, sandbox.NetworkOff},
	} {
		team.Teammates[0].Sandbox.Network = c.network
		box, indexes, err := b.Git("ana", copy)
		testkit.Must(t, err)
		p := box.Policy()
		if p.Network != c.want || !p.NoUnix || box.Level() != sandbox.Files || !slices.Contains(p.Write, copy) || !slices.Contains(p.Write, indexes) {
			t.Errorf("with the network %q: level %d, %+v", c.network, box.Level(), p)
		}
		for _, path := range p.Write {
			if texts.Within(place.Workspace, path) || texts.Within(path, indexes) && path != indexes {
				t.Errorf("git may write %s", path)
			}
		}
		if again, _, err := b.Git("ana", copy); again != box || err != nil {
			t.Errorf("another box for the same: %v", err)
		}
	}
	team.Teammates[0].Sandbox.Level = sandbox.Off
	if box, _, err := b.Git("ana", copy); box != nil || err != nil {
		t.Errorf("without a sandbox: %v, %v", box, err)
	}
}

// TestProtect: in a folder that others use, too, commands cannot change what the spec protects; in a working copy they can.
func TestProtect(t *testing.T) {
	team, place := teamOf(t, sandbox.Best)
	for _, name := range []string{"policy/a", "deep/x.lock", "y.LOCK", "law", "docs/p.md", "docs/q.md", "docs/sub/p.md"} {
		testkit.Put(t, place.Workspace, name, "text")
	}
	team.Protect = []string{"policy/**", "**/*.lock", "law", "absent", "docs/p*"}
	m := &team.Teammates[0]
	for copy, want := range map[string]string{"": "deep/x.lock docs/p.md law policy y.LOCK", place.Workspace: ""} {
		var told []events.Data
		b := boxesOf(team, place, map[string]string{m.Name: copy}, level2, &told)
		testkit.Must(t, b.Ready(context.Background(), &members.Member{Member: m, Dir: place.Workspace}))
		got := b.Of(m.Name).Box().Policy().ReadOnly
		for i, path := range got {
			got[i], _ = filepath.Rel(place.Workspace, path)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("in the copy %q read-only: %v", copy, got)
		}
	}
}

// TestToolchains: programs on the PATH bring the folder that they belong to, but not somebody's work or credentials.
func TestToolchains(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"tool/bin", "mine/bin", "mine/.git", ".config/git"} {
		testkit.Must(t, os.MkdirAll(filepath.Join(home, name), 0o700))
	}
	dirs := toolchains([]string{"HOME=" + home, "PATH=" + home + "/tool/bin:" + home + "/mine/bin"})
	for path, want := range map[string]bool{
		"tool/lib": true, "mine/bin/x": true, "mine/.env": false, ".config/git/config": true, ".config/git/credentials": false,
	} {
		got := slices.ContainsFunc(dirs, func(dir string) bool { return texts.Within(dir, filepath.Join(home, path)) })
		if got != want {
			t.Errorf("%s: %v, want %v: %v", path, got, want, dirs)
		}
	}
}

// TestCheck: what cannot be held is refused under required and mounts, and said under best.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		level   sandbox.Want
		support func() sandbox.Support
		change  func(*configs.Team)
		want    string
	}{
		{sandbox.Best, level0, nil, ""},
		{sandbox.Off, level0, nil, ""},
		{sandbox.Required, level1, nil, ""},
		{sandbox.Required, level0, nil, "member lead: the sandbox cannot be held: nothing is held: there is no landlock; get it"},
		{sandbox.OwnMounts, level1, nil, "gates: the sandbox cannot be held"},
		{sandbox.Required, level1, func(t *configs.Team) { t.Teammates[0].Sandbox.DenyRead = []string{".env"} },
			"member ana: the sandbox cannot be held: what is denied below a granted folder can be read"},
		{sandbox.Required, level1, func(t *configs.Team) {
			t.Lead.Sandbox, t.Teammates[0].Agent.Kind = configs.Sandbox{}, configs.ACP
		}, ""},
		{sandbox.Required, level1, func(t *configs.Team) {
			t.Lead.Sandbox, t.Teammates[0].Agent.Kind = configs.Sandbox{}, configs.ACP
			t.Teammates[0].Sandbox.Network = sandbox.NetworkOff
		}, "ana: the sandbox cannot be held: the network is not off"},
		{sandbox.Best, level1, func(t *configs.Team) { t.Teammates[0].Agent.Kind = configs.ACP }, ""},
	} {
		team, place := teamOf(t, c.level)
		if c.change != nil {
			c.change(team)
		}
		err := Check(team, place, c.support)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.level, err, c.want)
		}
	}
	team, place := teamOf(t, sandbox.Best)
	team.Teammates[0].Sandbox.Write = []string{filepath.Join(place.Home(), "x")}
	if err := Check(team, place, level1); err == nil || !strings.Contains(err.Error(), "keeps its state") {
		t.Errorf("the state may be written: %v", err)
	}
}

// TestBestSaysWhatIsLost: a box that lacks something is told with it.
func TestBestSaysWhatIsLost(t *testing.T) {
	team, place := teamOf(t, sandbox.Best)
	team.Lead.Sandbox.DenyRead = []string{".env"}
	var told []events.Data
	b := boxesOf(team, place, nil, level1, &told)
	testkit.Must(t, b.Ready(context.Background(), &members.Member{Member: &team.Lead, Lead: true, Dir: place.Workspace}))
	if e, ok := told[0].(events.Sandboxed); !ok || e.Level != 1 || len(e.Lost) != 1 || !strings.Contains(e.Lost[0], "denied below") {
		t.Errorf("told: %+v", told)
	}
}

// TestHookBoxes: gates run in boxes of their own, hooks in those of their members only on wish.
func TestHookBoxes(t *testing.T) {
	team, place := teamOf(t, sandbox.Best)
	copy := t.TempDir()
	var told []events.Data
	b := boxesOf(team, place, map[string]string{"ana": copy}, level1, &told)
	testkit.Must(t, b.Ready(context.Background(), &members.Member{Member: &team.Teammates[0], Dir: copy}))
	gate := hooks.Handler{Gate: true, Type: "command", Command: place.Workspace + "/gates/check.sh --all"}
	kit, err := b.Hook("ana", gate, copy)
	testkit.Must(t, err)
	p := kit.Box().Policy()
	if !slices.Contains(p.Write, copy) || !slices.Contains(p.Read, place.Workspace+"/gates") || slices.Contains(p.Read, place.Workspace) ||
		!slices.Contains(p.Write, filepath.Join(place.Dir, "gate-cache")) || slices.Contains(p.Write, filepath.Join(place.Dir, "cache")) {
		t.Errorf("the gate may read %v and write %v", p.Read, p.Write)
	}
	for _, h := range []hooks.Handler{{Type: "command"}, {Gate: true, Policy: "work-committed"}} {
		if kit, err := b.Hook("ana", h, copy); kit != nil || err != nil {
			t.Errorf("%+v: %v, %v", h, kit, err)
		}
	}
	// Where the system can, what a gate writes is discarded, but not in the trial copy of a merge.
	b = boxesOf(team, place, map[string]string{"ana": copy}, level2, &told)
	for _, c := range []struct {
		member, dir, discard, write string
	}{{"ana", copy + "/sub", copy, ""}, {"lead", place.Workspace, place.Workspace, ""}, {"", copy, "", copy}} {
		kit, err := b.Hook(c.member, gate, c.dir)
		testkit.Must(t, err)
		p := kit.Box().Policy()
		for path, list := range map[string][]string{c.discard: p.Discard, c.write: p.Write} {
			if path != "" && !slices.Contains(list, path) {
				t.Errorf("%+v: the gate may write %v and discards %v", c, p.Write, p.Discard)
			}
		}
		if c.discard != "" && slices.Contains(p.Write, c.discard) || !slices.Contains(p.Read, filepath.Dir(place.MemberSocket(c.member))) {
			t.Errorf("%+v: the gate may read %v and write %v", c, p.Read, p.Write)
		}
	}
	team.Sandbox.Hooks = true
	b = boxesOf(team, place, map[string]string{"ana": copy}, level1, &told)
	testkit.Must(t, b.Ready(context.Background(), &members.Member{Member: &team.Teammates[0], Dir: copy}))
	own := hooks.Handler{Type: "command", Sandbox: &hooks.Sandbox{Level: sandbox.Best}}
	for _, h := range []hooks.Handler{{Type: "command"}, own} {
		kit, err := b.Hook("ana", h, copy)
		testkit.Must(t, err)
		vars := filepath.Join(place.Scratch(), "ana.env.sh") // CLAUDE_ENV_FILE
		if p := kit.Box().Policy(); !slices.Contains(p.Write, vars) || !slices.Contains(p.Write, copy) || !exists(vars) {
			t.Errorf("a hook on wish, %+v, may write %v", h, p.Write)
		}
		if p := b.Of("ana").Box().Policy(); slices.Contains(p.Write, vars) || !slices.Contains(p.Read, vars) {
			t.Errorf("the member may write the variables that hooks give to its shell: %v", p.Write)
		}
	}
}

// TestOwnBoxes: one gate or hook with a sandbox of its own is held by it, whatever the others have.
func TestOwnBoxes(t *testing.T) {
	copy := t.TempDir()
	for _, c := range []struct {
		gates, member sandbox.Want
		handler       hooks.Handler
		boxed         bool
	}{
		{"", "", hooks.Handler{Gate: true}, false},
		{"", "", hooks.Handler{Gate: true, Sandbox: &hooks.Sandbox{Level: sandbox.Best, Network: sandbox.NetworkOff}}, true},
		{sandbox.Best, "", hooks.Handler{Gate: true, Sandbox: &hooks.Sandbox{Level: sandbox.Off}}, false},
		{sandbox.Best, "", hooks.Handler{Gate: true, Sandbox: &hooks.Sandbox{Network: sandbox.NetworkOff}}, true},
		{"", sandbox.Best, hooks.Handler{}, false},
		{"", "", hooks.Handler{Sandbox: &hooks.Sandbox{Level: sandbox.Best, Network: sandbox.NetworkOff}}, true},
		{"", sandbox.Best, hooks.Handler{Sandbox: &hooks.Sandbox{Network: sandbox.NetworkOff}}, true},
		{"", sandbox.Best, hooks.Handler{Sandbox: &hooks.Sandbox{Level: sandbox.Off}}, false},
	} {
		team, place := teamOf(t, c.member)
		team.GateSandbox.Level = c.gates
		b := boxesOf(team, place, map[string]string{"ana": copy}, level2, new([]events.Data))
		c.handler.Type, c.handler.Command = "command", "true"
		kit, err := b.Hook("ana", c.handler, filepath.Join(copy, "sub"))
		if testkit.Must(t, err); (kit != nil) != c.boxed {
			t.Errorf("%+v: %v, want %v", c, kit != nil, c.boxed)
		}
		if kit == nil {
			continue
		}
		p := kit.Box().Policy()
		kept := p.Write
		if c.handler.Gate {
			kept = p.Discard
		}
		if p.Network != sandbox.NetworkOff || !slices.Contains(kept, copy) || slices.Contains(p.Write, filepath.Join(place.Dir, "cache")) {
			t.Errorf("%+v: network %s, writes %v, discards %v", c, p.Network, p.Write, p.Discard)
		}
	}
	team, place := teamOf(t, "")
	team.Merge.Gates = []hooks.Handler{{Gate: true, Type: "command", Command: "true", Sandbox: &hooks.Sandbox{Level: sandbox.OwnMounts}}}
	if err := Check(team, place, level1); err == nil || !strings.Contains(err.Error(), "the sandbox cannot be held") {
		t.Errorf("what one gate demands is not checked: %v", err)
	}
}

// TestGateScripts: a gate may read the scripts that its command names, with what lies beside them, but neither the
// workspace nor the folder of the spec for it.
func TestGateScripts(t *testing.T) {
	spec := t.TempDir()
	team := &configs.Team{File: filepath.Join(spec, "team.yaml"), Workspace: filepath.Join(spec, "work")}
	for _, c := range []struct{ dir, line, want string }{
		{"work", "sh ../gates/x.sh", "gates"}, {"work", "sh ../x.sh", "x.sh"}, {"work", "sh ./x.sh && go test ./...", ""},
		{"copy", "sh " + filepath.Join(spec, "work", "gates", "x.sh"), "work/gates"}, {"copy", filepath.Join(spec, "work", "x.sh") + " </etc/passwd", "work/x.sh"},
		{"copy", "sh ../gates/x.sh a/b", "gates"}, {"work", "cat ../../other/x /root/.ssh/id ../work/../../y", ""},
		{"work", `"$CLAUDE_PROJECT_DIR"/../gates/x.sh`, "gates"}, {"copy", `sh '${COVEY_WORKSPACE}/gates/x.sh'`, "work/gates"},
	} {
		want := []string(nil)
		if c.want != "" {
			want = []string{filepath.Join(spec, c.want)}
		}
		if got := scriptsOf(team, filepath.Join(spec, c.dir), c.line); !slices.Equal(got, want) {
			t.Errorf("%s in %s: %v, want %v", c.line, c.dir, got, want)
		}
	}
}

// TestDenials: what programs print tells what the box has kept from them.
func TestDenials(t *testing.T) {
	team, place := teamOf(t, sandbox.Best)
	copy, elsewhere := t.TempDir(), t.TempDir()
	secret := filepath.Join(elsewhere, "secret")
	testkit.Must(t, os.WriteFile(secret, nil, 0o600))
	var told []events.Data
	b := boxesOf(team, place, map[string]string{"ana": copy}, level1, &told)
	testkit.Must(t, b.Ready(context.Background(), &members.Member{Member: &team.Teammates[0], Dir: copy}))
	kit := b.Of("ana")
	key := "teammates.ana.sandbox."
	for output, want := range map[string]string{
		"cat: " + secret + ": Permission denied":                                "read " + secret + " " + key + "read",
		"PermissionError: [Errno 13] Permission denied: '" + secret + "'":       "read " + secret + " " + key + "read",
		"Error: EACCES: permission denied, open '" + secret + "'":               "read " + secret + " " + key + "read",
		"open " + secret + ": permission denied":                                "read " + secret + " " + key + "read",
		"touch: cannot touch '" + elsewhere + "/new': Permission denied":        "write " + elsewhere + "/new " + key + "write",
		"cat: mine: Permission denied":                                          "", // in its own folder
		"cat: " + secret + ": No such file or directory":                        "read " + secret + " " + key + "read",
		"cat: " + elsewhere + "/a/b: No such file or directory":                 "", // there is none
		"sh: 0: cannot open " + secret + ": No such file":                       "read " + secret + " " + key + "read",
		"/bin/sh: 1: " + secret + ": not found":                                 "read " + secret + " " + key + "read",
		"can't open file '" + secret + "': [Errno 2] No such file or directory": "read " + secret + " " + key + "read",
		"sh: 1: nosuchtool: not found":                                          "",
		"all is well":                                                           "",
		"rm: cannot remove '/usr/bin/env': Permission denied":                   "write /usr/bin/env " + key + "write",
	} {
		got := ""
		for _, d := range kit.Denials(output, copy) {
			got += d.Access + " " + d.Path + " " + d.Key
		}
		if os.Geteuid() != 0 && strings.Contains(output, "/usr/bin/env") {
			want = "" // it is denied without a box, too
		}
		if got != want {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
	if denied := (*Kit)(nil).Denials("cat: "+secret+": Permission denied", copy); denied != nil {
		t.Errorf("without a box: %v", denied)
	}
}

// TestSweepMountPoints: what an earlier run has granted below /tmp leaves nothing there; files of the member stay.
func TestSweepMountPoints(t *testing.T) {
	outside, err := os.MkdirTemp("/tmp", "covey-sweep-")
	testkit.Must(t, err)
	t.Cleanup(func() { testkit.Must(t, os.RemoveAll(outside)) })
	testkit.Put(t, outside, "granted", "text")
	testkit.Put(t, outside, "own", "text")
	team, place := teamOf(t, sandbox.Best)
	temp := filepath.Join(place.Dir, "boxes", "ana", "tmp")
	shown := filepath.Join(temp, filepath.Base(outside))
	testkit.Must(t, os.MkdirAll(shown, 0o700))
	testkit.Put(t, shown, "granted", "")
	testkit.Put(t, temp, "empty", "")
	b := boxesOf(team, place, nil, level1, new([]events.Data))
	b.Sweep()
	if exists(shown) || !exists(filepath.Join(temp, "empty")) {
		t.Error("the mount point stays, or a file of the member does not")
	}
	testkit.Must(t, os.MkdirAll(shown, 0o700))
	testkit.Put(t, shown, "own", "text of the member")
	b.Sweep()
	if !exists(filepath.Join(shown, "own")) {
		t.Error("a file of the member is gone")
	}
	// A member whose spec changes while the team runs keeps the mount points of what is still granted.
	ana := &members.Member{Member: &team.Teammates[0], Dir: t.TempDir()}
	ana.Sandbox.Read = []string{filepath.Join(outside, "granted"), filepath.Join(outside, "more")}
	testkit.Must(t, b.Ready(context.Background(), ana))
	for _, name := range []string{"granted", "more"} {
		testkit.Put(t, outside, name, "text")
		testkit.Put(t, shown, name, "")
	}
	ana.Sandbox.Read = ana.Sandbox.Read[:1]
	testkit.Must(t, b.Ready(context.Background(), ana))
	if !exists(filepath.Join(shown, "granted")) || exists(filepath.Join(shown, "more")) || !exists(filepath.Join(shown, "own")) {
		t.Error("what is granted or the member's is gone, or a withdrawn mount point stays")
	}
	ana.Sandbox = configs.Sandbox{}
	testkit.Must(t, b.Ready(context.Background(), ana))
	if exists(filepath.Join(shown, "granted")) || b.Of("ana") != nil {
		t.Error("a member whose sandbox was withdrawn has a box or a mount point")
	}
}
