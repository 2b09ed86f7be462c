package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrNewer is returned for files that a newer covey wrote.
var ErrNewer = errors.New("written by a newer covey; update covey")

// The events of the team as a whole (DESIGN 7). Members' events are in package
// teammate; those of tasks and messages come out of the store.
type (
	// TeamStarted is the first line of each run.
	TeamStarted struct {
		Goal    string   `json:"goal"`
		Members []string `json:"members"` // the lead first
		Resumed bool     `json:"resumed"`
		Format  int      `json:"format"`            // journalFormat, of the lines of this run
		Version string   `json:"version,omitempty"` // of covey
		Merge   string   `json:"merge,omitempty"`   // what `covey merge` merges; such a run has no turns
	}
	// TeamWaits is sent when nobody can do anything until a usage limit is over.
	TeamWaits struct {
		Until   time.Time `json:"until"`   // when the first of them tries again
		Members []string  `json:"members"` // who is waited for
	}
	// TeamEnded is the last line of each run that ended in order.
	TeamEnded struct {
		Reason   string         `json:"reason"`
		ExitCode int            `json:"exit_code"`
		Tasks    map[string]int `json:"tasks"`           // status -> count
		Turns    TurnCount      `json:"turns"`           // of this run
		Merge    string         `json:"merge,omitempty"` // as TeamStarted has it
	}
)

// EventType is the journal's name for it.
func (TeamStarted) EventType() string { return "team_started" }

// EventType is the journal's name for it.
func (TeamWaits) EventType() string { return "team_waits" }

// EventType is the journal's name for it.
func (TeamEnded) EventType() string { return "team_ended" }

// TurnCount says what a team's turns have come to in one run.
type TurnCount struct {
	Turns int `json:"turns"`
	// Empty are turns without a tool call, a message that anybody needed, or a change of
	// a task: they have cost a request for nothing.
	Empty     int `json:"empty"`
	Completed int `json:"completed"` // tasks
	// PerTask is Turns for each completed task; 0 where there is none.
	PerTask float64 `json:"per_task"`
}

// Of is the count with its ratio.
func (n TurnCount) Of(turns, empty, completed int) TurnCount {
	n = TurnCount{Turns: n.Turns + turns, Empty: n.Empty + empty, Completed: n.Completed + completed}
	if n.Completed > 0 {
		n.PerTask = float64(n.Turns) / float64(n.Completed)
	}
	return n
}

// Format is the number of what the journal's lines look like; a run's first line
// carries it. New types and fields need no other one.
const Format = 1

// newerJournal refuses a line that begins a run of a newer format.
func newerJournal(l Line) error {
	if l.Type != (TeamStarted{}).EventType() {
		return nil
	}
	var begun TeamStarted
	if json.Unmarshal(l.Data, &begun) != nil || begun.Format <= Format {
		return nil
	}
	return fmt.Errorf("the run that begins with line %d was %w (format %d, this one reads up to %d)",
		l.Seq, ErrNewer, begun.Format, Format)
}

// What a BudgetUse is about.
const (
	Tokens = "tokens"
	USD    = "usd"
	Time   = "time"
)

// BudgetUse is how much of one limit is used: of a member's own, or of the
// team's budget. The journal has it each time that 50, 75, 90 or 100 percent are
// reached.
type BudgetUse struct {
	Member string  `json:"member,omitempty"` // whose limit it is; empty: the team's
	What   string  `json:"what"`             // tokens, usd or time
	Used   float64 `json:"used"`             // tokens, US dollars or seconds, of all runs
	Limit  float64 `json:"limit"`            // likewise; 0: none
	Level  int     `json:"level"`            // 50, 75, 90 or 100 once that much of it is used, else 0
	// Least says that not all that was used is known: Used is the least.
	Least bool `json:"least,omitempty"`
}

// EventType is the journal's name for it.
func (BudgetUse) EventType() string { return "budget" }

// Amount is the use for people and models: 12000 of 20000 tokens.
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

// String is the use as `covey ps` shows it: 12000 of 20000 tokens (60 %).
func (u BudgetUse) String() string {
	return fmt.Sprintf("%s (%.0f %%)", u.Amount(), u.Used*100/u.Limit)
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Second)
}
