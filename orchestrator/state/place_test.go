package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// stateHome is a fresh state home for a test.
func stateHome(t *testing.T) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "state")
	t.Setenv("COVEY_STATE_HOME", home)
	return home
}

// mustPlace makes the Place of a team with a run.json that says so.
func mustPlace(t *testing.T, team, workspace, spec string) Place {
	t.Helper()
	p, err := PlaceOf(team, workspace)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Create(); err != nil {
		t.Fatal(err)
	}
	r := NewRunFile(p, testTime, 1)
	r.Spec, r.PID, r.Birth = spec, 1<<30, "dead" // nobody has such a pid
	if err := r.Write(p); err != nil {
		t.Fatal(err)
	}
	return p
}

func mustMkdir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestStateHome(t *testing.T) {
	for _, c := range []struct{ covey, xdg, home, want string }{
		{"/a/b/", "/x", "/h", "/a/b"},
		{"", "/x", "/h", "/x/covey"},
		{"", "", "/h", "/h/.local/state/covey"},
		{"rel", "/x", "/h", ""},
		{"", "rel", "/h", ""},
		{"", "", "", ""},
	} {
		t.Setenv("COVEY_STATE_HOME", c.covey)
		t.Setenv("XDG_STATE_HOME", c.xdg)
		t.Setenv("HOME", c.home)
		got, err := StateHome()
		if got != c.want && err == nil || (err == nil) != (c.want != "") {
			t.Errorf("StateHome with %+v = %q, %v", c, got, err)
		}
		if err != nil && !errors.Is(err, ErrFolder) {
			t.Errorf("StateHome with %+v: %v is no ErrFolder", c, err)
		}
	}
}

func TestPlaceDependsOnTheRealPath(t *testing.T) {
	home := stateHome(t)
	work := mustMkdir(t, t.TempDir(), "work")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(work, link); err != nil {
		t.Fatal(err)
	}
	direct, err := PlaceOf("crew", work)
	if err != nil {
		t.Fatal(err)
	}
	linked, err := PlaceOf("crew", link)
	if err != nil {
		t.Fatal(err)
	}
	if direct != linked {
		t.Errorf("%+v through a link is %+v", direct, linked)
	}
	if filepath.Dir(direct.Dir) != home || !placeName().MatchString(filepath.Base(direct.Dir)) {
		t.Errorf("the Place is in %s", direct.Dir)
	}
	for team, dir := range map[string]string{"crew": t.TempDir(), "crew-2": work} {
		if other, err := PlaceOf(team, dir); err != nil || other.Dir == direct.Dir {
			t.Errorf("%s in %s shares a Place: %v", team, dir, err)
		}
	}
	if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("asking for a Place made it: %v", err)
	}
	if _, err := PlaceOf("crew", filepath.Join(work, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a workspace that is not there: %v", err)
	}
}

// Attack 33: names that are paths.
func TestTeamNames(t *testing.T) {
	stateHome(t)
	dir := t.TempDir()
	for _, name := range []string{
		"", "../x", "a/b", ".", "..", "*", ">", "a.b", "$(id)", "-a", "A", "a_b", "ö", "\u202ex", "a\x00", "a\n",
		strings.Repeat("a", 33), strings.Repeat("a", 300),
	} {
		if p, err := PlaceOf(name, dir); err == nil {
			t.Errorf("PlaceOf(%q) = %s", name, p.Dir)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,31}`).Draw(t, "name")
		if _, err := PlaceOf(name, dir); err != nil {
			t.Fatalf("PlaceOf(%q): %v", name, err)
		}
	})
}

// Attack 39: the files of another user.
func TestPlaceIsPrivate(t *testing.T) {
	stateHome(t)
	p := mustPlace(t, "crew", t.TempDir(), "")
	for _, dir := range []string{p.Dir, p.Transcripts(), p.Blobs(), p.Scratch(), filepath.Dir(p.Dir)} {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v, %v; want 0700", dir, info.Mode().Perm(), err)
		}
	}
	lock, err := LockTeam(p)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	for _, file := range []string{p.RunFile(), p.Lock()} {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v; want 0600", file, info.Mode().Perm(), err)
		}
	}
	if err := os.Chmod(p.Dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := p.Create(); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a Place that others can read: %v", err)
	}
}

func TestForget(t *testing.T) {
	stateHome(t)
	p := mustPlace(t, "crew", t.TempDir(), "")
	lock, err := LockTeam(p)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	old := []string{p.Store(), p.Journal(), p.Log(), p.Transcript("api", "1"), filepath.Join(p.Blobs(), "x")}
	for _, file := range old {
		mustMkdir(t, filepath.Dir(file))
		if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Forget(); err != nil {
		t.Fatal(err)
	}
	for _, file := range append(old, p.RunFile()) {
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", file, err)
		}
	}
	if _, err := LockTeam(p); !errors.Is(err, ErrRunning) {
		t.Errorf("the lock was forgotten too: %v", err)
	}
	if info, err := os.Stat(p.Transcripts()); err != nil || !info.IsDir() {
		t.Errorf("the folders were not made anew: %v", err)
	}
}

func TestAll(t *testing.T) {
	home := stateHome(t)
	if all, err := All(); err != nil || len(all) != 0 {
		t.Errorf("All before the first team = %v, %v", all, err)
	}
	b := mustPlace(t, "b-team", t.TempDir(), "")
	a := mustPlace(t, "a-team", t.TempDir(), "")
	mustMkdir(t, home, "not a place")
	mustMkdir(t, home, "a-12345678.bak")
	if err := os.WriteFile(filepath.Join(home, "trust.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	broken := mustMkdir(t, home, "c-00000000") // `covey up` was killed before it wrote run.json
	all, err := All()
	if err != nil || len(all) != 3 || all[0] != a || all[1] != b {
		t.Errorf("All = %+v, %v", all, err)
	}
	if c := all[2]; c.Dir != broken || c.Team != "c" || c.Workspace != "" {
		t.Errorf("a Place without run.json is %+v", c)
	}
}

func TestFind(t *testing.T) {
	stateHome(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work, elsewhere := mustMkdir(t, root, "work"), mustMkdir(t, root, "elsewhere")
	deep, specs := mustMkdir(t, work, "a", "b"), mustMkdir(t, root, "specs")
	nested := mustMkdir(t, work, "nested")
	crew := mustPlace(t, "crew", work, filepath.Join(specs, "team.yaml"))
	inner := mustPlace(t, "inner", nested, filepath.Join(nested, "team.yaml"))
	link := filepath.Join(elsewhere, "link")
	if err := os.Symlink(deep, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, dir, team string
		want            Place
	}{
		{"the workspace", work, "", crew},
		{"a folder below", deep, "", crew},
		{"a link into it", link, "", crew},
		{"the spec's folder", specs, "", crew},
		{"the nearest of two", nested, "", inner},
		{"the other of two, by name", nested, "crew", crew},
		{"elsewhere, by name", elsewhere, "inner", inner},
		{"by name where it is", work, "crew", crew},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := Find(c.dir, c.team); err != nil || got != c.want {
				t.Errorf("Find(%s, %q) = %+v, %v", c.dir, c.team, got, err)
			}
		})
	}
	for name, args := range map[string][2]string{
		"nothing here": {elsewhere, ""}, "no such name": {work, "ghost"}, "no name at all": {work, "../crew"},
	} {
		if p, err := Find(args[0], args[1]); !errors.Is(err, ErrNoTeam) {
			t.Errorf("%s: %+v, %v; want ErrNoTeam", name, p, err)
		}
	}
	if _, err := Find(filepath.Join(root, "gone"), ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestFindAmongSeveral(t *testing.T) {
	stateHome(t)
	work := t.TempDir()
	one, two := mustPlace(t, "one", work, ""), mustPlace(t, "two", work, "")
	_, err := Find(work, "")
	var several *AmbiguousError
	if !errors.As(err, &several) || len(several.Places) != 2 {
		t.Fatalf("Find = %v", err)
	}
	for _, want := range []string{"one in ", "two in ", "--team"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	if p, err := Find(work, "two"); err != nil || p != two {
		t.Errorf("Find by name = %+v, %v", p, err)
	}
	if err := NewRunFile(one, testTime, 1).Write(one); err != nil { // one runs, in this process
		t.Fatal(err)
	}
	if p, err := Find(work, ""); err != nil || p != one {
		t.Errorf("of two the one that runs: %+v, %v", p, err)
	}
}

// BenchmarkFind is what a command pays to find its team among a hundred.
func BenchmarkFind(b *testing.B) {
	b.Setenv("COVEY_STATE_HOME", b.TempDir())
	dir := b.TempDir()
	for i := range 100 {
		work := filepath.Join(dir, fmt.Sprint("work", i))
		if err := os.Mkdir(work, 0o755); err != nil {
			b.Fatal(err)
		}
		p, err := PlaceOf("crew", work)
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(p.Create(), NewRunFile(p, testTime, 1).Write(p)); err != nil {
			b.Fatal(err)
		}
	}
	deep := filepath.Join(dir, "work50", "a", "b", "c")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Find(deep, ""); err != nil {
			b.Fatal(err)
		}
	}
}

// TestFindFromACopy: commands in a member's shell mean its team, wherever its
// working copy is.
func TestFindFromACopy(t *testing.T) {
	t.Setenv("COVEY_STATE_HOME", t.TempDir())
	t.Setenv(RunVariable, "")
	place, err := PlaceOf("crew", t.TempDir())
	if err == nil {
		err = place.Create()
	}
	elsewhere := t.TempDir()
	below := filepath.Join(place.Worktrees(), "ana", "src")
	if err := errors.Join(err, os.MkdirAll(below, 0o755)); err != nil {
		t.Fatal(err)
	}
	if found, err := Find(below, ""); err != nil || found.Dir != place.Dir {
		t.Errorf("in the state folder: %+v, %v", found, err)
	}
	if _, err := Find(elsewhere, ""); !errors.Is(err, ErrNoTeam) {
		t.Errorf("elsewhere: %v", err)
	}
	t.Setenv(RunVariable, place.Dir)
	if found, err := Find(elsewhere, ""); err != nil || found.Dir != place.Dir {
		t.Errorf("in a copy that a hook has made: %+v, %v", found, err)
	}
	if _, err := Find(elsewhere, "other"); !errors.Is(err, ErrNoTeam) {
		t.Errorf("another team by name: %v", err)
	}
}
