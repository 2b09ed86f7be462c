package events

import (
	"fmt"
	"strings"
	"time"
)

// The events of the team as a whole.
type (
	// TeamStarted is the first line of each run.
	TeamStarted struct {
		Goal    string   `json:"goal"`
		Members []string `json:"members"` // the lead first
		Resumed bool     `json:"resumed"`
		Version string   `json:"version,omitempty"` // of covey
		Merge   string   `json:"merge,omitempty"`   // what `covey merge` merges; such a run has no turns
		// Spec is the path of the spec, and Workspace that of the folder that the team works in.
		Spec      string `json:"spec,omitempty"`
		Workspace string `json:"workspace,omitempty"`
		Gated     bool   `json:"gated,omitempty"` // gates judge completed tasks
	}
	// TeamWaits is written when all members wait for the end of a usage limit.
	TeamWaits struct {
		Until   time.Time `json:"until"`   // when the first member tries again
		Members []string  `json:"members"` // the members at their limits
	}
	// Bus is the state of the servers that keep the team's data, and of the host that leads the team. It
	// is written when that host begins, and when the standby, the quorum or what is unsafe changes.
	Bus struct {
		Host    string    `json:"host"`
		Since   time.Time `json:"since"`
		Epoch   uint64    `json:"epoch"`
		Standby string    `json:"standby,omitempty"` // the host that waits; empty: none does
		Quorum  bool      `json:"quorum"`            // the servers answer
		Acked   time.Time `json:"acked,omitzero"`    // when they acknowledged something last; zero: unknown
		Unsafe  string    `json:"unsafe,omitempty"`  // why they may lose data; empty: they do not
	}
	// NodeChanged is written when a node joins, is away, lost or here again, drains, or leaves.
	NodeChanged struct {
		Node     string   `json:"node"`
		State    string   `json:"state"` // here, away, lost or left
		Labels   []string `json:"labels,omitempty"`
		Places   int      `json:"places"`
		Version  string   `json:"version,omitempty"`  // of covey there
		Draining bool     `json:"draining,omitempty"` // it takes no more members
		Trouble  string   `json:"trouble,omitempty"`  // why, unless its owner wants it
	}
	// MemberPlaced is written when a member gets a place on a node.
	MemberPlaced struct {
		Node string `json:"node"`
	}
	// TeamEnded is the last line of each run that was not killed.
	TeamEnded struct {
		Reason   string         `json:"reason"`
		ExitCode int            `json:"exit_code"`
		Fault    string         `json:"fault,omitempty"` // a code of docs/errors.md; empty: all work is done
		Tasks    map[string]int `json:"tasks"`           // status -> count
		Turns    TurnCount      `json:"turns"`           // of this run
		Merge    string         `json:"merge,omitempty"` // as in TeamStarted
	}
)

// Type implements Data.
func (TeamStarted) Type() string { return "team_started" }

// Type implements Data.
func (TeamWaits) Type() string { return "team_waits" }

// Type implements Data.
func (Bus) Type() string { return "bus" }

// String describes the state on one line, which is the same on all screens.
func (b Bus) String() string {
	parts := []string{"coordinator " + b.Host + " since " + b.Since.Local().Format(time.DateTime), fmt.Sprintf("epoch %d", b.Epoch), "no standby"}
	if b.Standby != "" {
		parts[2] = "standby " + b.Standby
	}
	quorum := "quorum"
	if !b.Quorum {
		quorum = "no quorum: no turns begin"
	}
	parts = append(parts, quorum)
	if !b.Acked.IsZero() {
		parts = append(parts, "last ack "+b.Acked.Local().Format(time.TimeOnly))
	}
	if b.Unsafe != "" {
		parts = append(parts, b.Unsafe)
	}
	return strings.Join(parts, " · ")
}

// Bad reports whether people have to look at it.
func (b Bus) Bad() bool { return !b.Quorum || b.Unsafe != "" }

// Type implements Data.
func (NodeChanged) Type() string { return "node_changed" }

// Type implements Data.
func (MemberPlaced) Type() string { return "member_placed" }

// Type implements Data.
func (TeamEnded) Type() string { return "team_ended" }

// TurnCount counts a team's turns in one run.
type TurnCount struct {
	Turns int `json:"turns"`
	// Empty counts turns without a tool call, a message that anybody needed, or a
	// change of a task, which cost a request for nothing.
	Empty     int `json:"empty"`
	Completed int `json:"completed"` // tasks
	// PerTask is Turns per completed task; 0 if no task was completed.
	PerTask float64 `json:"per_task"`
}

// Of returns the count with these numbers added, and with its ratio.
func (n TurnCount) Of(turns, empty, completed int) TurnCount {
	n = TurnCount{Turns: n.Turns + turns, Empty: n.Empty + empty, Completed: n.Completed + completed}
	if n.Completed > 0 {
		n.PerTask = float64(n.Turns) / float64(n.Completed)
	}
	return n
}

// The values of BudgetUse.What.
const (
	Tokens = "tokens"
	USD    = "usd"
	Time   = "time"
)

// BudgetUse is the use of one limit: a member's own, or one of the team's budget.
// It is written to the journal when the use reaches 50, 75, 90 and 100 percent.
type BudgetUse struct {
	Member string  `json:"member,omitempty"` // whose limit it is; empty: the team's
	What   string  `json:"what"`             // tokens, usd or time
	Used   float64 `json:"used"`             // tokens, US dollars or seconds, of all runs
	Limit  float64 `json:"limit"`            // in the same unit; 0: none
	Level  int     `json:"level"`            // the reached percentage: 0, 50, 75, 90 or 100
	// Least is set if the use is not fully known, so that Used is a lower bound.
	Least bool `json:"least,omitempty"`
	// Kept is how much of the limit is kept for handing over.
	Kept float64 `json:"-"`
}

// Full reports whether all of the limit is used.
func (u BudgetUse) Full() bool { return u.Used >= u.Limit }

// Type implements Data.
func (BudgetUse) Type() string { return "budget" }

// Amount returns the use for people and models: 12000 of 20000 tokens.
func (u BudgetUse) Amount() string {
	most := ""
	if u.Least {
		most = "at least "
	}
	switch u.What {
	case USD:
		return fmt.Sprintf("%s%.2f of %.2f US dollars", most, u.Used, u.Limit)
	case Time:
		return fmt.Sprintf("%v of %v", seconds(u.Used), seconds(u.Limit))
	}
	return fmt.Sprintf("%s%.0f of %.0f tokens", most, u.Used, u.Limit)
}

// String returns the use as `covey ps` shows it: 12000 of 20000 tokens (60 %).
func (u BudgetUse) String() string {
	return fmt.Sprintf("%s (%.0f %%)", u.Amount(), u.Used*100/u.Limit)
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Second)
}

// MemberUse is what a member has used over all runs, within its turns too. It is sent when that
// changes, if there is a limit or a cost.
type MemberUse struct {
	CostUSD float64     `json:"cost_usd,omitempty"` // the known part
	Limits  []BudgetUse `json:"limits,omitempty"`   // of its own
	Team    []BudgetUse `json:"team,omitempty"`     // of the team's budget
}

// Type implements Data.
func (MemberUse) Type() string { return "use" }

// Coordination is what a turn of the lead, or a run of the team, has spent on notices: idle
// notes and messages of covey. Messages of members do not count, because they are work.
type Coordination struct {
	// Tokens is the number of tokens of notices in the lead's model requests, estimated at
	// four bytes each and counted once per request. A turn for idle notes only counts as a
	// whole.
	Tokens int64 `json:"tokens"`
	// Of is the number of all input and output tokens of the lead's requests, or 0 if its
	// agent does not report them. That of a run includes turns without notices.
	Of int64 `json:"of"`
	// Notices is the number of notices shown, and Turns that of turns for notes only.
	Notices int `json:"notices"`
	Turns   int `json:"turns,omitempty"`
	// Finished is the number of tasks that the team has completed in this run. It is not set
	// for a turn.
	Finished int `json:"finished,omitempty"`
	// Estimated is set if Tokens is not a vendor's count.
	Estimated bool `json:"estimated"`
}

// Type implements Data.
func (Coordination) Type() string { return "coordination" }

// Share returns the share of Tokens in Of, from 0 to 1, or 0 if Of is not known.
func (c Coordination) Share() float64 {
	if c.Of <= 0 {
		return 0
	}
	return float64(c.Tokens) / float64(c.Of)
}

// PerTask returns Tokens and Turns for each finished task, of which there is one at least.
func (c Coordination) PerTask() (tokens int64, turns float64) {
	return c.Tokens / int64(c.Finished), float64(c.Turns) / float64(c.Finished)
}

// Plus returns the sum of c and d.
func (c Coordination) Plus(d Coordination) Coordination {
	c.Tokens, c.Of, c.Estimated = c.Tokens+d.Tokens, c.Of+d.Of, true
	c.Notices, c.Turns = c.Notices+d.Notices, c.Turns+d.Turns
	return c
}

// SpecChanged is the difference that another spec makes to a team, or what a team
// that does not run would start with.
type SpecChanged struct {
	Team    string         `json:"team"`
	Running bool           `json:"running"`
	Resumed bool           `json:"resumed,omitempty"` // the team does not run, and ran before
	Members []MemberChange `json:"member_changes"`
	Tasks   []string       `json:"tasks_added"` // their subjects
	// Goal is the lead's new goal; empty if it does not change.
	Goal string `json:"goal,omitempty"`
	// Settings are the other top-level keys of the spec that differ.
	Settings []string `json:"settings"`
	Gated    bool     `json:"gated,omitempty"` // gates judge completed tasks from now on
}

// Type implements Data.
func (SpecChanged) Type() string { return "spec_changed" }

// Empty reports whether nothing changes.
func (c SpecChanged) Empty() bool {
	return len(c.Members) == 0 && len(c.Tasks) == 0 && len(c.Settings) == 0 && c.Goal == ""
}

// MemberChange is what happens to one member.
type MemberChange struct {
	Name   string        `json:"name"`
	Change MemberChanged `json:"change"`
	Agent  string        `json:"agent"`
	Keys   []string      `json:"keys,omitempty"` // of the spec, that differ
}

// MemberChanged describes what happens to a member.
type MemberChanged string

// What may happen to a member.
const (
	MemberStarts  MemberChanged = "starts"  // with the team
	MemberAdded   MemberChanged = "added"   // to a team that runs
	MemberChanges MemberChanged = "changed" // it restarts with its conversation when its turn is over
	MemberRetires MemberChanged = "retired" // it leaves when its turn is over
)

// ScheduleRan reports that a schedule ran.
type ScheduleRan struct {
	Name string    `json:"name"`
	Due  time.Time `json:"due"` // when it was due; much earlier than its line if the team was down
	Task string    `json:"task_id,omitempty"`
	To   string    `json:"to,omitempty"`
	// Skipped is why it had no effect; empty: it had one.
	Skipped string `json:"skipped,omitempty"`
}

// Type implements Data.
func (ScheduleRan) Type() string { return "schedule" }

// Notified reports that a notice was sent, or given up. Its target is named without what may be
// a secret.
type Notified struct {
	To      string   `json:"to"`
	Kind    string   `json:"kind"` // of the notice: question, digest, …
	Member  string   `json:"member,omitempty"`
	IDs     []string `json:"ids,omitempty"` // of the requests and merges
	Count   int      `json:"count"`         // of the things that it is about
	Tries   int      `json:"tries"`
	GivenUp string   `json:"given_up,omitempty"` // why it was given up; empty: it was sent
}

// Type implements Data.
func (Notified) Type() string { return "notified" }

// AfterTurn is what a callback after a turn (hooks.Registry.AfterTurn) returned for
// people.
type AfterTurn struct {
	Callback string         `json:"callback"`
	Message  string         `json:"message,omitempty"`
	Data     map[string]any `json:"data,omitempty"`
}

// Type implements Data.
func (AfterTurn) Type() string { return "after_turn" }
