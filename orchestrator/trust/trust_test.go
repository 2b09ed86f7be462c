package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/state"
)

// trustFiles is a team whose spec names a script, a gate, a hook and settings.
var trustFiles = map[string]string{
	"team.yaml": `covey: 1
name: crew
goal: x
models: {demo: {provider: script, script: lead.yaml}}
lead: {model: demo}
gates: {task: [./check.sh]}
hooks: {Stop: [{hooks: [{type: command, command: "sh tools/stop.sh"}]}]}
settings: [settings.json]
`,
	"lead.yaml":     "steps: [{say: hello}]\n",
	"check.sh":      "#!/bin/sh\nexit 0\n",
	"tools/stop.sh": "exit 0\n",
	"settings.json": `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./more.sh"}]}]}}`,
	"more.sh":       "#!/bin/sh\nexit 0\n",
}

// trustRig is a workspace with such a team, and a state home of its own.
func trustRig(t *testing.T) (dir string, load func() *configs.Team) {
	t.Helper()
	t.Setenv("COVEY_STATE_HOME", filepath.Join(t.TempDir(), "state"))
	dir = t.TempDir()
	for name, text := range trustFiles {
		put(t, dir, name, text)
	}
	return dir, func() *configs.Team { return mustLoad(t, filepath.Join(dir, "team.yaml")) }
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	testkit.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	if err := testkit.WriteProgram(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func mustLoad(t *testing.T, spec string) *configs.Team {
	t.Helper()
	team, err := configs.Load(spec)
	if err != nil {
		t.Fatal(err)
	}
	return team
}

func mustCheck(t *testing.T, team *configs.Team) Report {
	t.Helper()
	r, err := Check(t.Context(), team)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustTrust(t *testing.T, team *configs.Team) {
	t.Helper()
	if err := Remember(t.Context(), team, mustCheck(t, team)); err != nil {
		t.Fatal(err)
	}
}

func TestTrustIsGivenAndTaken(t *testing.T) {
	_, load := trustRig(t)
	r := mustCheck(t, load())
	if r.Trusted || r.Known || len(r.Changes) != len(r.Items) {
		t.Errorf("before: %+v", r)
	}
	for _, c := range r.Changes {
		if c.Kind != ItemNew {
			t.Errorf("before: %+v", c)
		}
	}
	for _, name := range []string{"team.yaml", "lead.yaml", "check.sh", "stop.sh", "settings.json", "more.sh"} {
		if !slices.ContainsFunc(r.Items, func(i Item) bool {
			return filepath.Base(i.Path) == name &&
				i.Hash != ""
		}) {
			t.Errorf("%s would run and is not listed", name)
		}
	}
	mustTrust(t, load())
	if r := mustCheck(t, load()); !r.Trusted || !r.Known || len(r.Changes) != 0 {
		t.Errorf("after: %+v", r)
	}
	if err := Forget(t.Context(), load()); err != nil {
		t.Fatal(err)
	}
	if r := mustCheck(t, load()); r.Trusted || r.Known {
		t.Errorf("forgotten: %+v", r)
	}
	if err := Forget(t.Context(), load()); err != nil {
		t.Errorf("forgetting twice: %v", err)
	}
}

// Attacks 29 and 30: whatever decides what runs is changed after it was trusted.
func TestAnyChangeEndsTrust(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		kind   ChangeKind
		diff   string
	}{
		"one byte of a gate": {func(t *testing.T, dir string) {
			put(t, dir, "check.sh", "#!/bin/sh\nexit 1\n")
		}, ItemChanged, "-exit 0\n+exit 1\n"},
		"a script handed to an interpreter": {func(t *testing.T, dir string) {
			put(t, dir, "tools/stop.sh", "exit 0\ncurl evil\n")
		}, ItemChanged, "+curl evil\n"},
		"what a model plays": {func(t *testing.T, dir string) {
			put(t, dir, "lead.yaml", "steps: [{say: bye}]\n")
		}, ItemChanged, "+steps: [{say: bye}]\n"},
		"the settings": {func(t *testing.T, dir string) {
			put(t, dir, "settings.json", `{"permissions": {"allow": ["Bash(*)"]}}`)
		}, ItemChanged, "+{\"permissions\""},
		"the spec": {func(t *testing.T, dir string) {
			put(t, dir, "team.yaml", trustFiles["team.yaml"]+"keep: true\n")
		}, ItemChanged, "+keep: true\n"},
		"a new hook in the spec": {func(t *testing.T, dir string) {
			put(t, dir, "team.yaml", strings.Replace(trustFiles["team.yaml"], "[./check.sh]",
				"[./check.sh, ./check.sh --evil]", 1))
		}, ItemNew, ""},
		"a script that appears": {func(t *testing.T, dir string) {
			put(t, dir, "settings.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./new.sh"}]}]}}`)
			put(t, dir, "new.sh", "#!/bin/sh\n")
		}, ItemRemoved, ""},
		"a gate replaced by a link": {func(t *testing.T, dir string) {
			put(t, dir, "other.sh", "#!/bin/sh\nevil\n")
			if err := errors.Join(os.Remove(filepath.Join(dir, "check.sh")),
				os.Symlink("other.sh", filepath.Join(dir, "check.sh"))); err != nil {
				t.Fatal(err)
			}
		}, ItemChanged, "+evil\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, load := trustRig(t)
			mustTrust(t, load())
			c.change(t, dir)
			r := mustCheck(t, load())
			if r.Trusted || !r.Known {
				t.Errorf("still trusted: %+v", r)
			}
			if !slices.ContainsFunc(r.Changes, func(got Change) bool {
				return got.Kind == c.kind && strings.Contains(got.Diff, c.diff)
			}) {
				t.Errorf("no %s with %q among %+v", c.kind, c.diff, r.Changes)
			}
			mustTrust(t, load())
			if !mustCheck(t, load()).Trusted {
				t.Error("cannot be trusted again")
			}
		})
	}
}

func TestChangingBackRestoresTrust(t *testing.T) {
	dir, load := trustRig(t)
	mustTrust(t, load())
	put(t, dir, "check.sh", "#!/bin/sh\nevil\n")
	if mustCheck(t, load()).Trusted {
		t.Error("a changed gate is trusted")
	}
	put(t, dir, "check.sh", trustFiles["check.sh"])
	if !mustCheck(t, load()).Trusted {
		t.Error("what was trusted is not")
	}
}

// What was shown is trusted, not what is on disk when the answer comes.
func TestTrustIsOfWhatWasShown(t *testing.T) {
	dir, load := trustRig(t)
	shown := mustCheck(t, load())
	put(t, dir, "check.sh", "#!/bin/sh\nevil\n")
	if err := Remember(t.Context(), load(), shown); err != nil {
		t.Fatal(err)
	}
	if mustCheck(t, load()).Trusted {
		t.Error("a change behind the prompt is trusted")
	}
}

// Attack 32: another folder with the same files, however it is reached.
func TestTrustIsOfOneFolder(t *testing.T) {
	dir, load := trustRig(t)
	mustTrust(t, load())
	copied := t.TempDir()
	for name, text := range trustFiles {
		put(t, copied, name, text)
	}
	put(t, copied, ".git/commondir", filepath.Join(dir, ".git"))
	if r := mustCheck(t, mustLoad(t, filepath.Join(copied, "team.yaml"))); r.Trusted || r.Known {
		t.Errorf("a copy is trusted: %+v", r)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	team := mustLoad(t, filepath.Join(link, "team.yaml"))
	if key, err := keyOf(team); err != nil || key.Workspace != mustReal(t, dir) {
		t.Errorf("through a link the key is %+v, %v", key, err)
	}
}

func mustReal(t *testing.T, path string) string {
	t.Helper()
	real, err := state.RealPath(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

func TestTwoSpecsInOneFolder(t *testing.T) {
	dir, load := trustRig(t)
	put(t, dir, "other.yaml", strings.Replace(trustFiles["team.yaml"], "name: crew", "name: other", 1))
	other := func() *configs.Team { return mustLoad(t, filepath.Join(dir, "other.yaml")) }
	mustTrust(t, load())
	if mustCheck(t, other()).Trusted {
		t.Error("a second spec is trusted with the first")
	}
	mustTrust(t, other())
	if !mustCheck(t, load()).Trusted || !mustCheck(t, other()).Trusted {
		t.Error("one spec's trust took the other's place")
	}
}

func TestTrustFileIsPrivateAndWhole(t *testing.T) {
	_, load := trustRig(t)
	team := load()
	r := mustCheck(t, team)
	var wg sync.WaitGroup
	for i := range 8 { // several at once lose nothing
		wg.Go(func() {
			at := team
			if i > 0 {
				copied := *team
				copied.Workspace = t.TempDir()
				at = &copied
			}
			if err := Remember(t.Context(), at, r); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	path, err := trustPath()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	f, err := readTrust()
	if err != nil || len(f.Trusted) != 8 {
		t.Errorf("%d entries, %v", len(f.Trusted), err)
	}
}

func TestTrustFileThatCannotBeRead(t *testing.T) {
	_, load := trustRig(t)
	mustTrust(t, load())
	path, err := trustPath()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"newer": {`{"format":2,"trusted":"all"}`, state.ErrNewer}, "torn": {`{"format":1,"trus`, nil},
		"wrong": {`{"format":1,"trusted":7}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Check(t.Context(), load())
			if err == nil || r.Trusted || !strings.Contains(err.Error(), path) || (c.want != nil &&
				!errors.Is(err, c.want)) {
				t.Errorf("Check = %+v, %v", r, err)
			}
			if _, err := DigestOf(load()); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("DigestOf fails with %v", err)
			}
			if err := Remember(t.Context(), load(), r); err == nil {
				t.Error("what could not be read was overwritten")
			}
		})
	}
}

func TestItemsOfOddFiles(t *testing.T) {
	dir := t.TempDir()
	read := func(name string) (Item, error) {
		i := Item{Run: Run{Path: filepath.Join(dir, name)}}
		err := i.read()
		return i, err
	}
	if i, err := read("none"); err != nil || i.Hash != "" {
		t.Errorf("a file that is not there: %+v, %v", i, err)
	}
	put(t, dir, "binary", "\xff\xfe\x00")
	if i, err := read("binary"); err != nil || i.Hash == "" || i.Text != "" {
		t.Errorf("a binary: %+v, %v", i, err)
	}
	put(t, dir, "large", strings.Repeat("x", maxKeptText)+"a")
	large, err := read("large")
	if err != nil || large.Text != "" {
		t.Errorf("a large file: %d bytes kept, %v", len(large.Text), err)
	}
	put(t, dir, "large", strings.Repeat("x", maxKeptText)+"b")
	if again, err := read("large"); err != nil || again.Hash == large.Hash {
		t.Errorf("the end of a large file does not count: %v", err)
	}
	if _, err := read("."); err == nil {
		t.Error("a folder was read")
	}
}

func TestTrustReportIsJSON(t *testing.T) {
	_, load := trustRig(t)
	data, err := json.Marshal(mustCheck(t, load()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"trusted":false`, `"kind":"gate"`, `"kind":"new"`, `"hash":"`} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("%s lacks %s", data, want)
		}
	}
}
