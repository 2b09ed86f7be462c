package tools

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// Env is what the workspace tools of one member work with.
type Env struct {
	// Workdir is where the member is. Relative paths start there, and a `cd` in
	// Bash moves it. Required.
	Workdir *workspace.Workdir
	// Environ is the environment of commands, NAME=value each: all of it, so
	// nothing of this process's own reaches a command unless it stands here.
	// COVEY_CALL is added, by which the processes of a command are found.
	Environ []string
	// EnvFile is a shell file that is sourced before each command, if it is
	// there: what SessionStart hooks wrote to CLAUDE_ENV_FILE. May be empty.
	EnvFile string
	// OutputDir keeps the output of background runs, what is too long for a
	// model, and the list of files that the agent has read. It belongs to one
	// member, lasts over restarts, and is made (mode 0700) when it is first
	// needed. Required.
	OutputDir string
	// Started is told of each process that begins, and of each that a command
	// has left running. It returns what to call when that has ended. May be nil.
	Started func(pid int) (release func())
	// Withheld reports whether a tool, Glob or Grep, must show nothing of a file
	// that it comes to. Its path is absolute; dir is where relative rules start.
	// May be nil.
	Withheld func(tool string, dir *workspace.Workdir, file string) bool
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Timeout is how long a command may take that does not ask for longer;
	// 0: 2 minutes. MaxTimeout is the most that it may ask for; 0: 10 minutes.
	Timeout, MaxTimeout time.Duration
	// Grace is the time from TERM to KILL; 0: half a second.
	Grace time.Duration
}

// The defaults of Env are those of recorded hosts.
const (
	defaultTimeout    = 2 * time.Minute
	defaultMaxTimeout = 10 * time.Minute
)

// Set are the workspace tools of one member. Calls must come one at a time;
// Background and Close may be called at any time.
type Set struct {
	env    Env
	paths  paths
	stamps stamps
	now    func() time.Time
	shell  shell
	// id tells the processes of these Tools from all others, and calls the
	// processes of one command from those of another.
	id    string
	calls atomic.Uint64
	// group has the goroutines of the background runs; Close waits for it.
	group sync.WaitGroup

	mu     sync.Mutex // guards what follows
	closed bool
	// runs are the background runs, ended ones too, in the order in which they
	// began.
	runs []*run
	// strays are the processes that commands left running.
	strays []stray
}

// New returns the tools that work in env. Close them in the end.
func New(env Env) *Set {
	if env.Timeout <= 0 {
		env.Timeout = defaultTimeout
	}
	if env.MaxTimeout <= 0 {
		env.MaxTimeout = max(defaultMaxTimeout, env.Timeout)
	}
	t := &Set{
		env:    env,
		paths:  paths{env.Workdir},
		stamps: stamps{file: filepath.Join(env.OutputDir, "files-read.jsonl")},
		now:    env.Now,
		shell:  newShell(&env),
		id:     rand.Text(),
	}
	if t.now == nil {
		t.now = time.Now
	}
	return t
}

// ForHelper returns tools like these for the member's helper of that id, which works
// in dir. Close them in the end.
func (t *Set) ForHelper(dir *workspace.Workdir, id string) *Set {
	env := t.env
	env.Workdir, env.OutputDir = dir, filepath.Join(env.OutputDir, "helpers", id)
	return New(env)
}

// List returns the tools: Bash, BashOutput, KillShell, Read, Write, Edit, Glob
// and Grep. Those that take paths are teammate.Normalizers.
func (t *Set) List() []agent.Tool {
	return []agent.Tool{
		t.bashTool(), t.bashOutputTool(), t.killShellTool(),
		t.readTool(), t.writeTool(), t.editTool(), t.globTool(), t.grepTool(),
	}
}

// withheld reports whether a search must leave out a file, and counts it.
func (t *Set) withheld(tool string, s *search, name string) bool {
	if t.env.Withheld == nil || !t.env.Withheld(tool, t.env.Workdir, filepath.Join(s.base,
		filepath.FromSlash(name))) {
		return false
	}
	s.withheld++
	return true
}

// makeOutputDir makes the folder for outputs, which only its owner may read:
// outputs hold what files hold.
func (e *Env) makeOutputDir() error {
	if err := os.MkdirAll(e.OutputDir, 0o700); err != nil {
		return fmt.Errorf("making the folder for outputs: %w", err)
	}
	return nil
}

// isClosed reports whether Close has been called.
func (t *Set) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// track tells the host of a process.
func (e *Env) track(pid int) (release func()) {
	if e.Started == nil {
		return func() {}
	}
	if release = e.Started(pid); release == nil {
		return func() {}
	}
	return release
}
