package boxes

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/testkit"
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
		return slices.ContainsFunc(dirs, func(dir string) bool { return within(path, dir) })
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

// TestGitGrants: a clone has what it borrows, a linked worktree its own part of the repository, and the configuration of a
// repository that all use is read-only.
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
	git(dir, "init", "-q", "work")
	git(work, "commit", "-q", "--allow-empty", "-m", "x")
	git(dir, "clone", "-q", "--bare", "--shared", work, "base.git")
	git(dir, "clone", "-q", "--shared", "base.git", "clone")
	git(work, "worktree", "add", "-q", "-b", "covey/crew/ana", filepath.Join(dir, "linked"))
	for _, c := range []struct {
		name                           string
		own                            bool
		read, write, readOnly, nowhere string // one path of each
	}{
		{"work", false, "", "work/.git/objects", "work/.git/config", ""},
		{"clone", true, "base.git/refs", "clone/.git/config", "", "work/.git/config"},
		{"clone", true, "work/.git/objects", "clone/x", "", "work/x"},
		{"linked", true, "work/.git/config", "work/.git/worktrees/linked", "", "work/x"},
		{"linked", true, "work/.git/refs/heads/main", "work/.git/refs/heads/covey/crew", "", "linked2"},
	} {
		g := grantsOf(filepath.Join(dir, c.name), c.own, "crew")
		for list, path := range map[*[]string]string{&g.read: c.read, &g.write: c.write, &g.readOnly: c.readOnly} {
			if path != "" && !slices.ContainsFunc(*list, func(have string) bool { return within(filepath.Join(dir, path), have) }) {
				t.Errorf("%s: %s is not among %v", c.name, path, *list)
			}
		}
		if path := filepath.Join(dir, c.nowhere); c.nowhere != "" &&
			slices.ContainsFunc(slices.Concat(g.read, g.write), func(have string) bool { return within(path, have) }) {
			t.Errorf("%s: %s is granted: %+v", c.name, path, g)
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
	if kit, err := b.Hook("ana", hooks.Handler{Type: "command"}, copy); kit == nil || kit != b.Of("ana") || err != nil {
		t.Errorf("a hook on wish: %v, %v", kit, err)
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
		"cat: " + secret + ": Permission denied":                          "read " + secret + " " + key + "read",
		"PermissionError: [Errno 13] Permission denied: '" + secret + "'": "read " + secret + " " + key + "read",
		"Error: EACCES: permission denied, open '" + secret + "'":         "read " + secret + " " + key + "read",
		"open " + secret + ": permission denied":                          "read " + secret + " " + key + "read",
		"touch: cannot touch '" + elsewhere + "/new': Permission denied":  "write " + elsewhere + "/new " + key + "write",
		"cat: mine: Permission denied":                                    "", // in its own folder
		"cat: " + secret + ": No such file or directory":                  "read " + secret + " " + key + "read",
		"cat: " + elsewhere + "/a/b: No such file or directory":           "", // there is none
		"all is well": "",
		"rm: cannot remove '/usr/bin/env': Permission denied": "write /usr/bin/env " + key + "write",
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
