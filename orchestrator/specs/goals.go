package specs

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/tasks"
)

// Store keys.
const (
	GoalKey     = "goal"     // Goal
	keyAnswered = "answered" // answer
)

// Goal is the goal that the lead was given.
type Goal struct {
	Spec  string `json:"spec"`         // the spec's goal at that time
	Given string `json:"given"`        // what the lead was given
	No    int    `json:"no,omitempty"` // number of goals so far, because a goal may be repeated
}

// ReadGoal returns the goal in a store; the zero Goal if there is none.
func ReadGoal(ctx context.Context, s *tasks.Store) (r Goal, err error) {
	err = tasks.ReadValue(ctx, s, GoalKey, &r)
	return r, err
}

// Next returns the goal from now on. A goal from the command line stays until another is
// given there or the spec's own changes.
func (r Goal) Next(given, spec string) Goal {
	switch {
	case given != "":
		return Goal{Spec: spec, Given: given, No: r.No + 1}
	case r.Given == "" && spec != "", spec != r.Spec:
		return Goal{Spec: spec, Given: spec, No: r.No + 1}
	}
	return r
}

// Value returns the goal as it is stored under GoalKey.
func (r Goal) Value() json.RawMessage { return notation.Encode(r) }

// Goals holds the goal of the running team. Any goroutine may call its methods.
type Goals struct {
	store *tasks.Store
	file  string // file of the baseline

	mu   sync.Mutex
	text string
}

// NewGoals returns the Goals of a run. file is the file of the baseline.
func NewGoals(store *tasks.Store, file string) *Goals { return &Goals{store: store, file: file} }

// Set sets the lead's goal.
func (g *Goals) Set(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.text = text
}

// Text returns the lead's goal.
func (g *Goals) Text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text
}

// answer is the lead's answer to a goal that is a question.
type answer struct {
	No   int    `json:"no"` // Goal.No
	Text string `json:"text"`
}

// Answer stores that the lead's goal was a question, and its answer.
func (g *Goals) Answer(ctx context.Context, text string) error {
	goal, err := ReadGoal(ctx, g.store)
	if err != nil {
		return err
	}
	return g.store.Put(ctx, keyAnswered, notation.Encode(answer{No: goal.No, Text: strings.TrimSpace(text)}))
}

// Answered returns the lead's answer to its current goal; empty if the lead has given
// none.
func (g *Goals) Answered(ctx context.Context) (string, error) {
	goal, err := ReadGoal(ctx, g.store)
	if err != nil {
		return "", err
	}
	var said answer
	if err := tasks.ReadValue(ctx, g.store, keyAnswered, &said); err != nil || said.No != goal.No {
		return "", err
	}
	return said.Text, nil
}

// Drop makes the next run give the lead its goal again, after a run without a result.
func (g *Goals) Drop(ctx context.Context) error {
	goal, err := ReadGoal(ctx, g.store)
	if err != nil {
		return err
	}
	return g.store.Put(ctx, GoalKey, notation.Encode(Goal{No: goal.No}))
}
