package workcopies

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

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// Limits of what a new working copy gets in addition to its commit.
const (
	setupLimit  = 30 * time.Minute // for one command
	maxIncluded = 20_000           // files; more suggests a wrong glob
	saidAtMost  = 2000             // bytes of a failed command's output to show
)

// Ready copies files into a member's working copy and sets it up, unless that was done,
// or the member works in the workspace. It implements crew.Preparer.
func (t *Trees) Ready(ctx context.Context, m *members.Member) error {
	own, has := t.Of(m.Name)
	if !has || own.Ready {
		return nil
	}
	doing := func(what string) { t.notices.tell(m.Name, events.SettingUp{Doing: what}) }
	if err := t.setupOf(m.Name, own.Root, m.Sandbox, doing).run(ctx); err != nil {
		return fmt.Errorf("its working copy could not be set up, which the next `covey up` tries again: %w", err)
	}
	// After a kill during the setup all of it runs again, so commands of worktree.setup
	// must bear that.
	own.Ready = true
	return t.record.keep(ctx, m.Name, own)
}

// Prepare sets up a working copy that no member works in, like those of members. Its
// output is stored under name.
func (t *Trees) Prepare(ctx context.Context, name, top string) error {
	return t.setupOf(name, t.ground.rootIn(top), t.deps.Team().Sandbox, func(string) {}).run(ctx)
}

func (t *Trees) setupOf(member, dir string, box configs.Sandbox, doing func(what string)) setup {
	return setup{
		team: t.deps.Team(), deps: t.deps, repo: t.ground.repo, warn: t.notices.warn, sandbox: box,
		ports: &t.ports, member: member, dir: dir, doing: doing, log: filepath.Join(t.deps.Place.Scratch(), member+".setup.log"),
	}
}

// setup prepares a working copy for its member.
type setup struct {
	team   *configs.Team
	deps   Deps
	repo   *worktree.Repo // of the workspace; nil: there is none
	warn   func(format string, args ...any)
	ports  *portBlocks // of which the copy takes what it needs
	member string
	dir    string            // where in the copy the member works
	doing  func(what string) // called with each command
	log    string            // gets the output of the commands

	sandbox configs.Sandbox // in which the commands run
}

// run copies files into the working copy and runs the setup commands.
func (s setup) run(ctx context.Context) error {
	if err := s.include(ctx); err != nil {
		return fmt.Errorf("worktree.include: %w", err)
	}
	ports, err := s.ports.take(s.dir, s.team.Worktree.Ports)
	if err != nil {
		return err
	}
	s.deps.Environ = slices.Concat(s.deps.Environ, ports)
	for _, command := range s.team.Worktree.Setup {
		s.doing("setting up: " + texts.Clip(command, 60))
		if err := s.command(ctx, command); err != nil {
			return err
		}
	}
	return nil
}

// command runs a command in a working copy. It runs the workspace's version of scripts,
// because that is the trusted one. Output is appended to that of the commands before
// it.
func (s setup) command(ctx context.Context, command string) error {
	file, err := proc.OpenOwn(s.log, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return fmt.Errorf("worktree.setup: %w", err)
	}
	defer file.Close()
	fmt.Fprintf(file, "$ %s\n", command)
	begins, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("worktree.setup: %w", err)
	}
	shell := "/bin/sh"
	if runtime.GOOS == "windows" {
		shell = "sh"
	}
	free, err := s.deps.Slots.Acquire(ctx, s.member)
	if err != nil {
		return err
	}
	defer free()
	line := s.team.Place().LocatedLine(command)
	box, env, err := s.box(line)
	if err != nil {
		return fmt.Errorf("worktree.setup: %w", err)
	}
	timed, cancel := context.WithTimeoutCause(ctx, setupLimit, fmt.Errorf("it ran longer than %v", setupLimit))
	defer cancel()
	exit, err := proc.Process{
		Args: []string{shell, "-c", line}, Dir: s.dir, Reap: true, Box: box,
		Env:    slices.Concat(s.deps.environ(s.member), env, []string{"PWD=" + s.dir, "COVEY_MEMBER=" + s.member}),
		Stdout: file, Stderr: file,
		Started: func(pid int) func() {
			return s.deps.Processes.Register(pid, process.Owner{Kind: process.MemberTool, Member: s.member})
		},
	}.Run(timed)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	// The error says which time was up, and not that a context has ended.
	case timed.Err() != nil:
		err = context.Cause(timed)
	case err == nil && exit.Code == 0:
		return nil
	case err == nil:
		err = fmt.Errorf("exit code %d", exit.Code)
	}
	where := ""
	if box.Level() != sandbox.None {
		where = " in its sandbox"
	}
	return fmt.Errorf("worktree.setup %q%s: %w (all of its output is in %s)\n%s", command, where, err, s.log, said(file, begins))
}

// box returns the box of a command, because it runs what the repository contains.
func (s setup) box(line string) (*sandbox.Box, []string, error) {
	if s.deps.Box == nil {
		return nil, nil, nil
	}
	return s.deps.Box(s.sandbox, s.member, s.dir, line)
}

// said returns the end of what was written to a log from a position on.
func said(log *os.File, from int64) string {
	size, _ := log.Seek(0, io.SeekEnd)
	end := make([]byte, max(0, min(size-from, saidAtMost)))
	n, _ := log.ReadAt(end, size-int64(len(end))) // what cannot be read is in the log
	return strings.TrimSpace(strings.ToValidUTF8(string(end[:n]), ""))
}

// include copies files that git ignores from the workspace into a working copy. It
// follows no links out of the workspace, and writes nothing outside of the copy,
// whatever links its commit contains.
func (s setup) include(ctx context.Context) error {
	globs := s.team.Worktree.Include
	if len(globs) == 0 {
		return nil
	}
	// Roots confine all that follows, also if somebody replaces a folder by a link
	// meanwhile.
	from, err := os.OpenRoot(s.team.Workspace)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer from.Close()
	to, err := os.OpenRoot(s.dir)
	if err != nil {
		return fmt.Errorf("open the working copy: %w", err)
	}
	defer to.Close()
	files, err := includable(from.FS(), globs)
	if err != nil {
		return err
	}
	if s.repo != nil {
		if files, err = s.ignored(ctx, files); err != nil {
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

// includable lists the files that globs match, each once and in order, without files in
// .git.
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

// ignored returns those of some files that git ignores. Any other would be a new file
// in the copy, which its member would commit.
func (s setup) ignored(ctx context.Context, files []string) ([]string, error) {
	ignored, err := s.repo.Ignored(ctx, files)
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
		s.warn("worktree.include: git does not ignore %s, so %s gets only its committed content",
			texts.Few(left, 3), s.member)
	}
	return kept, nil
}

// partFile is the name of an unfinished copy, at the top of the working copy. There is at most
// one, because the files are copied one after the other. One that a kill has left is removed when
// the working copy is found again, or it would be committed: git ignores only the finished file.
const partFile = ".covey-part"

// copyFile copies a file between two roots unless it exists; the roots confine links.
//
// What exists was copied by an earlier attempt, or committed. So a file must get its name
// only when it is complete, or a kill or a full disk would leave a part of it for ever.
func copyFile(from, to *os.Root, name string) error {
	name = filepath.FromSlash(name)
	if _, err := to.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	dir := filepath.Dir(name)
	if err := to.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	part := partFile
	if err := to.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a killed attempt
		return err
	}
	out, err := to.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Sync() // a rename that reaches the disk first leaves an empty file after a power cut
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = to.Rename(part, name)
	}
	if err != nil {
		return errors.Join(err, to.Remove(part))
	}
	return nil
}
