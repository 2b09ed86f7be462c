package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"
)

// How long git may take. What writes out files takes as long as the repository
// is large; the rest reads a few objects.
const (
	quick = time.Minute
	slow  = 15 * time.Minute
	// goodbye is what git gets to put away its lock files when it is told to stop.
	goodbye = 5 * time.Second
	// lockPatience is how long a call waits for the lock of another git.
	lockPatience = 10 * time.Second
)

// call is one run of git.
type call struct {
	args  []string
	dir   string   // where it runs
	index string   // absolute path of an index in place of the working copy's own; empty: that one
	env   []string // besides
	stdin []byte
	limit time.Duration // 0: quick
	plain bool          // it reads no file's content, so no filter and no driver could run
	armed []setting     // what disarm said, if the caller has asked; nil: it has not
}

// run runs git once, or more often while others hold its locks, and returns what
// it printed. The error is a *Failure.
//
// It blocks for c.limit at most, quick if that is 0. Only locks are tried again: anything
// else that git refuses it would refuse again. The output comes along with an error too.
func run(ctx context.Context, c call) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, max(c.limit, quick), errors.New("it took too long"))
	defer cancel()
	if !c.plain && c.armed == nil {
		var err error
		if c.armed, err = disarm(ctx, c.dir); err != nil {
			return nil, err
		}
	}
	deadline := time.Now().Add(lockPatience)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		out, err := once(ctx, c)
		var f *Failure
		if !errors.As(err, &f) || !f.locked() || time.Now().After(deadline) {
			return out, err
		}
		// Not all at the same time again, or ten who wait would wait for each other.
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// once runs git with settings that outrank those of all files.
//
// When ctx ends git is told to stop and gets goodbye to remove its lock files; a git that
// is killed outright leaves them to whoever comes next.
func once(ctx context.Context, c call) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append(calm(), c.args...)...)
	cmd.Dir = c.dir
	cmd.Env = append(environment(os.Environ()), settingsEnv(c.armed)...)
	cmd.Env = append(cmd.Env, c.env...)
	if c.index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+c.index)
	}
	cmd.Stdin = bytes.NewReader(c.stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.Cancel = func() error { return stop(cmd.Process) }
	cmd.WaitDelay = goodbye
	err := cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	f := &Failure{Command: words(c.args), Dir: c.dir, Code: -1, Stderr: strings.TrimSpace(said.String())}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		f.Cause = context.Cause(ctx)
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		f.Code = exit.ExitCode()
	case errors.Is(err, exec.ErrNotFound):
		f.Cause = fmt.Errorf("%w: there is no git program in PATH; install git", ErrNoGit)
	default:
		f.Cause = err
	}
	return out.Bytes(), f
}

// words are the first words of a command line, as people name the command.
func words(args []string) string {
	named := args[:min(len(args), 1)]
	if len(args) > 1 && !strings.HasPrefix(args[1], "-") && args[0] == "worktree" {
		named = args[:2]
	}
	return strings.Join(named, " ")
}

// line is the first line of what git printed.
func line(out []byte) string {
	text, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSuffix(text, "\r")
}

// fields splits what git printed with -z.
func fields(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}
