package view

import (
	"strconv"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/api"
)

// Member is one member of the team. What it has done and the numbers of its turns are of this
// run; its tasks, mail, texts and Spent are of all runs. A new field is of one run unless begin
// copies it.
type Member struct {
	Name string `json:"name"`
	Lead bool   `json:"lead,omitempty"`
	// Left is set if it is not in the team any more, after a change of the spec.
	Left bool `json:"left,omitempty"`
	// Agent is what thinks for it now (builtin/script, …), and Session its conversation.
	Agent   string `json:"agent"`
	Session string `json:"session,omitempty"`

	// Node is the host that carries it; empty: the one that runs the team does.
	Node string `json:"node,omitempty"`
	// Reported is the number of the last report of that node which is a line of the journal.
	Reported uint64 `json:"-"`
	LastNode string `json:"-"` // Node of this run or of an earlier one

	// State is decided from Stage and from what it waits for (Member.decide).
	State api.MemberState `json:"state"`
	Since time.Time       `json:"since,omitzero"` // when State began
	Stage Stage           `json:"stage"`
	// Gate is the event of the turn end whose hooks run now: Stop, TaskCompleted or
	// TeammateIdle. The member is then api.Working.
	Gate string `json:"gate,omitempty"`
	// Doing describes in one line what it does, or for an idle member what it said last.
	Doing string `json:"doing,omitempty"`
	// WaitsFor describes for people what it waits for. It is decided with State.
	WaitsFor string `json:"waits_for,omitempty"`
	// Waits are what parts of the team have told that it waits for.
	Waits map[events.WaitKind]events.Waiting `json:"waits,omitempty"`
	// HeldUp is why its turn shows no progress.
	HeldUp string `json:"held_up,omitempty"`
	// Awaits is whose answer it waits for, of the oldest open request about it.
	Awaits string `json:"awaits,omitempty"`
	// Held is set while it begins no turn until it is resumed.
	Held *Hold `json:"held,omitempty"`
	// Gone is why it takes no more turns in this run, although its team goes on.
	Gone string `json:"gone,omitempty"`
	// Calls are its tool calls without a result.
	Calls []Call `json:"calls,omitempty"`
	// Attention is why it needs a person.
	Attention      string    `json:"attention,omitempty"`
	AttentionSince time.Time `json:"attention_since,omitzero"`
	// Lockout is why its agent cannot answer. It ends with the next turn, or in a run that tries again
	// at once.
	Lockout *Lockout `json:"lockout,omitempty"`

	Turn int `json:"turn"`           // counts from 1 over all runs; 0 before the first of this run
	Pass int `json:"pass,omitempty"` // of this turn; 0 between turns
	// InTurn is set from the beginning of a turn to its end.
	InTurn bool `json:"in_turn,omitempty"`
	// AtLimit means that it needs attention because one of its limits is used up.
	AtLimit bool `json:"at_limit,omitempty"`
	// InProgress are the ids of its tasks in progress.
	InProgress []string      `json:"in_progress,omitempty"`
	Done       accounts.Done `json:"done"`  // in this run
	Spent      Spent         `json:"spent"` // in all runs
	// CostTold means that the cost in Spent was reported and includes turns that go on. Otherwise it is
	// the sum of the turns that have ended.
	CostTold bool `json:"cost_told,omitempty"`
	// Unreported are the tasks that it has completed since it last wrote to the lead.
	Unreported []string `json:"unreported,omitempty"`
	// Refused is the last line of a refused completion since it had other work than reminders.
	Refused string `json:"refused,omitempty"`
	Unread  int    `json:"unread"` // messages that were sent to it and not delivered

	// Limits is the use of its own limits, over all runs.
	Limits []events.BudgetUse `json:"limits,omitempty"`
	Hooks  accounts.HookTally `json:"hooks,omitempty"` // in this run
	// Texts are what it said last, the newest last.
	Texts []Note `json:"texts,omitempty"`
	// Said is the last of them in this run, which is whole in a running team.
	Said string `json:"-"`
	// Incidents are what happened to its agent, the newest last; IncidentCounts counts all of
	// this run by kind.
	Incidents      []Incident     `json:"incidents,omitempty"`
	IncidentCounts map[string]int `json:"incident_counts,omitempty"`
	Helpers        []Helper       `json:"helpers,omitempty"` // that run now
	Worktree       *Worktree      `json:"worktree,omitempty"`
	// Box is the box of its programs; nil: they have none.
	Box *Box `json:"box,omitempty"`
}

// Box is the sandbox of a member's programs in this run.
type Box struct {
	Level int      `json:"level"`
	Lost  []string `json:"lost,omitempty"` // what the spec asks for and it does not do
	// Denied counts by path what programs were kept from.
	Denied map[string]int `json:"denied,omitempty"`
}

// Word returns the level in short: 2, 1 or 0, with ! if something is lost.
func (b *Box) Word() string {
	if len(b.Lost) > 0 {
		return strconv.Itoa(b.Level) + "!"
	}
	return strconv.Itoa(b.Level)
}

// Stage is how far a member is in its life.
type Stage string

// The stages of members.
const (
	Begins Stage = "begins" // its session has not begun
	InWork Stage = "works"  // it is in a turn
	Idles  Stage = "idles"  // it waits for work
	Over   Stage = "over"   // it takes no more turns
)

// Call is a tool call.
type Call struct {
	ID   string `json:"id"`
	Text string `json:"text"` // the tool and its main input, one line
}

// Hold describes who keeps a member from beginning turns.
type Hold struct {
	By    string    `json:"by"`
	Since time.Time `json:"since"`
	Cut   bool      `json:"cut,omitempty"` // its turn was interrupted
}

// Lockout is why an agent cannot answer.
type Lockout struct {
	Agent string    `json:"agent,omitempty"` // in words for people
	Text  string    `json:"text"`            // what the agent or its vendor said
	Fix   string    `json:"fix,omitempty"`   // the command that logs in
	Key   string    `json:"key,omitempty"`   // what the agent uses in place of a login
	Since time.Time `json:"since"`
	// Until is when the member tries again; zero: not by itself. Known is set if the vendor has
	// reported it; otherwise it is a guess of covey, and a page must not show it as a promise.
	Until time.Time `json:"until,omitzero"`
	Known bool      `json:"known,omitempty"`
	// Left is how many tries are left after a failure.
	Left int `json:"left,omitempty"`
}

// Spent is what a member has used over all runs.
type Spent struct {
	Turns   int     `json:"turns"`
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"cost_usd"` // the known part
}

// Incident is something that happened to a member's agent. Kind is the type of its line:
// compacted, program_restarts, member_restarts, model_switched, agent_changed, watchdog,
// limited, logged_out or turn_failed.
type Incident struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Kind string    `json:"kind"`
	Text string    `json:"text"` // one line for people
	// Before and After are the sizes of the conversation in tokens, of a compaction.
	Before int64 `json:"before_tokens,omitempty"`
	After  int64 `json:"after_tokens,omitempty"`
}

// Helper is a running helper of a member.
type Helper struct {
	ID         string    `json:"id"`
	Kind       string    `json:"agent_type"`
	What       string    `json:"description"`
	Began      time.Time `json:"began"`
	Background bool      `json:"background,omitempty"`
}

// Worktree is a member's working copy.
type Worktree struct {
	Path   string `json:"path"`
	Branch string `json:"branch,omitempty"`
	Base   string `json:"base,omitempty"` // the commit that it started from
	Op     string `json:"op"`             // what happened last: created, adopted, removed, kept, rescued
	Reason string `json:"reason,omitempty"`
}
