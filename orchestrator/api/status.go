package api

import (
	"context"
	"time"

	"github.com/coveyteam/covey/orchestrator/budget"
	"github.com/coveyteam/covey/orchestrator/hooklist"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/schedule"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/tasks"
)

// The verbs that tell how a team is.
var (
	VerbStatus = forAll[struct{}, Status]("status")
	VerbReady  = forAll[struct{}, Status]("ready") // answered once all members have started
)

// MemberState says what a member does, for `ps`.
type MemberState string

// The states of members. A member that waits for a person or another member
// is Working, and MemberStatus.WaitsFor says for what.
const (
	Starting       MemberState = "starting"
	Working        MemberState = "working"
	Resting        MemberState = "idle"
	Waiting        MemberState = "waiting" // for what WaitsFor says, before its turn
	Limited        MemberState = "limited" // its agent's usage limit is reached
	LoggedOut      MemberState = "logged out"
	NeedsAttention MemberState = "needs attention"
	Held           MemberState = "held" // until it is resumed or the operator writes to it
	Ended          MemberState = "ended"
)

// Status is a running team as `covey ps` shows it. ReadStatus gives the same
// for a team that does not run.
type Status struct {
	Team      string         `json:"team"`
	Goal      string         `json:"goal"`
	Workspace string         `json:"workspace"`
	Spec      string         `json:"spec"`
	PID       int            `json:"pid,omitempty"` // 0: not running
	Up        bool           `json:"up"`            // all members have started
	Started   time.Time      `json:"started"`
	Elapsed   time.Duration  `json:"elapsed_ns"` // since Started; of the whole run when it has ended
	Members   []MemberStatus `json:"members"`    // the lead first
	Tasks     TaskCounts     `json:"tasks"`
	Attached  int            `json:"attached"` // operators attached now
	Seq       uint64         `json:"seq"`      // last line of the journal
	FailOpen  int            `json:"failed_open"`
	Requests  int            `json:"requests"` // questions that wait for a person: `covey inbox`
	// Coordination is what the lead has spent on notices in this run; nil for a
	// team that does not run.
	Coordination *budget.Coordination `json:"coordination,omitempty"`
	Turns        journal.TurnCount    `json:"turns"`            // of this run, or of the last one
	Result       *state.RunResult     `json:"result,omitempty"` // of the last run; nil while one runs
	// Schedules are those of the running team, in file order.
	Schedules []schedule.Status `json:"schedules,omitempty"`
	// Budget is what is used of the team's budget, over all runs.
	Budget []journal.BudgetUse `json:"budget,omitempty"`
}

// MemberStatus is one member in a Status.
type MemberStatus struct {
	Name       string      `json:"name"`
	Lead       bool        `json:"lead"`
	Agent      string      `json:"agent"` // builtin/script, …
	State      MemberState `json:"state"`
	Doing      string      `json:"doing,omitempty"` // the tool call or hook under way, one line
	Turn       int         `json:"turn"`            // counts from 1; 0 before the first
	Pass       int         `json:"pass"`            // of this turn, from 1; 0 between turns
	Task       string      `json:"task,omitempty"`  // id of the task in progress with the lowest id
	Subject    string      `json:"task_subject,omitempty"`
	WaitsFor   string      `json:"waits_for,omitempty"` // for people: "task 3 (api)", "nothing", …
	Attention  string      `json:"attention,omitempty"` // why it needs attention
	Held       bool        `json:"held,omitempty"`      // it begins no turn until it is resumed; it may be in one yet
	Unread     int         `json:"unread"`
	Turns      int         `json:"turns"`       // in this run
	Empty      int         `json:"empty_turns"` // those of them that did nothing
	Refusals   int         `json:"refusals"`    // by gates, in this run
	FailedOpen int         `json:"failed_open"` // hooks that failed and let it pass, in this run
	Tokens     int64       `json:"tokens"`
	// TokensUnknown: its agent program did not tell all that it used; Tokens is
	// what it told.
	TokensUnknown bool `json:"tokens_unknown,omitempty"`
	// Background are the hooks that run though nobody waits for them.
	Background []string `json:"background_hooks,omitempty"`
	// Worktree is its working copy; nil: it works in the workspace, or the team does not
	// run.
	Worktree *trees.Status `json:"worktree,omitempty"`
	// Hooks are those that failed and let it pass, and those that only observed and
	// would have done something.
	Hooks []hooklist.Count `json:"hooks,omitempty"`
	// Limits are how much is used of its own limits, over all runs.
	Limits []journal.BudgetUse `json:"limits,omitempty"`
	// CostUSD is what it has cost, over all runs, in US dollars as far as it is known.
	CostUSD float64 `json:"cost_usd,omitempty"`
	// LimitedUntil is when a member of state Limited tries again.
	LimitedUntil time.Time `json:"limited_until,omitzero"`
}

// TaskCounts counts the team's tasks. Ready and Blocked are parts of Pending.
type TaskCounts struct {
	Pending    int `json:"pending"`
	InProgress int `json:"in_progress"`
	Completed  int `json:"completed"`
	Ready      int `json:"ready"`
	Blocked    int `json:"blocked"`
}

// Total is the number of tasks.
func (c TaskCounts) Total() int { return c.Pending + c.InProgress + c.Completed }

// CountTasks counts tasks by what can be done about them.
func CountTasks(all []tasks.Outline) TaskCounts {
	var n TaskCounts
	for i := range all {
		switch all[i].Status {
		case tasks.Completed:
			n.Completed++
		case tasks.InProgress:
			n.InProgress++
		default:
			n.Pending++
			if len(all[i].OpenBlockers(all)) == 0 {
				n.Ready++
			} else {
				n.Blocked++
			}
		}
	}
	return n
}

// Status tells what the team does now.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return ask(ctx, c, VerbStatus, struct{}{})
}

// WaitUp waits until all members have started and tells how the team is then.
func (c *Client) WaitUp(ctx context.Context) (Status, error) {
	return ask(ctx, c, VerbReady, struct{}{})
}
