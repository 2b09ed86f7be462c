package view

import (
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// Turn is one turn of a member. Its gates are those of State.Gates with its Member and Number.
type Turn struct {
	Member string `json:"member"`
	Number int    `json:"turn"`
	// First and Last are the numbers of its first line and its last one so far.
	First   uint64       `json:"first"`
	Last    uint64       `json:"last"`
	Cause   events.Cause `json:"cause"`
	Prompt  string       `json:"prompt"` // its beginning
	Started time.Time    `json:"started"`
	Ended   time.Time    `json:"ended,omitzero"`
	// Reason is one of the agent.End constants; "cut" if the run ended or the member started
	// again within the turn, or if the line of its end was lost; empty: it goes on.
	Reason string `json:"reason,omitempty"`
	Passes int    `json:"passes"`
	// Calls counts tool calls, those of helpers too.
	Calls int `json:"calls"`
	// Refusals counts those of the turn end and those of hooks at tools.
	Refusals int         `json:"refusals"`
	Usage    agent.Usage `json:"usage"`
	CostUSD  float64     `json:"cost_usd"`
	Empty    bool        `json:"empty,omitempty"`
	Tasks    []string    `json:"tasks,omitempty"` // that were in progress in it
	// Answer is the first line of the model's last answer. Answered means that a result has come since, so
	// that what comes next is another answer.
	Answer   uint64 `json:"answer,omitempty"`
	Answered bool   `json:"answered,omitempty"`
}

// Verdict is the result of a Gate.
type Verdict string

// The verdicts.
const (
	Judging Verdict = "judging" // its hooks run
	Agreed  Verdict = "agreed"
	Refused Verdict = "refused"
	Awaits  Verdict = "awaits" // an answer is missing
	Halted  Verdict = "halted" // a hook ended the turn or the member
	Cut     Verdict = "cut"    // the turn was interrupted before all hooks had ended
)

// Gate is one run of all hooks of Stop, TaskCompleted or TeammateIdle: at a turn end, at a
// call that completes a task, or at a merge.
type Gate struct {
	ID    string `json:"tool_use_id"`
	Event string `json:"event"`
	At    Moment `json:"at"`
	// Member is whose turn it is; at a merge, whose work it is.
	Member string `json:"member,omitempty"`
	Turn   int    `json:"turn,omitempty"`
	Pass   int    `json:"pass,omitempty"` // the passes of the turn so far
	// Task is the id of the task that TaskCompleted is about, and Merge that of the merge that
	// is judged.
	Task  string `json:"task,omitempty"`
	Merge string `json:"merge,omitempty"`
	// Number counts the gates of this event in the turn, and for this task, from 1: above 1
	// it is asked again.
	Number int `json:"number"`
	// First and Last are the numbers of its first line and its last one so far.
	First   uint64    `json:"first"`
	Last    uint64    `json:"last"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Verdict Verdict   `json:"verdict"`
	// By are the commands of the hooks that decided so, unless all agreed. Those that halted
	// are not known. Reason is what they said, or whose answer is missing.
	By     []string `json:"by,omitempty"`
	Reason string   `json:"reason,omitempty"`
	// Hooks are its hooks, in the order of their beginnings.
	Hooks []HookRun `json:"hooks,omitempty"`
}

// Moment describes where a Gate stands.
type Moment string

// The moments of gates.
const (
	AtTurnEnd Moment = "turn_end"
	AtCall    Moment = "tool"
	AtMerge   Moment = "merge"
)

// HookRun is one hook of a Gate. Its output is in the line Seq.
type HookRun struct {
	Seq        uint64 `json:"seq"` // number of the line that reports its end; 0: it runs
	Command    string `json:"command"`
	Outcome    string `json:"outcome,omitempty"` // of events.HookFinished
	ExitCode   int    `json:"exit_code"`
	DurationMS int64  `json:"duration_ms"`
	// Output is the first line that says something of its errors, else of its output.
	Output     string `json:"output,omitempty"`
	FailedOpen bool   `json:"failed_open,omitempty"`
	// Observed is what a hook that only observes would have decided. It has no effect.
	Observed string `json:"observed,omitempty"`
	// Awaits is whose answer it waits for.
	Awaits string `json:"awaits,omitempty"`
	// Tree is the git tree of the files that it judged. It is known of command gates of members
	// with a working copy, and of merges.
	Tree string `json:"tree,omitempty"`
	// Reused is set if it did not run, because it had agreed to the same files before, at
	// Judged.
	Reused bool      `json:"reused,omitempty"`
	Judged time.Time `json:"judged,omitzero"`
}
