package compare

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// Copy makes a repository in a folder, which must not exist, with what a task begins with on its branch main.
// It has the history up to that commit and nothing else: no other branch could show how the task was solved.
func (t Task) Copy(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"config", "user.name", "covey"}, {"config", "user.email", "covey@localhost"},
		{"fetch", "-q", "--no-tags", t.Repository, t.wholeCommit(ctx)},
		{"reset", "-q", "--hard", "FETCH_HEAD"},
		{"update-ref", "-d", "FETCH_HEAD"},
	} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_DIR="+filepath.Join(dir, ".git"), "GIT_WORK_TREE="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			said := strings.TrimSpace(string(out))
			if args[0] == "fetch" && ctx.Err() == nil {
				first, _, _ := strings.Cut(said, "\n")
				return texts.Errorf(worktree.ErrNoRef, "task %s cannot begin: git gets no commit %s from %s (%s); correct its commit or repository",
					t.ID, t.Commit, t.Repository, texts.Short(first, 200))
			}
			return fmt.Errorf("make a copy of %s at %s: git %s: %w: %s", t.Repository, t.Commit, args[0], err, said)
		}
	}
	return nil
}

// wholeCommit returns the commit with all its digits if its repository is a folder, because git fetches no
// shortened one. A server is not asked.
func (t Task) wholeCommit(ctx context.Context) string {
	cmd := exec.CommandContext(ctx, "git", "-C", t.Repository, "rev-parse", "--verify", "--quiet", t.Commit+"^{commit}")
	if out, err := cmd.Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return t.Commit
}

// The bounds of an acceptance command.
const (
	acceptTime = 15 * time.Minute
	maxOutput  = 4 << 10
)

// FolderVariable names the variable of acceptance commands with the folder of their files.
const FolderVariable = "COVEY_TASK"

// Judge runs the acceptance command of a task on the result in a folder, in which nobody works any more. The
// error says that it could not run; a command that does not end has not accepted the result.
func (t Task) Judge(ctx context.Context, dir string) (accepted bool, output string, err error) {
	within, cancel := context.WithTimeout(ctx, acceptTime)
	defer cancel()
	var out bytes.Buffer
	marker := "COVEY_ACCEPT=" + strconv.FormatUint(rand.Uint64(), 36)
	exit, err := proc.Process{
		Args: []string{"/bin/sh", "-c", t.Accept}, Dir: dir, Env: append(os.Environ(), FolderVariable+"="+t.Dir, marker),
		Stdout: &out, Stderr: &out, Marker: marker, Reap: true,
	}.Run(within)
	if ctx.Err() != nil {
		return false, "", context.Cause(ctx)
	}
	if err != nil && within.Err() == nil {
		return false, "", fmt.Errorf("the acceptance command: %w", err)
	}
	output = texts.Middle(out.String(), maxOutput)
	if exit.Stopped {
		output += fmt.Sprintf("\nit did not end within %v", acceptTime)
	}
	return exit.Code == 0 && !exit.Stopped, output, nil
}
