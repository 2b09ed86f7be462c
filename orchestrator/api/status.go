package api

import (
	"context"
	"iter"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/tasks"
)

// The verbs that return the state of a team.
var (
	VerbStatus = forAll[StatusQuery, Status]("status")
	VerbReady  = forAll[struct{}, Status]("ready") // answered once all members have started
)

// StatusQuery describes what is wanted of a Status.
type StatusQuery struct {
	// Brief leaves out the working copies, because git takes processes to look at them.
	Brief bool `json:"brief,omitempty"`
}

// MemberState is what a member does, as `covey ps` shows it.
type MemberState string

// The states of members. A member that waits for a person or another member
// within its turn is Working, and MemberStatus.WaitsFor names what it waits for.
const (
	Starting       MemberState = "starting"
	Working        MemberState = "working"
	Resting        MemberState = "idle"
	Waiting        MemberState = "waiting" // before its turn, for WaitsFor
	Limited        MemberState = "limited" // its agent's usage limit is reached
	LoggedOut      MemberState = "logged out"
	NeedsAttention MemberState = "needs attention"
	Held           MemberState = "held" // until the operator resumes it or writes to it
	Ended          MemberState = "ended"
)

// Status is the state of a running team, as `covey ps` shows it. For a
// team that does not run, `covey ps` fills one in from its files.
type Status struct {
	Team      string         `json:"team"`
	Goal      string         `json:"goal"`
	Workspace string         `json:"workspace"`
	Spec      string         `json:"spec"`
	PID       int            `json:"pid,omitempty"` // 0: not running
	Up        bool           `json:"up"`            // all members have started
	Started   time.Time      `json:"started"`
	Elapsed   time.Duration  `json:"elapsed_ns"` // since Started, until the run ended
	Members   []MemberStatus `json:"members"`    // the lead first
	Nodes     []NodeStatus   `json:"nodes,omitempty"`
	Tasks     TaskCounts     `json:"tasks"`
	Work      WorkCounts     `json:"work"`
	Attached  int            `json:"attached"` // operators attached now
	Seq       uint64         `json:"seq"`      // last line of the journal
	FailOpen  int            `json:"failed_open"`
	Requests  int            `json:"requests"` // open questions for people, see `covey inbox`
	// Coordination is what the lead has spent on notices in this run. It is nil
	// for a team that does not run.
	Coordination *events.Coordination `json:"coordination,omitempty"`
	Turns        events.TurnCount     `json:"turns"`            // of this run, or of the last one
	Result       *state.RunResult     `json:"result,omitempty"` // of the last run; nil while one runs
	// Schedules are the schedules of the running team, in file order.
	Schedules []ScheduleStatus `json:"schedules,omitempty"`
	// Servers are the MCP servers of the running team's spec, by name.
	Servers []ServerStatus `json:"mcp_servers,omitempty"`
	// Budget is the use of the team's budget, over all runs.
	Budget []events.BudgetUse `json:"budget,omitempty"`
	// Bus is the state of the servers that keep the running team's data; nil: it has none.
	Bus *events.Bus `json:"bus,omitempty"`
}

// ServerStatus is one MCP server in a Status.
type ServerStatus struct {
	Name  string      `json:"name"`
	State ServerState `json:"state"`
	Tools int         `json:"tools"`         // how many it has listed
	Why   string      `json:"why,omitempty"` // it is down
}

// ServerState is the state of an MCP server.
type ServerState string

// The states of MCP servers.
const (
	ServerIdle       ServerState = "idle" // no member has needed it yet
	ServerConnecting ServerState = "connecting"
	ServerConnected  ServerState = "connected"
	ServerDown       ServerState = "down" // covey tries again
)

// ScheduleStatus is one schedule in a Status.
type ScheduleStatus struct {
	Name string    `json:"name"`
	Cron string    `json:"cron"` // with its time zone, if it has one
	What string    `json:"what"`
	Last time.Time `json:"last,omitzero"` // when it last ran; zero: never
	// Next is its next run; zero: never. For a team that does not run it may be in the
	// past: the next `covey up` then runs it once.
	Next time.Time `json:"next,omitzero"`
}

// MemberStatus is one member in a Status.
type MemberStatus struct {
	Name       string      `json:"name"`
	Lead       bool        `json:"lead"`
	Agent      string      `json:"agent"`          // builtin/script, …
	Node       string      `json:"node,omitempty"` // the host that carries it; empty: the one that runs the team does
	State      MemberState `json:"state"`
	Doing      string      `json:"doing,omitempty"` // the running tool call or hook, on one line
	Turn       int         `json:"turn"`            // counts from 1; 0 before the first
	Pass       int         `json:"pass"`            // of this turn, from 1; 0 between turns
	Task       string      `json:"task,omitempty"`  // id of the task in progress with the lowest id
	Subject    string      `json:"task_subject,omitempty"`
	WaitsFor   string      `json:"waits_for,omitempty"` // text for people: "task 3 (api)", "nothing", …
	Attention  string      `json:"attention,omitempty"` // why it needs attention
	Held       bool        `json:"held,omitempty"`      // it begins no turn until it is resumed; it may still be in one
	Unread     int         `json:"unread"`
	FailedOpen int         `json:"failed_open"` // failures of hooks that fail open, in this run
	// Box is the level of the sandbox of its programs, such as 1, with ! if it lacks something; empty without one.
	Box             string         `json:"box,omitempty"`
	BoxLost         []string       `json:"box_lost,omitempty"` // what it lacks
	Denied          map[string]int `json:"denied,omitempty"`   // by path, what its programs were kept from
	accounts.Counts                // in this run
	// Background lists the running background hooks.
	Background []string `json:"background_hooks,omitempty"`
	// Worktree is its working copy. It is nil if the member works in the
	// workspace, or if the team does not run.
	Worktree *workcopies.Status `json:"worktree,omitempty"`
	// Hooks counts the hooks that failed open, and those in mode observe that
	// would have had an effect.
	Hooks []accounts.HookCount `json:"hooks,omitempty"`
	// Limits is the use of its own limits, over all runs.
	Limits []events.BudgetUse `json:"limits,omitempty"`
	// CostUSD is the known part of its cost, over all runs, in US dollars.
	CostUSD float64 `json:"cost_usd,omitempty"`
	// LimitedUntil is when a member of state Limited tries again.
	LimitedUntil time.Time `json:"limited_until,omitzero"`
}

// NodeStatus describes a host that carries members, besides the one that runs the team.
type NodeStatus struct {
	events.NodeChanged
	Since   time.Time `json:"since"`             // of its state
	Members []string  `json:"members,omitempty"` // those that sit there
	Free    int       `json:"free"`              // places
}

// SetTask sets the member's task in progress. own are the indexes in all of its tasks.
func (m *MemberStatus) SetTask(own []int, all []tasks.Outline) {
	for _, i := range own {
		if all[i].Status == tasks.InProgress {
			m.Task, m.Subject = all[i].ID, all[i].Subject
			return
		}
	}
}

// SetBlocker sets what a member at rest waits for: the first pending task of its own that is blocked,
// unless it waits for something else.
func (m *MemberStatus) SetBlocker(own []int, all []tasks.Outline) {
	for _, i := range own {
		if by := all[i].OpenBlockers(all); m.State == Resting && m.WaitsFor == "" && all[i].Status == tasks.Pending && len(by) > 0 {
			m.WaitsFor = tasks.Named(by...)
		}
	}
}

// OwnedTasks returns the indexes in all of each member's tasks, completed ones too.
func OwnedTasks(all []tasks.Outline) map[string][]int {
	owned := map[string][]int{}
	for i := range all {
		owned[all[i].Owner] = append(owned[all[i].Owner], i)
	}
	return owned
}

// TaskCounts counts the team's tasks. Ready and Blocked are parts of Pending.
type TaskCounts struct {
	Pending    int `json:"pending"`
	InProgress int `json:"in_progress"`
	Completed  int `json:"completed"`
	Ready      int `json:"ready"`
	Blocked    int `json:"blocked"`
}

// Total returns the number of tasks.
func (c TaskCounts) Total() int { return c.Pending + c.InProgress + c.Completed }

// CountTasks counts tasks by status.
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

// WorkCounts counts the tasks with changes that are to be merged.
type WorkCounts struct {
	Tasks  int `json:"tasks"`
	Merged int `json:"merged"`
	// SentBack counts how often finished work was not accepted as a whole: by a person, an approver, or
	// where it was to be merged. Of a team that does not run it is about its last run.
	SentBack int `json:"sent_back"`
}

// CountWork counts tasks by what became of their newest work; empty: a task has none.
func CountWork(states iter.Seq[tasks.MergeState]) (n WorkCounts) {
	for s := range states {
		if s != "" && s != tasks.MergeDropped {
			n.Tasks++
		}
		if s == tasks.MergeDone {
			n.Merged++
		}
	}
	return n
}

// Status returns the current state of the team.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return ask(ctx, c, VerbStatus, StatusQuery{})
}

// Brief returns the current state of the team without the working copies, for those who ask often.
func (c *Client) Brief(ctx context.Context) (Status, error) {
	return ask(ctx, c, VerbStatus, StatusQuery{Brief: true})
}

// WaitUp waits until all members have started, and returns the state of the team.
func (c *Client) WaitUp(ctx context.Context) (Status, error) {
	return ask(ctx, c, VerbReady, struct{}{})
}
