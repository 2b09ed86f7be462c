package builtin

import (
	"time"

	"github.com/coveyteam/covey/teammate"
)

// Env is what the workspace tools of one member work with.
type Env struct {
	// Workdir is where the member is. Relative paths start there, and a `cd` in
	// Bash moves it. Required.
	Workdir *teammate.Workdir
	// Environ is the environment of commands, NAME=value each: all of it, so
	// nothing of this process's own reaches a command unless it stands here.
	Environ []string
	// EnvFile is a shell file that is sourced before each command, if it is
	// there: what SessionStart hooks wrote to CLAUDE_ENV_FILE. May be empty.
	EnvFile string
	// OutputDir keeps the output of background runs and what is too long for a
	// model. It is made, with mode 0700, when it is first needed. Required.
	OutputDir string
	// Started is told of each process and returns what to call when it has
	// ended; may be nil. covey keeps book of whose process is whose.
	Started func(pid int) (release func())
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Timeout is how long a command may take that does not ask for longer;
	// 0: 2 minutes. MaxTimeout is the most that it may ask for; 0: 10 minutes.
	Timeout, MaxTimeout time.Duration
	// Grace is the time from TERM to KILL; 0: half a second.
	Grace time.Duration
}

// Tools are the workspace tools of one member. Calls must come one at a time;
// Background and Close may be called at any time.
type Tools struct {
	env Env
}

// NewTools returns the tools that work in env. Close them in the end.
func NewTools(env Env) *Tools { return &Tools{env: env} }

// List returns the tools: Bash, BashOutput, KillShell, Read, Write, Edit, Glob
// and Grep.
func (t *Tools) List() []teammate.Tool { return nil }

// BackgroundRun is a command that runs beside the conversation.
type BackgroundRun struct {
	ID          string // what BashOutput and KillShell take
	Command     string
	Description string
	Started     time.Time
}

// Background returns the runs that have not ended, oldest first.
func (t *Tools) Background() []BackgroundRun { return nil }

// Close kills the background runs with all their processes and waits for them.
// Closing twice is fine; Bash refuses to start anything afterwards.
func (t *Tools) Close() error { return nil }
