package orchestrator

import "time"

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
