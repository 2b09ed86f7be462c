package testkit

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// QuietGit keeps the user's git settings out of the tests, and disables housekeeping,
// which costs as many processes as a commit.
func QuietGit() {
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "maintenance.auto", "GIT_CONFIG_VALUE_0": "false",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err) // the names are valid
		}
	}
}

// Shell runs a shell script in a folder and returns its output.
func Shell(t testing.TB, dir, script string) string {
	t.Helper()
	out, err := shell(dir, script)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

func shell(dir, script string) (string, error) {
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GIT_AUTHOR_NAME=u", "GIT_AUTHOR_EMAIL=u@x", "GIT_COMMITTER_NAME=u", "GIT_COMMITTER_EMAIL=u@x")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Folder returns an empty folder whose path has no symlinks.
func Folder(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	Must(t, err)
	return dir
}

// templates caches repositories by their scripts.
var templates sync.Map

// Repository makes a repository with one commit, on the branch main, of the files that a
// script makes. The script runs once; later calls get a copy.
func Repository(t testing.TB, script string) string {
	t.Helper()
	dir := Folder(t)
	made, _ := templates.LoadOrStore(script, sync.OnceValues(func() ([]file, error) { return template(script) }))
	files, err := made.(func() ([]file, error))()
	Must(t, err)
	for _, f := range files {
		Must(t, f.write(dir))
	}
	return dir
}

// template makes a repository and reads its files.
func template(script string) ([]file, error) {
	dir, err := os.MkdirTemp("", "covey-repository-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if _, err := shell(dir, "git init -q -b main; "+script+"; git add -A; git commit -qm first"); err != nil {
		return nil, err
	}
	return filesIn(dir)
}

// Commit makes a repository of a folder: all of its files are the first commit, on the
// branch main. Its user is dev.
func Commit(t testing.TB, dir string) {
	t.Helper()
	files, err := bare()
	Must(t, err)
	for _, f := range files {
		Must(t, f.write(filepath.Join(dir, ".git")))
	}
	Shell(t, dir, "git add -A; git commit -qm first")
}

// bare returns the files of a .git folder without a commit.
var bare = sync.OnceValues(func() ([]file, error) {
	dir, err := os.MkdirTemp("", "covey-repository-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if _, err := shell(dir, "git init -q -b main; git config user.name dev; git config user.email dev@x"); err != nil {
		return nil, err
	}
	return filesIn(filepath.Join(dir, ".git"))
})

// file is a file, a folder or a symlink of a template.
type file struct {
	path string // relative to the top folder
	mode fs.FileMode
	data []byte // of a symlink: its target
}

// filesIn reads all files below a folder; folders come before their contents.
func filesIn(dir string) (all []file, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := file{path: strings.TrimPrefix(path, dir), mode: info.Mode()}
		switch {
		case f.mode&fs.ModeSymlink != 0:
			var to string
			to, err = os.Readlink(path)
			f.data = []byte(to)
		case f.mode.IsRegular():
			f.data, err = os.ReadFile(path)
		}
		all = append(all, f)
		return err
	})
	return all, err
}

func (f file) write(dir string) error {
	path := dir + f.path
	switch {
	case f.mode.IsDir():
		return os.MkdirAll(path, f.mode.Perm())
	case f.mode&fs.ModeSymlink != 0:
		return os.Symlink(string(f.data), path)
	}
	return writeFile(path, f.data, f.mode.Perm()) // it may be a program
}
