package teammate

import (
	"context"
	"time"

	"github.com/coveyteam/covey/events"
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

// TaskCloser is a TaskLister that acts on tasks whose gates have passed.
type TaskCloser interface {
	// Passed is called when a turn end has passed all its gates, with the tasks as
	// the gates saw them. Its error is reported to the user; the turn ends anyway.
	Passed(ctx context.Context, list []tasks.Task) error
}

// Inbox gives a member its work.
type Inbox interface {
	// Next waits for the next work. The member is idle while it waits. Next fails
	// when ctx ends, with io.EOF when the member takes no more turns, and with
	// ErrResting if it has no work and does not wait.
	Next(ctx context.Context) (Work, error)
	// Waiting returns mail that has arrived since and may be shown in the middle
	// of a turn; an empty result is not an error. It returns the same mail again
	// until Taken confirms it.
	Waiting(ctx context.Context) ([]agent.Input, error)
	// Taken reports that these messages are in the transcript, on disk. Only then
	// are they delivered.
	Taken(ctx context.Context, messageIDs []string) error
}

// Admitter is an Inbox that decides when a turn may begin, for example because
// members share a login. Admit is called before each turn, resumed turns included;
// release is called after it. Admit fails when ctx ends.
type Admitter interface {
	Admit(ctx context.Context) (release func(), err error)
}

// Work is the input of one turn and its cause.
type Work struct {
	Cause  events.Cause
	Inputs []agent.Input
	Digest bool // the turn is only for notes of idle members
}

// Limits bound a member's turns. A zero field means no limit. The orchestrator
// sets StopBlockCap to 8 by default.
type Limits struct {
	MaxTurns     int           // passes of one turn
	TurnTimeout  time.Duration // wall time of one turn
	StopBlockCap int           // refused turn ends in a row before the turn ends anyway; 0: no limit
}

// FileWatch is what the FileChanged hooks of a member need.
type FileWatch struct {
	Watcher *workspace.Watcher // nil: no FileChanged
	Names   func() []string    // optional; the file names that these hooks match
}

// Options configure a Teammate. Fields are required unless marked optional.
type Options struct {
	Name string
	Team string
	Lead bool   // its turn end has one gate, Stop: no TaskCompleted, no TeammateIdle
	Kind string // what the agent is, for the journal: builtin/script, …
	// Equip makes the agent and its tools when the member's first turn begins, in
	// the goroutine of Run, so that a member without work costs almost nothing. Its
	// error ends the member. Required unless Agent is set.
	Equip func() (agent.Agent, []agent.Tool, error)
	Agent agent.Agent  // instead of Equip
	Tools []agent.Tool // with Agent
	// Others returns tools that come and go, before each request of an agent that asks for
	// them (agent.Toolbox); optional. The names of all its tools must differ.
	Others func(ctx context.Context) []agent.Tool
	// Await waits for the tool of this name if Others may have it soon. Its error says why it cannot
	// be had now. Optional.
	Await func(ctx context.Context, tool string) error
	Hooks HookRunner
	Tasks TaskLister // optional for a lead
	Inbox Inbox
	Sink  events.Sink
	// Drafts shows what the models of the member and of its helpers write; optional.
	Drafts agent.Drafts

	SessionID string
	// Program means that the agent has a conversation of its own, which it may have lost.
	Program    bool
	Resumed    bool // the session existed before: SessionStart says resume, or clear if its transcript is gone
	Transcript *transcript.File
	// History is what transcript.Open returned with it; nil: the conversation is new. The member keeps it
	// until its session has begun.
	History *transcript.History
	Workdir *workspace.Workdir

	// Instructions are the instruction files of the workspace, for the
	// InstructionsLoaded hooks; optional. The agent gets their text from its maker.
	// nil for an agent program, which reads such files itself.
	Instructions *workspace.Instructions
	// Commands looks up a command that a person has typed; optional. nil for an agent
	// program, which has its own commands.
	Commands func(name string) (workspace.PromptCommand, bool)
	Files    FileWatch // optional

	Rights *permission.Rights // its permissions, which may change in the session
	// Writable is called for each file that a call would write to; optional.
	Writable   permission.Writable
	Limits     Limits
	Asker      Asker                         // optional; nil denies calls that need an answer
	Purse      agent.Purse                   // optional; what the member may use in this run
	Background func() []hooks.BackgroundTask // optional; background work, listed for Stop hooks
	Crons      func() []hooks.SessionCron    // optional; the member's own schedules, for the same hooks
	// Awaits returns what of the member's background work it waits for, as people read it after
	// "it waits for "; empty: nothing. While it waits, its turns end once Stop passes, without
	// the other gates, because its work is not done. Optional; called from any goroutine.
	Awaits func() string
	// PostNotice puts a notice of a helper or of a command in the background into the member's own mailbox, once per id; optional.
	// It arrives as an input of kind FromHelper with its text unchanged.
	// Without PostNotice, helpers cannot run in the background.
	PostNotice func(ctx context.Context, id, text string) error
	// OnHold returns what the member waits for before its work can be judged, as people
	// read it after "it waits for "; empty if it does not wait. While it waits, its turns
	// end without the gates. Optional; called from any goroutine.
	OnHold func() string
	// OnBackgroundHook is called when a hook goes on in the background and again when it ends, in
	// its own goroutine and also between turns; optional. The messages of a hook that
	// Wakes must arrive as mail exactly once, of kind FromHook if they are Feedback and
	// of kind FromContext otherwise. Without OnBackgroundHook they wait for the next turn.
	OnBackgroundHook func(p hooks.Progress)
}
