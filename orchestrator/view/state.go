package view

import (
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/accounts"
)

// Version is the version of the JSON of a State.
const Version = 1

// State is what a journal says about its team, up to the line Seq.
type State struct {
	Version int    `json:"version"` // Version, once a line was applied
	Team    string `json:"team"`
	// First is the number of the first line. Above 1 the fold began in the middle.
	First uint64 `json:"first"`
	// Seq is the number of the last line, and Time its time.
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Gaps []Gap     `json:"gaps,omitempty"`
	// Work is the number of the last line that may have changed more than what a member says and does:
	// tasks, gates, merges, mail, requests, or a turn's begin or end.
	Work uint64 `json:"work,omitempty"`

	// Runs are the runs of the team and of `covey merge`; the present one is the last.
	Runs []Run `json:"runs,omitempty"`
	// Waits is set while all members wait for the end of a usage limit.
	Waits *Wait `json:"waits,omitempty"`
	// Bus is the state of the servers that keep the data of the present run, as last reported; nil: it
	// has none.
	Bus *events.Bus `json:"bus,omitempty"`
	// Budget is the use of the team's budget over all runs, as last reported, at BudgetTime; see
	// BudgetAt.
	Budget     []events.BudgetUse `json:"budget,omitempty"`
	BudgetTime time.Time          `json:"budget_time,omitzero"`
	// Coordination is what the lead has spent on notices in this run; see Noticed.
	Coordination events.Coordination `json:"coordination"`
	// MergeHooks counts the gates at merges in this run.
	MergeHooks accounts.HookTally `json:"merge_hooks,omitempty"`
	// Warnings are those of the team and of its members, which no model sees.
	Warnings []Note `json:"warnings,omitempty"`

	// Gated means that gates judge completed tasks.
	Gated bool `json:"gated,omitempty"`
	// Moves are what has changed in the target branches and the operator's checkout without the
	// merge queue.
	Moves []Note `json:"moves,omitempty"`

	// Members are the lead, then the others as the spec lists them, then those that have left.
	Members []*Member `json:"members,omitempty"`
	// Before is what the last run with members has left, while the present one has none.
	Before *Staff `json:"before,omitempty"`
	// Nodes are the hosts that carry members, besides the one that runs the team, by name.
	Nodes []Node `json:"nodes,omitempty"`
	// Tasks are in the order of their ids, deleted ones too. Graph returns those that are there.
	Tasks []*Task `json:"tasks,omitempty"`
	// The other lists are in the order in which their entries began.
	Requests []*Request `json:"requests,omitempty"`
	Mail     []*Letter  `json:"mail,omitempty"`
	Merges   []*Merge   `json:"merges,omitempty"` // the queue, and what became of the rest
	Turns    []*Turn    `json:"turns,omitempty"`  // of all members
	Gates    []*Gate    `json:"gates,omitempty"`  // at turn ends, at calls and at merges
	Dropped  Dropped    `json:"dropped,omitzero"`

	index index // finds entries; it is not part of the value
}

// Node is a host that carries members, as last reported, at Since.
type Node struct {
	events.NodeChanged
	Since time.Time `json:"since"`
}

// Gap is a row of numbers without lines.
type Gap struct {
	After  uint64 `json:"after"`  // the last line before it
	Before uint64 `json:"before"` // the first line after it
	// Restart is set if a run begins after the gap. The last events of members of a killed
	// run have numbers but may have no lines; any other gap means that lines were lost, or
	// that the reader was not given them.
	Restart bool `json:"restart,omitempty"`
}

// Run is one run of the team, or of `covey merge`.
type Run struct {
	// First and Last are the numbers of its first line and its last one so far.
	First     uint64    `json:"first"`
	Last      uint64    `json:"last"`
	Started   time.Time `json:"started"`
	Goal      string    `json:"goal"`
	Resumed   bool      `json:"resumed,omitempty"`
	Covey     string    `json:"covey,omitempty"` // its version
	Spec      string    `json:"spec,omitempty"`  // file of the spec
	Workspace string    `json:"workspace,omitempty"`
	Merge     string    `json:"merge,omitempty"` // what `covey merge` merges; such a run has no turns
	Ended     time.Time `json:"ended,omitzero"`
	Reason    string    `json:"reason,omitempty"` // why it ended
	// ExitCode is nil while it runs, and if it was killed; Cut is set once the next run shows
	// that it was.
	ExitCode *int `json:"exit_code,omitempty"`
	Cut      bool `json:"cut,omitempty"`
	// Counts are the tasks by status at its end. Turns counts its turns so far.
	Counts   map[string]int   `json:"task_counts,omitempty"`
	Turns    events.TurnCount `json:"turns"`
	Refusals int              `json:"refusals"`
	// Staffed is set once a member has begun its session. A run that finds nothing new has no
	// members.
	Staffed bool `json:"staffed,omitempty"`
}

// Staff is what the members of one run did.
type Staff struct {
	Members    []*Member          `json:"members"`
	MergeHooks accounts.HookTally `json:"merge_hooks,omitempty"`
	Budget     []events.BudgetUse `json:"budget,omitempty"`
}

// Wait is a wait of the whole team for the end of a usage limit.
type Wait struct {
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`   // when the first member tries again
	Members []string  `json:"members"` // the members at their limits
}

// Note is a text for people.
type Note struct {
	Seq    uint64    `json:"seq"`
	Time   time.Time `json:"time"`
	Member string    `json:"member,omitempty"` // empty: of the team
	Text   string    `json:"text"`
}

// Dropped counts the entries that were dropped from the lists of a State, which are bounded.
type Dropped struct {
	Runs     int `json:"runs,omitempty"`
	Warnings int `json:"warnings,omitempty"`
	Requests int `json:"requests,omitempty"`
	Mail     int `json:"mail,omitempty"`
	Merges   int `json:"merges,omitempty"`
	Turns    int `json:"turns,omitempty"`
	Gates    int `json:"gates,omitempty"`
}
