//go:build unix

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/tools/txtar"

	"github.com/coveyteam/covey/orchestrator/state"
)

// upgrades says that the tests of upgrades also run the programs of former versions, which
// takes minutes to build them; .ci/long sets it.
var upgrades = flag.Bool("upgrades", false, "also upgrade teams that programs of former versions run")

// former is a version whose files and program this one must get along with. Files that it
// wrote are in testdata/upgrade/COMMIT.tar.gz; `go test -run TestUpgrade -upgrades -keep`
// writes them again.
type former struct {
	commit string
	// bound says that its store knows the folder of its team, so that the team cannot go on
	// in another one.
	bound bool
}

// formers are the last two versions; as long as there are no releases, two commits. The first
// has format 2 of the store, and no version at the control socket.
var formers = []former{
	{commit: "720b06c03657e954afb561fec8c680f539f33d0c"},
	{commit: "dbd03fc2ba2d4d3edb9639cd67e4d4fef78078c2", bound: true},
}

// archive is the file with what a former version wrote.
func (f former) archive() string {
	return filepath.Join("testdata", "upgrade", f.commit[:12]+".tar.gz")
}

// upgradeTeam is a team of testdata/upgrade/team.txtar in a folder of its own.
type upgradeTeam struct {
	t     *testing.T
	dir   string // of its spec
	place state.Place
}

// newUpgradeTeam writes the team's files. It has no state yet.
func newUpgradeTeam(t *testing.T) *upgradeTeam {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files, err := txtar.ParseFile(filepath.Join("testdata", "upgrade", "team.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files.Files {
		putFile(t, filepath.Join(dir, filepath.FromSlash(f.Name)), f.Data)
	}
	place, err := state.PlaceIn(filepath.Join(dir, "state"), "crew", filepath.Join(dir, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	return &upgradeTeam{t, dir, place}
}

// putFile writes a file and makes its folders.
func putFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// command returns a program that runs in the team's folder.
func (u *upgradeTeam) command(program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(u.t.Context(), program, args...)
	cmd.Dir = u.dir
	cmd.Env = append(os.Environ(), "COVEY_STATE_HOME="+u.place.Home(), "NO_COLOR=1", "XDG_RUNTIME_DIR=")
	return cmd
}

// run runs a program to its end, and returns what it printed and its exit code.
func (u *upgradeTeam) run(program string, args ...string) (out, errOut string, code int) {
	u.t.Helper()
	cmd := u.command(program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		u.t.Fatalf("%s %v: %v", program, args, err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// unpack puts down what a former version wrote for the team. Its texts have the paths of
// this team, except for the workspace that a store is bound to.
func (u *upgradeTeam) unpack(f former) {
	t := u.t
	t.Helper()
	packed, err := os.Open(f.archive())
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	var was state.RunFile
	if err := json.Unmarshal(files["run.json"], &was); err != nil {
		t.Fatal(err)
	}
	paths := strings.NewReplacer(filepath.Dir(was.Spec), u.dir)
	if f.bound {
		paths = strings.NewReplacer(was.Workspace, was.Workspace, filepath.Dir(was.Spec), u.dir)
	}
	for name, data := range files {
		if filepath.Ext(name) != ".db" {
			data = []byte(paths.Replace(string(data)))
		}
		putFile(t, filepath.Join(u.place.Dir, filepath.FromSlash(name)), data)
	}
}

// pack keeps what a former version wrote.
func (u *upgradeTeam) pack(f former) {
	u.t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	w := tar.NewWriter(zipped)
	err := filepath.WalkDir(u.place.Dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(u.place.Dir, path)
		top, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		if err != nil || !d.Type().IsRegular() || top != "transcripts" && filepath.Dir(name) != "." || top == "lock" {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o600, Size: int64(len(data))})
		}
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
	if err := errors.Join(err, w.Close(), zipped.Close()); err != nil {
		u.t.Fatal(err)
	}
	putFile(u.t, f.archive(), packed.Bytes())
}

// TestFilesOfFormerVersions: what commands show of a team that does not run, they read from
// files of former versions, without a change to these.
func TestFilesOfFormerVersions(t *testing.T) {
	t.Parallel()
	for _, f := range formers {
		t.Run(f.commit[:8], func(t *testing.T) {
			t.Parallel()
			u := newUpgradeTeam(t)
			u.unpack(f)
			u.looksAtStopped("covey")
		})
	}
}

// looksAtStopped looks at the team, which was cut off in its second task, by commands that
// only read.
func (u *upgradeTeam) looksAtStopped(program string) {
	u.t.Helper()
	before := u.files()
	for args, wants := range map[string][]string{
		"ps":                {"1 of 2 tasks done", "lead", "dev"},
		"logs":              {": write first.txt first", "task 1 (Write the first note) completed"},
		"logs dev --json":   {`"type":"hook_feedback"`},
		"review":            {"no finished work waits"},
		"tasks list":        {"Write the first note", "Write the second note"},
		"tasks show 2":      {"when the first is there"},
		"inbox":             {"nothing waits"},
		"report --md":       {"Write the first note"},
		"tasks list --json": {`"status": "completed"`},
		"ps --json":         {`"refusals": 1`},
	} {
		out, errOut, code := u.run(program, append([]string{"--team", "crew"}, strings.Fields(args)...)...)
		for _, want := range wants {
			if code != 0 || !strings.Contains(out, want) {
				u.t.Errorf("%s: code %d, no %q in\n%.2000s%s", args, code, want, out, errOut)
			}
		}
	}
	for name, data := range u.files() {
		if !bytes.Equal(data, before[name]) {
			u.t.Errorf("reading has changed %s", name)
		}
	}
}

// files returns the team's store, journal and run.json.
func (u *upgradeTeam) files() map[string][]byte {
	u.t.Helper()
	all := map[string][]byte{}
	for _, path := range []string{u.place.Store(), u.place.Journal(), u.place.RunFile()} {
		data, err := os.ReadFile(path)
		if err != nil {
			u.t.Fatal(err)
		}
		all[path] = data
	}
	return all
}

// TestUpgradeOfFiles: the team goes on where the former version left it. It is told where
// the copy from before is; put back, that is the older store again.
func TestUpgradeOfFiles(t *testing.T) {
	t.Parallel()
	u := newUpgradeTeam(t)
	u.unpack(formers[0])
	putFile(t, filepath.Join(u.dir, "ws", "first.txt"), []byte("first\n"))
	u.finishes("covey")
	backup := u.place.Store() + ".v2.bak"
	out, errOut, _ := u.run("covey", "logs", "--json")
	if n := strings.Count(out, "the copy from before is "+backup+"; to go back"); n != 1 {
		t.Errorf("the way back is told %d times:\n%s%s", n, out, errOut)
	}
	if err := os.Rename(backup, u.place.Store()); err != nil {
		t.Fatal(err)
	}
	if out, errOut, _ = u.run("covey", "tasks", "list", "--json"); strings.Count(out, `"status": "completed"`) != 1 {
		t.Errorf("the older store has\n%s%s", out, errOut)
	}
}

// finishes lets the team do its second task, and looks whether nothing is lost or twice.
func (u *upgradeTeam) finishes(program string) {
	u.t.Helper()
	putFile(u.t, filepath.Join(u.dir, "go"), nil)
	if out, errOut, code := u.run(program, "up", "--trust"); code != 0 {
		u.t.Fatalf("up: code %d\n%s%s", code, out, errOut)
	}
	out, _, _ := u.run(program, "tasks", "list", "--json")
	if n := strings.Count(out, `"status": "completed"`); n != 2 {
		u.t.Errorf("%d of 2 tasks are completed:\n%s", n, out)
	}
	out, _, _ = u.run(program, "logs", "--json")
	for what, want := range map[string]int{
		`"op":"completed"`: 2, `"summary":"first note"`: 2, // in the call and in the message
		`"op":"created"`: 2, `"type":"hook_feedback"`: 1,
	} {
		if n := strings.Count(out, what); n != want {
			u.t.Errorf("%s stands %d times in the journal, want %d", what, n, want)
		}
	}
}

// TestFilesOfANewerCovey: whichever of the files a newer covey has written, commands say so in
// one line, and nothing is changed.
func TestFilesOfANewerCovey(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(u *upgradeTeam){
		"store": func(u *upgradeTeam) { u.newerStore() },
		"journal": func(u *upgradeTeam) {
			u.change(u.place.Journal(), func(text string) string { return text + `{"seq":100000,"type":"text","data":7,"format":2}` + "\n" })
		},
		"run.json": func(u *upgradeTeam) {
			u.change(u.place.RunFile(), func(text string) string { return strings.Replace(text, `"format": 1`, `"format": 2`, 1) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpgradeTeam(t)
			u.unpack(formers[0])
			change(u)
			before := u.files()
			for _, args := range [][]string{{"up", "--trust"}, {"ps"}, {"logs"}, {"review"}, {"tasks", "list"}} {
				out, errOut, code := u.run("covey", args...)
				if strings.Count(errOut, "\n") > 1 || code != 0 && !strings.Contains(errOut, "newer covey") ||
					code == 0 && args[0] == "up" {
					t.Errorf("%v: code %d\n%s%s", args, code, out, errOut)
				}
			}
			for path, data := range u.files() {
				if !bytes.Equal(data, before[path]) {
					t.Errorf("%s was changed", path)
				}
			}
		})
	}
}

// change rewrites a file.
func (u *upgradeTeam) change(path string, how func(string) string) {
	u.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		u.t.Fatal(err)
	}
	putFile(u.t, path, []byte(how(string(data))))
}

// newerStore gives the store a format that is yet to come.
func (u *upgradeTeam) newerStore() {
	u.t.Helper()
	db, err := bolt.Open(u.place.Store(), 0o600, &bolt.Options{NoFreelistSync: true})
	if err != nil {
		u.t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte("format"), []byte("99")) })
	if err := errors.Join(err, db.Close()); err != nil {
		u.t.Fatal(err)
	}
}
