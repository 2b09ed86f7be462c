package journal

import (
	"errors"
	"fmt"
	"time"
)

// ErrNewer is returned for files that a newer covey wrote.
var ErrNewer = errors.New("written by a newer covey; update covey")

// The events of the team as a whole. Members' events are in package
// teammate, and those of tasks and messages in package tasks.
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
	}
	// TeamWaits is written when all members wait for the end of a usage limit.
	TeamWaits struct {
		Until   time.Time `json:"until"`   // when the first member tries again
		Members []string  `json:"members"` // the members at their limits
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

// EventType returns the event's type in the journal.
func (TeamStarted) EventType() string { return "team_started" }

// EventType returns the event's type in the journal.
func (TeamWaits) EventType() string { return "team_waits" }

// EventType returns the event's type in the journal.
func (TeamEnded) EventType() string { return "team_ended" }

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

// Format is the version of the journal's line format. Each line holds it. New types and
// fields do not change it.
const Format = 1

// newerJournal returns an error for a line of a newer format. Its data may mean anything, so
// that neither a reader may show it nor a writer may continue after it.
func newerJournal(l Line) error {
	if l.Format <= Format {
		return nil
	}
	return fmt.Errorf("line %d was %w (format %d, this one reads up to %d)", l.Seq, ErrNewer, l.Format, Format)
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

// EventType returns the event's type in the journal.
func (BudgetUse) EventType() string { return "budget" }

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
