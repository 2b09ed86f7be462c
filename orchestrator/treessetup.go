package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/process"
)

// Bounds on what a new working copy gets besides its commit.
const (
	setupLimit  = 30 * time.Minute // for one command
	maxIncluded = 20_000           // files; more is a glob that means something else
	saidAtMost  = 2000             // bytes of a failed command's output that people are shown
)

// ready copies files into a member's working copy and sets it up, unless that has
// been done. The member's goroutine calls it before the session begins, so that
// members do not wait for each other and a person can look on.
func (t *trees) ready(ctx context.Context, s *seat) error {
	own, has := t.known()[s.member.Name]
	if s.tree == nil || !has || own.Ready {
		return nil
	}
	if err := t.include(ctx, s, own); err != nil {
		return fmt.Errorf("worktree.include: %w", err)
	}
	log := filepath.Join(t.o.place.Scratch(), s.member.Name+".setup.log")
	for _, command := range t.o.team().Worktree.Setup {
		t.c.mu.Lock()
		s.watch.doing = "setting up: " + wording.Preview(command, 60)
		t.c.mu.Unlock()
		if err := t.setup(ctx, s, setupRun{command, own.Root, log}); err != nil {
			return err
		}
	}
	own.Ready = true
	return t.keep(ctx, s.member.Name, own)
}

// setupRun is one command of worktree.setup.
type setupRun struct {
	command, dir string
	log          string // where its output goes, after that of those before it
}

// setup runs a command in a working copy. Scripts that it names are the
// workspace's: those are what was trusted.
func (t *trees) setup(ctx context.Context, s *seat, r setupRun) error {
	file, err := os.OpenFile(r.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("worktree.setup: %w", err)
	}
	defer file.Close()
	fmt.Fprintf(file, "$ %s\n", r.command)
	shell := "/bin/sh"
	if runtime.GOOS == "windows" {
		shell = "sh"
	}
	timed, cancel := context.WithTimeoutCause(ctx, setupLimit, fmt.Errorf("it took more than %v", setupLimit))
	defer cancel()
	var release func()
	end := &lastBytes{limit: saidAtMost}
	both := io.MultiWriter(file, end)
	exit, err := proc.Process{
		Args: []string{shell, "-c", t.o.team().Place().LocatedLine(r.command)}, Dir: r.dir, Reap: true,
		Env:    append(childEnvironment(t.o.opts, t.o.place), "PWD="+r.dir, "COVEY_MEMBER="+s.member.Name),
		Stdout: both, Stderr: both,
		Started: func(pid int) {
			release = t.c.processes.Register(pid, process.Owner{Kind: process.MemberTool, Member: s.member.Name})
		},
	}.Run(timed)
	if release != nil {
		release()
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case timed.Err() != nil:
		err = context.Cause(timed)
	case err == nil && exit.Code == 0:
		return nil
	case err == nil:
		err = fmt.Errorf("exit code %d", exit.Code)
	}
	return fmt.Errorf("worktree.setup %q: %w (all of its output is in %s)\n%s", r.command, err, r.log, end.text())
}

// lastBytes keeps the end of what is written to it. One goroutine writes at a time.
type lastBytes struct {
	limit int
	data  []byte
}

// Write keeps the last bytes; it cannot fail.
func (l *lastBytes) Write(p []byte) (int, error) {
	l.data = append(l.data, p...)
	if extra := len(l.data) - l.limit; extra > 0 {
		l.data = slices.Delete(l.data, 0, extra)
	}
	return len(p), nil
}

// text is what was kept, without half a character at its beginning.
func (l *lastBytes) text() string { return strings.TrimSpace(strings.ToValidUTF8(string(l.data), "")) }

// include copies files that git ignores from the workspace into a working copy. What
// a link leads to outside of the workspace is not copied, and nothing is written
// outside of the copy, whatever links its commit has.
func (t *trees) include(ctx context.Context, s *seat, own ownTree) error {
	globs := t.o.team().Worktree.Include
	if len(globs) == 0 {
		return nil
	}
	from, err := os.OpenRoot(t.o.team().Workspace)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer from.Close()
	to, err := os.OpenRoot(own.Root)
	if err != nil {
		return fmt.Errorf("open the working copy: %w", err)
	}
	defer to.Close()
	files, err := includable(from.FS(), globs)
	if err != nil {
		return err
	}
	if t.repo != nil {
		if files, err = t.ignored(ctx, s, files); err != nil {
			return err
		}
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := copyFile(from, to, file); err != nil {
			return fmt.Errorf("copy %s: %w", file, err)
		}
	}
	return nil
}

// includable lists the files that globs name, each once and in order. Folders of
// git's own are never among them.
func includable(ws fs.FS, globs []string) ([]string, error) {
	var files []string
	for _, glob := range globs {
		found, err := doublestar.Glob(ws, glob, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
		if err != nil {
			return nil, fmt.Errorf("%q: %w", glob, err)
		}
		for _, file := range found {
			if !slices.Contains(strings.Split(file, "/"), ".git") {
				files = append(files, file)
			}
		}
		if len(files) > maxIncluded {
			return nil, fmt.Errorf("%q and those before it name more than %d files; narrow it, or let "+
				"worktree.setup make them", glob, maxIncluded)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// ignored are those of some files that git ignores. Any other would be a new file
// in the copy, and its member would commit it.
func (t *trees) ignored(ctx context.Context, s *seat, files []string) ([]string, error) {
	ignored, err := t.repo.Ignored(ctx, files)
	if err != nil {
		return nil, err
	}
	var kept, left []string
	for _, file := range files {
		if ignored[file] {
			kept = append(kept, file)
		} else {
			left = append(left, file)
		}
	}
	if len(left) > 0 {
		t.warn("worktree.include: git does not ignore %s, so %s gets only what is committed of it",
			listed(left, 3), s.member.Name)
	}
	return kept, nil
}

// copyFile copies a file between two folders unless it is there; both bound what
// links can lead to.
func copyFile(from, to *os.Root, name string) error {
	in, err := from.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	if err := to.MkdirAll(filepath.FromSlash(parent(name)), 0o755); err != nil {
		return err
	}
	out, err := to.OpenFile(filepath.FromSlash(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if errors.Is(err, fs.ErrExist) {
		return nil // an earlier try copied it, or it is committed
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// parent is the folder of a path with slashes.
func parent(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return "."
}

// listed names the first few of a list.
func listed(names []string, few int) string {
	text := strings.Join(names[:min(len(names), few)], ", ")
	if more := len(names) - few; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// setUpTree is ready for a member's goroutine. It reports whether the member can
// begin; if not, people are told, and the lead is. Its tasks stay its own, for the
// next run starts it again.
func (c *crew) setUpTree(ctx context.Context, s *seat) bool {
	if c.trees == nil {
		return true
	}
	err := c.trees.ready(ctx, s)
	c.mu.Lock()
	s.watch.doing = ""
	c.mu.Unlock()
	if err == nil {
		return true
	}
	c.keepAway(ctx, s, "its working copy could not be set up, which the next `covey up` tries again: "+err.Error())
	return false
}

// locate is runner.Options.Locate: for a member in a working copy of its own, the
// scripts that hooks name are those of the workspace.
func (c *crew) locate(o *Orchestrator) runner.Locate {
	return func(in hooks.Input, h hooks.Handler) (string, []string) {
		if s, ok := c.bySession(in.SessionID); ok && s.tree != nil {
			return o.team().Place().Located(h)
		}
		return h.Command, h.Args
	}
}

// rootOf is runner.Options.Root.
func (c *crew) rootOf(in hooks.Input) string {
	if s, ok := c.bySession(in.SessionID); ok {
		return s.member.Dir
	}
	return ""
}
