package tools

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/web"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// Env is the environment of one member's workspace tools.
type Env struct {
	// Workdir holds the member's directory. Relative paths start there, and `cd` in Bash
	// moves it. Required.
	Workdir *workspace.Workdir
	// Environ is the complete environment of commands, NAME=value each; commands inherit
	// nothing else of this process. COVEY_CALL is added, which marks the processes of a
	// command.
	Environ []string
	// EnvFile is a shell file that is sourced before each command, if it exists: what
	// SessionStart hooks wrote to CLAUDE_ENV_FILE. May be empty.
	EnvFile string
	// OutputDir stores the output of background runs, output that is too long for a model,
	// and the list of files that the agent has read. It belongs to one member, lasts over
	// restarts, and is made (mode 0700) when it is first needed. Required.
	OutputDir string
	// Started is called for each process that starts, and for each that a command has left
	// running. It returns a function to call when the process has ended. May be nil.
	Started func(pid int) (release func())
	// Box limits what commands may do; nil: nothing does. Denied returns what to tell the model of a
	// command in it that has failed with this output in dir, in lines; it may be nil.
	Box    *sandbox.Box
	Denied func(output, dir string) string
	// OnRun is called with each change of a background run, from a goroutine of its own. May be
	// nil.
	OnRun func(RunEvent)
	// AwaitLimit is how long the end of a background run is awaited; 0: as long as it takes.
	AwaitLimit time.Duration
	// AwaitChanged is called when what Awaited returns may have changed, from any goroutine.
	// May be nil.
	AwaitChanged func()
	// Withheld reports whether a tool, Glob or Grep, must omit a file from its results. The
	// file's path is absolute; relative rules start at dir. May be nil.
	Withheld func(tool string, dir *workspace.Workdir, file string) bool
	// Skills are the skills that Skill can load, for helpers, too. nil, or none: there is
	// no such tool.
	Skills *Skills
	// Web is how WebFetch reaches the network; its zero value is the system's way.
	Web web.World
	// Named reports whether a rule names what a call reaches, which is the host of a URL.
	// Only then WebFetch reaches private addresses and this machine. May be nil.
	Named func(call agent.ToolCall) bool
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Timeout is how long a command may take by default; 0 means 2 minutes. MaxTimeout is
	// the longest timeout that a call may set; 0 means 10 minutes.
	Timeout, MaxTimeout time.Duration
	// Grace is the time from TERM to KILL; 0: half a second.
	Grace time.Duration
}

// The defaults of Env follow recorded hosts.
const (
	defaultTimeout    = 2 * time.Minute
	defaultMaxTimeout = 10 * time.Minute
)

// Set holds the workspace tools of one member. Only calls of read-only tools may overlap;
// Background and Close may be called at any time.
type Set struct {
	env    Env
	paths  paths
	stamps stamps
	web    *fetcher
	now    func() time.Time
	shell  scripter
	// id distinguishes the processes of this Set from all others, and calls those of one
	// command from another's.
	id    string
	calls atomic.Uint64
	// group counts the goroutines of the background runs; Close waits for it.
	group sync.WaitGroup
	// parent has the background runs of a helper's tools, which outlast the helper; nil for a
	// member.
	parent *Set
	look   time.Duration // firstLook; shorter in tests

	mu     sync.Mutex // guards the fields below
	closed bool
	// runs are the background runs, ended ones too, in the order of their start.
	runs []*run
	// strays are the processes that commands left running.
	strays []stray
}

// New returns the tools that work in env. The caller must Close them.
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
		look:   firstLook,
	}
	if t.now == nil {
		t.now = time.Now
	}
	t.web = &fetcher{world: env.Web, named: env.Named, now: t.now}
	return t
}

// ForHelper returns tools like these for the member's helper with that id, which works in
// dir. What the helper starts in the background belongs to the member, which hears of its end.
// The caller must Close them.
func (t *Set) ForHelper(dir *workspace.Workdir, id string) *Set {
	env := t.env
	env.Workdir, env.OutputDir = dir, filepath.Join(env.OutputDir, "helpers", id)
	own := New(env)
	own.parent = t
	return own
}

// owner returns the Set that has the background runs.
func (t *Set) owner() *Set {
	if t.parent != nil {
		return t.parent
	}
	return t
}

// List returns the tools: Bash, BashOutput, KillShell, Read, Write, Edit, Glob, Grep and
// WebFetch, and Skill if there are skills. Those with paths implement agent.Normalizer.
func (t *Set) List() []agent.Tool {
	list := []agent.Tool{
		t.bashTool(), t.bashOutputTool(), t.killShellTool(),
		t.readTool(), t.writeTool(), t.editTool(), t.globTool(), t.grepTool(), t.web.tool(),
	}
	if s := t.env.Skills; s != nil && len(s.offered()) > 0 {
		list = append(list, s.tool())
	}
	return list
}

// withheld reports whether a search must omit a file, and counts it.
func (t *Set) withheld(tool string, s *search, name string) bool {
	if t.env.Withheld == nil || !t.env.Withheld(tool, t.env.Workdir, filepath.Join(s.base,
		filepath.FromSlash(name))) {
		return false
	}
	s.withheld++
	return true
}

// makeOutputDir makes the folder for outputs. Only its owner may read it, because outputs
// contain the contents of files.
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

// track reports a process to the host.
func (e *Env) track(pid int) (release func()) {
	if e.Started == nil {
		return func() {}
	}
	if release = e.Started(pid); release == nil {
		return func() {}
	}
	return release
}
