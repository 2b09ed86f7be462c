// Package port defines everything that crosses between a team and the seat of one of its members: the
// program, its hooks, permissions, working copy and transcript. Mate is what the team tells a member,
// Home what a member asks its team.
//
// A member of the same process is a Local, whose teammate has its Home. A member on another host has two
// ends: Afar is its Mate on the coordinator's host and answers from its Home, and a Guest is its Home on
// the node. What crosses is plain data that encode to JSON. Between them lies a transport that repeats
// what is lost and answers a repeated request as the first time.
package port

import (
	"context"
	"errors"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/transcript"
)

// Mate is what a team tells a member.
type Mate interface {
	// Run runs the member's life, as teammate.Teammate.Run does: its work comes from its inbox.
	Run(ctx context.Context) error
	// Fire runs the hooks of an event in the member's name.
	Fire(ctx context.Context, in hooks.Payload) (hooks.Outcome, error)
	// Signal acts on the running turn. It does not wait.
	Signal(s Signal)
	// Renew makes another agent when the next turn begins; see teammate.Teammate.Renew.
	Renew(voice string)
	// SetMode changes the permission mode.
	SetMode(mode string) error
	// State returns what the member does in the background.
	State() State
}

// Home is what a member asks its team: the options of its teammate that lead there, and what only a member
// on another host has to ask for. A member on a node has those of a Guest.
type Home struct {
	Inbox interface {
		teammate.Inbox
		teammate.Admitter
		teammate.Rotator
	}
	Tasks            teammate.TaskLister
	Asker            teammate.Asker
	Purse            agent.Purse
	Sink             events.Sink
	OnHold           func() string
	Crons            func() []hooks.SessionCron
	PostNotice       func(ctx context.Context, id, text string) error
	OnBackgroundHook func(hooks.Progress)
	// Tool calls a team tool.
	Tool func(ctx context.Context, c ToolCall) (agent.ToolResult, error)
	// Policy asks a gate of covey that needs the team's tasks or answers.
	Policy func(ctx context.Context, name string, in hooks.Input) hooks.Result
}

// Signal acts on a running turn.
type Signal struct {
	Interrupt string `json:"interrupt,omitempty"` // why the turn is interrupted; empty: it is not
	Message   string `json:"message,omitempty"`   // message for which running calls are cut short
	Turn      bool   `json:"turn,omitempty"`      // Message ends the turn instead
	Leave     bool   `json:"leave,omitempty"`     // the member has agreed to leave the team
}

// State is what a member does in the background.
type State struct {
	Helpers int                    `json:"helpers,omitempty"`
	Runs    []hooks.BackgroundTask `json:"runs,omitempty"`    // commands of its tools
	Awaited string                 `json:"awaited,omitempty"` // the command whose end is awaited
}

// Standing is what a team knows of a member.
type Standing struct {
	InProgress []tasks.Task        `json:"in_progress,omitempty"`
	OnHold     string              `json:"on_hold,omitempty"`
	Crons      []hooks.SessionCron `json:"crons,omitempty"`
	Present    bool                `json:"present,omitempty"` // somebody can be asked
}

// Passed are tasks whose gates have passed, and the work as the gates saw it.
type Passed struct {
	Tasks []tasks.Task      `json:"tasks"`
	Copy  worktree.Snapshot `json:"copy"`
}

// ToolCall is a call of a team tool.
type ToolCall struct {
	Tool    string            `json:"tool"`
	Program bool              `json:"program,omitempty"` // Tool is the name for agent programs
	Command bool              `json:"command,omitempty"` // Tool is a command of covey, as in the member's shell
	Call    agent.ToolCall    `json:"call"`
	Copy    worktree.Snapshot `json:"copy"` // what the member's copy has; zero: as last time
}

// Verdict asks a gate of covey about an event.
type Verdict struct {
	Gate       string                    `json:"gate"`
	Event      hooks.Event               `json:"event"`
	Task       *hooks.TaskCompletedInput `json:"task,omitempty"`       // of TaskCompleted
	Completing bool                      `json:"completing,omitempty"` // the task is completed if its gates agree
	Asks       bool                      `json:"asks,omitempty"`       // the question is asked that the gate waits for
	Copy       worktree.Snapshot         `json:"copy"`
}

// Judged is the answer to a Verdict.
type Judged struct {
	Result hooks.Result `json:"result"`
	MayAsk bool         `json:"may_ask,omitempty"` // the gate has a question that has not been asked
}

// Question asks about a tool call.
type Question struct {
	Question teammate.Question `json:"question"`
	Unbegun  bool              `json:"unbegun,omitempty"` // it asks whether the call of an earlier run has begun
}

// Answer is the answer to a Question.
type Answer struct {
	Answer  teammate.Answer `json:"answer"`
	Unbegun bool            `json:"unbegun,omitempty"`
}

// Notice is a message of a member to itself: the result of a helper or of a background command, once per id.
type Notice struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Report is something that has happened to a member. One field of it is set.
type Report struct {
	Event  *events.Line       `json:"event,omitempty"`
	Spent  *Spent             `json:"spent,omitempty"`
	State  *State             `json:"state,omitempty"`
	Hook   *hooks.Progress    `json:"hook,omitempty"` // of a hook in the background
	Notice *Notice            `json:"notice,omitempty"`
	Lines  *Lines             `json:"lines,omitempty"`
	Idle   *Idle              `json:"idle,omitempty"`
	Ended  *Ended             `json:"ended,omitempty"`
	Copy   *worktree.Snapshot `json:"copy,omitempty"` // what a life has given that ends in the middle of its turn
}

// Spent are tokens, such as those of a model request.
type Spent struct {
	Usage agent.Usage `json:"usage"`
	USD   float64     `json:"usd,omitempty"`
}

// Idle means that a member waits for work.
type Idle struct {
	Done uint64            `json:"done"` // number of the Turn that has ended; 0: the session has begun
	Copy worktree.Snapshot `json:"copy"`
}

// Ended means that a life has ended.
type Ended struct {
	Error   string   `json:"error,omitempty"`
	Halt    bool     `json:"halt,omitempty"`    // a hook has stopped the member for good
	Rotated *Rotated `json:"rotated,omitempty"` // another session takes its place
}

// Rotated is a session that another one follows, which begins with Work.
type Rotated struct {
	Handover transcript.Handover `json:"handover"`
	Work     teammate.Work       `json:"work"`
}

// Err returns what Mate.Run returns.
func (e Ended) Err() error {
	switch {
	case e.Error == "":
		return nil
	case e.Halt:
		return haltedError{e.Error}
	}
	return errors.New(e.Error)
}

// haltedError is a teammate.ErrHalted of another host.
type haltedError struct{ text string }

// Error returns the text.
func (e haltedError) Error() string { return e.text }

// Is reports whether the error is teammate.ErrHalted.
func (e haltedError) Is(target error) bool { return target == teammate.ErrHalted }

// Local is a member of the same process.
type Local struct{ *teammate.Teammate }

// Signal implements Mate.
func (l Local) Signal(s Signal) {
	switch {
	case s.Leave:
		l.Leave()
	case s.Interrupt != "":
		l.Interrupt(s.Interrupt)
	default:
		l.CutShort(s.Message, s.Turn)
	}
}

// SetMode implements Mate.
func (l Local) SetMode(mode string) error { return l.Rights().SetMode(mode) }

// State implements Mate. Commands in the background belong to the tools of the seat.
func (l Local) State() State { return State{Helpers: l.Helpers()} }
