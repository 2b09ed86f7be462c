package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
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

// Git says how the package runs git. All runs of git go through it: each has a
// session of its own, and what it leaves running is ended when it ends. The zero
// value is enough where no team runs.
type Git struct {
	// Env is what git gets besides and hands on to what it runs, such as the mark by
	// which the processes of a team are known.
	Env []string
	// Started is told of each git that has started, by its number; what it returns is
	// called when git has ended. nil: nobody is told.
	Started func(pid int) (ended func())
	// Filters are filters that the repository's own configuration defines and that may
	// run, each as it is given here, whatever the configuration says by now. Files with
	// any other such filter are left alone (State.Withheld). nil: there are none.
	Filters func() []Filter
	// Withheld is told of files that were not checked out, or not taken into a commit,
	// because of their filter. nil: nobody is told.
	Withheld func(Withheld)
}

// call is one run of git.
type call struct {
	args  []string
	dir   string   // where it runs
	index string   // absolute path of an index in place of the working copy's own; empty: that one
	env   []string // besides
	stdin []byte
	limit time.Duration // 0: quick
	guard *guard        // nil: it changes nothing and reads no file's content, so nothing that the configuration names could run
}

// run runs git once, or more often while others hold its locks, and returns what
// it printed. The error is a *Failure.
//
// It blocks for c.limit at most, quick if that is 0. Only locks are tried again: anything
// else that git refuses it would refuse again. The output comes along with an error too.
func (g Git) run(ctx context.Context, c call) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, max(c.limit, quick), errors.New("it took too long"))
	defer cancel()
	deadline := time.Now().Add(lockPatience)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		out, err := g.once(ctx, c)
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
// is killed outright leaves them to whoever comes next. The marker finds what a program
// that git ran has moved out of git's session.
func (g Git) once(ctx context.Context, c call) ([]byte, error) {
	marker := "COVEY_GIT=" + strconv.FormatUint(rand.Uint64(), 36)
	var out, said bytes.Buffer
	ended := func() {}
	exit, err := proc.Process{
		Args: append(append([]string{"git"}, calm()...), c.args...), Dir: c.dir, Env: g.environ(c, marker),
		Stdin: c.stdin, Stdout: &out, Stderr: &said, Grace: goodbye, Marker: marker, Reap: true,
		Started: func(pid int) {
			if g.Started != nil {
				ended = g.Started(pid)
			}
		},
	}.Run(ctx)
	ended()
	if err == nil && exit.Code == 0 && !exit.Stopped {
		return out.Bytes(), nil
	}
	f := &Failure{Command: words(c.args), Dir: c.dir, Code: -1, Stderr: strings.TrimSpace(said.String())}
	switch {
	case ctx.Err() != nil:
		f.Cause = context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		f.Cause = fmt.Errorf("%w: there is no git program in PATH; install git", ErrNoGit)
	case err != nil:
		f.Cause = err
	case exit.Code >= 0:
		f.Code = exit.Code
	default:
		f.Cause = fmt.Errorf("it was ended by %q", exit.Signal)
	}
	return out.Bytes(), f
}

// environ is the environment of a call.
func (g Git) environ(c call, marker string) []string {
	env := append(environment(os.Environ()), marker)
	if c.guard != nil {
		env = append(env, settingsEnv(c.guard.settings)...)
	}
	env = append(append(env, g.Env...), c.env...)
	if c.index != "" {
		env = append(env, "GIT_INDEX_FILE="+c.index)
	}
	return env
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
