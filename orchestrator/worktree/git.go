package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/sandbox"
)

// Time limits of git. Checking out files takes time proportional to the repository;
// other commands read a few objects.
const (
	quick = time.Minute
	slow  = 15 * time.Minute
	// stopGrace is the time git gets to remove its lock files when it is told to stop.
	stopGrace = 5 * time.Second
	// lockTimeout is how long a call waits for the lock of another git.
	lockTimeout = 10 * time.Second
)

// Git configures how the package runs git. All runs of git go through it: each has its
// own session, and processes that it leaves running are killed when it ends. The zero
// value is usable where no team runs.
type Git struct {
	// Env is added to the environment of git and of what it runs, such as the entry
	// that marks the processes of a team.
	Env []string
	// Started is called with the process id of each git that has started; its result is
	// called when git has ended. It may be nil.
	Started func(pid int) (ended func())
	// Filters returns the filters of the repository's own configuration that may run,
	// exactly as defined here, whatever the configuration says now. Files with any
	// other such filter are withheld (State.Withheld). It may be nil.
	Filters func() []Filter
	// Withheld is called with files that were not checked out or not committed because
	// of their filter. It may be nil.
	Withheld func(Withheld)
	// Inside returns the box in which git runs in a folder, and a folder of the box for indexes, because what
	// configures git there may not be trusted; a nil box: it runs in none. It may be nil.
	Inside func(dir string) (box *sandbox.Box, indexes string, err error)
}

// inside is Inside, for any Git.
func (g Git) inside(dir string) (box *sandbox.Box, indexes string, err error) {
	if g.Inside == nil {
		return nil, "", nil
	}
	if box, indexes, err = g.Inside(dir); err != nil {
		return nil, "", fmt.Errorf("make the box of git in %s: %w", dir, err)
	}
	return box, indexes, nil
}

// call is one run of git.
type call struct {
	args  []string
	dir   string   // where it runs
	index string   // absolute path of an index; empty: the working copy's own
	env   []string // additional variables
	stdin []byte
	// stdout receives the output in place of the result; nil: it is the result. Only for calls that take no lock,
	// because those are tried again.
	stdout io.Writer
	from   *Repo         // its git upload-pack is at the files 3 and 4; nil: none
	limit  time.Duration // longer than quick; 0: quick
	guard  *guard        // nil: it touches no working files, so no configured program could run
}

// run runs git, again while others hold its locks, and returns its output. The error is
// a *Failure.
//
// It blocks for at most c.limit, but at least for quick, and a few seconds more while git
// is stopped. Only lock failures are retried,
// because other failures would repeat. The output is returned with an error too.
func (g Git) run(ctx context.Context, c call) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, max(c.limit, quick), errors.New("it took too long"))
	defer cancel()
	deadline := time.Now().Add(lockTimeout)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		out, err := g.once(ctx, c)
		var f *Failure
		if !errors.As(err, &f) || !f.locked() || time.Now().After(deadline) {
			return out, err
		}
		// Wait a random time, so that concurrent callers do not keep colliding.
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// once runs git with settings that override those of all files.
//
// When ctx ends, git is told to stop and gets stopGrace to remove its lock files, which
// a killed git would leave behind. The marker finds processes that left git's session.
func (g Git) once(ctx context.Context, c call) ([]byte, error) {
	marker := newMarker()
	var out, said bytes.Buffer
	stdout := c.stdout
	if stdout == nil {
		stdout = &out
	}
	box, _, err := g.inside(c.dir)
	if err != nil {
		return nil, &Failure{Command: words(c.args), Dir: c.dir, Code: -1, Cause: err}
	}
	p := proc.Process{
		Args: append(append([]string{"git"}, baseOptions()...), c.args...), Dir: c.dir, Env: g.environ(c, marker),
		Stdin: c.stdin, Stdout: stdout, Stderr: &said, Grace: stopGrace, Marker: marker, Reap: true,
		Started: g.Started, Box: box,
	}
	var exit proc.Exit
	if c.from != nil {
		exit, err = c.from.serve(ctx, p)
	} else {
		exit, err = p.Run(ctx)
	}
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
		f.Cause = fmt.Errorf("it was killed by %q", exit.Signal)
	}
	return out.Bytes(), f
}

// newMarker returns a variable that only one git and what it starts have.
func newMarker() string { return "COVEY_GIT=" + strconv.FormatUint(rand.Uint64(), 36) }

// environ returns the environment of a call.
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

// words returns the first words of a command line, for error messages.
func words(args []string) string {
	named := args[:min(len(args), 1)]
	if len(args) > 1 && !strings.HasPrefix(args[1], "-") && args[0] == "worktree" {
		named = args[:2]
	}
	return strings.Join(named, " ")
}

// line returns the first line of git's output.
func line(out []byte) string {
	text, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSuffix(text, "\r")
}

// fields splits output of git with -z.
func fields(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}
