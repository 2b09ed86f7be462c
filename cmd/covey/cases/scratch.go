package cases

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/trust"
)

// scratch is the folder of one case: the workspace of its team, and beside it what the spec keeps beside its
// own.
type scratch struct {
	top       string // is removed after the case
	from      string // the folder that it takes files from
	workspace string
	state     string // the state of the team
}

// newScratch makes the folder of a case. The workspace is where it is in the folder of the spec, because
// hooks may name files beside it.
func newScratch(spec, workspace string) (s scratch, err error) {
	s.from = workspace
	if texts.Within(spec, workspace) {
		s.from = spec
	}
	below, err := filepath.Rel(s.from, workspace)
	if err != nil {
		return s, err
	}
	// Two folders: programs of the workspace must be able to run, and the state is best kept in memory.
	if s.top, err = os.MkdirTemp("", "covey-test-"); err != nil {
		return s, err
	}
	if s.top, err = filepath.EvalSymlinks(s.top); err != nil {
		return s, err
	}
	s.workspace = filepath.Join(s.top, "work", below)
	if s.state, err = os.MkdirTemp(memory(), "covey-test-"); err == nil {
		err = os.MkdirAll(s.workspace, 0o755)
	}
	return s, err
}

// memory returns a folder in memory for files that need no disk; empty: the folder for temporary files.
func memory() string {
	const dir = "/dev/shm"
	if info, err := os.Stat(dir); err == nil && info.IsDir() && proc.Writable(dir) == nil {
		return dir
	}
	return ""
}

// remove removes the folder of the case.
func (s scratch) remove() error {
	var errs []error
	for _, dir := range []string{s.top, s.state} {
		if dir != "" {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}

// named returns the files and folders that a spec runs, and that its cases take along.
func named(team *configs.Team) (paths []string) {
	for _, r := range trust.RunsOf(team) {
		if r.Kind == trust.RunFile || r.Kind == trust.Folder || r.Kind == trust.Head {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// namedIn is named for a spec that cannot be read before its files are there: it takes the texts of hooks and
// gates for command lines.
func namedIn(team *yaml.Node, place configs.ScriptPlace) (paths []string) {
	for _, key := range []string{"hooks", "gates"} {
		eachText(team.Lookup(key), func(text string) {
			b := place.Line(text, "")
			paths = append(append(paths, b.Files...), b.Folders...)
		})
	}
	return paths
}

// eachText calls see with each text in a tree.
func eachText(n *yaml.Node, see func(string)) {
	if n == nil {
		return
	}
	if n.Kind == yaml.TextKind {
		see(n.Text)
	}
	for _, item := range n.Items {
		eachText(item, see)
	}
	for _, p := range n.Pairs {
		eachText(p.Value, see)
	}
}

// bring copies files that the spec runs. A program below the top may need the files beside it, so its whole
// folder is copied.
func (s scratch) bring(paths []string, tops ...string) error {
	for _, path := range paths {
		if !texts.Within(s.from, path) {
			continue
		}
		if dir := filepath.Dir(path); dir != s.from && !slices.Contains(tops, dir) {
			path = dir
		}
		err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil || d.Name() == ".git" && d.IsDir():
				return errors.Join(err, skipped(d))
			case !d.Type().IsRegular():
				return nil
			}
			return s.copy(path)
		})
		if err != nil {
			return fmt.Errorf("copy %s: %w", path, err)
		}
	}
	return nil
}

// skipped makes a walk leave out a folder.
func skipped(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// copy copies one file, with its permissions.
func (s scratch) copy(path string) error {
	below, err := filepath.Rel(s.from, path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return write(filepath.Join(s.top, "work", below), data, info.Mode().Perm()|0o600)
}

// write writes a file and makes its folder.
func write(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, mode)
}

// fill writes the files of a case, after those that it copies.
func (s scratch) fill(c *Case) error {
	for _, glob := range c.Copy {
		found, err := doublestar.Glob(os.DirFS(s.from), glob, doublestar.WithFilesOnly())
		if err != nil {
			return fmt.Errorf("copy %s: %w", glob, err)
		}
		for _, path := range found {
			if slices.Contains(strings.Split(path, "/"), ".git") {
				continue
			}
			if err := s.copy(filepath.Join(s.from, filepath.FromSlash(path))); err != nil {
				return fmt.Errorf("copy %s: %w", path, err)
			}
		}
	}
	for _, f := range c.Files {
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(f.Text, "#!") || filepath.Ext(f.Path) == ".sh" {
			mode = 0o755
		}
		if err := write(filepath.Join(s.workspace, f.Path), []byte(f.Text), mode); err != nil {
			return err
		}
	}
	return nil
}

// commit makes a git repository of the workspace, with all files in its first commit. It has at least one,
// because no working copy can be made of an empty commit.
func (s scratch) commit(ctx context.Context) error {
	if entries, err := os.ReadDir(s.workspace); err != nil || len(entries) == 0 {
		if err := errors.Join(err, write(filepath.Join(s.workspace, ".gitignore"), nil, 0o644)); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"config", "user.name", "covey test"}, {"config", "user.email", "test@covey.invalid"},
		{"config", "commit.gpgsign", "false"},
		{"add", "-A"}, {"commit", "-q", "--allow-empty", "--no-verify", "-m", "the files of the case"},
	} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = s.workspace
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
			"GIT_DIR="+filepath.Join(s.workspace, ".git"), "GIT_WORK_TREE="+s.workspace)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// needsGit reports whether a team needs a git repository.
func needsGit(team *configs.Team) bool {
	for m := range team.EachAndTemplates() {
		if m.Isolation == configs.InWorktree {
			return true
		}
	}
	for _, h := range team.Gates.Handlers() {
		if h.Policy == "work-committed" || h.Policy == "changed-something" {
			return true
		}
	}
	return team.Merge.Given || len(team.Merge.Gates) > 0 || team.Worktree.Base != "" || len(team.Worktree.Setup) > 0
}
