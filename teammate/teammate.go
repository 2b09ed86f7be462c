package teammate

import (
	"context"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/transcript"
	"github.com/coveyteam/covey/teammate/workspace"
)

// HookRunner runs the hooks of one event; *runner.Runner is one.
type HookRunner interface {
	Run(ctx context.Context, in hooks.Input, observe func(hooks.Progress)) (hooks.Outcome, error)
}

// TaskLister tells which tasks a member has in progress, in list order.
type TaskLister interface {
	InProgress(ctx context.Context, member string) ([]tasks.Task, error)
}

// TaskCloser is a TaskLister that does something about tasks whose gates have agreed.
type TaskCloser interface {
	// Passed is told when a turn end has passed all its gates, with the tasks as
	// their gates have seen them. Its error is told to the user, and the turn ends.
	Passed(ctx context.Context, list []tasks.Task) error
}

// Inbox hands a member its work.
type Inbox interface {
	// Next waits for the next work. The member is idle while it waits.
	// It fails when ctx ends or the member is to take no more turns (io.EOF). One
	// that need not wait fails with ErrResting.
	Next(ctx context.Context) (Work, error)
	// Waiting returns mail that came in since and may be shown in the middle
	// of a turn; none is not an error. What it has returned it returns again
	// until Taken confirms it.
	Waiting(ctx context.Context) ([]agent.Input, error)
	// Taken says that these messages stand in the transcript, on disk. Only
	// then are they delivered.
	Taken(ctx context.Context, messageIDs []string) error
}

// Admitter is an Inbox that decides when a turn may begin, such as one whose
// member shares a login with others. Admit is called before each turn, also one
// that a crash cut off; release after it. It fails when ctx ends.
type Admitter interface {
	Admit(ctx context.Context) (release func(), err error)
}

// Work is what a turn begins with.
type Work struct {
	Cause  agent.Cause
	Inputs []agent.Input
}

// Limits bound a member's turns. Zero fields mean no limit, save for
// StopBlockCap, where the orchestrator fills in the default of 8.
type Limits struct {
	MaxTurns     int           // passes of one turn
	TurnTimeout  time.Duration // wall time of one turn
	StopBlockCap int           // refused turn ends in a row; 0: no limit
}

// Options make a Teammate. Fields are required unless they say otherwise.
type Options struct {
	Name string
	Team string
	Lead bool   // its turn end is Stop alone: no TaskCompleted, no TeammateIdle
	Kind string // what the agent is, for the journal: builtin/script, …
	// Equip makes the agent and its tools when the member's first turn begins,
	// in the goroutine of Run: a member that never has anything to do costs next
	// to nothing. Its error ends the member. Required, unless Agent is set.
	Equip func() (agent.Agent, []agent.Tool, error)
	Agent agent.Agent  // instead of Equip
	Tools []agent.Tool // with Agent
	Hooks HookRunner
	Tasks TaskLister // optional for a lead
	Inbox Inbox
	Sink  agent.Sink

	SessionID  string
	Resumed    bool // the session existed before: SessionStart says resume, or clear if its transcript is gone
	Turn       int  // turns taken so far
	Transcript *transcript.File
	History    transcript.History // what transcript.Open returned with it
	Workdir    *workspace.Workdir

	// Optional: what the agent is told of the workspace by files, for the
	// InstructionsLoaded hooks; the agent itself gets their Text from whoever makes
	// it. nil for an agent program, which reads such files by itself.
	Instructions *workspace.Instructions
	// Commands finds a command that a person has typed; optional. nil for an agent
	// program, which has commands of its own.
	Commands   func(name string) (workspace.PromptCommand, bool)
	Files      *workspace.Watcher // optional; nil: no FileChanged
	WatchNames func() []string    // optional; the names that FileChanged hooks listen to

	Permissions permission.Policy
	Beside      []string // optional; absolute folders that count as inside the workspace
	// Writable is asked of each file that a call would write to, by its absolute path
	// without links: what the model is told of one that is not the member's; empty: it
	// may. ask says that a person may allow it. Optional; nil: every file.
	Writable   func(path string) (refusal string, ask bool)
	Limits     Limits
	Asker      Asker                         // optional; nil denies what would have to ask
	Purse      Purse                         // optional; what the member may use in its life
	Background func() []hooks.BackgroundTask // optional; work that goes on beside the turn, for Stop hooks
	// Later puts a notice of a helper into the member's own mailbox, once per id; optional.
	// It comes in as an input of kind FromHelper, with the text as it is.
	// Without it no helper can work beside the member.
	Later func(ctx context.Context, id, text string) error
	// Behind is told of each hook that goes on in the background and of its end, in
	// goroutines of their own and also between turns; optional. One that Wakes is to
	// come in as mail of kind FromHook, if its Messages are Feedback, or FromContext,
	// exactly once. Without Behind such a hook's words wait for the next turn.
	// OnHold tells for whose answer the member waits before its work can be judged,
	// for people, behind "it waits for "; empty: it does not. Its turns end without
	// the gates then. Optional; called from any goroutine.
	OnHold func() string
	Behind func(p hooks.Progress)
}
