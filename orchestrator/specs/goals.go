package specs

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/tasks"
)

// Keys of the store.
const (
	GoalKey     = "goal"     // Goal
	keyAnswered = "answered" // answer
)

// Goal is the goal that the lead was given.
type Goal struct {
	Spec  string `json:"spec"`         // the spec's goal then
	Given string `json:"given"`        // what the lead was given
	No    int    `json:"no,omitempty"` // how many goals it has been given: one may come again
}

// ReadGoal returns the goal that stands in a store; the zero Goal if there is none.
func ReadGoal(ctx context.Context, s *tasks.Store) (r Goal, err error) {
	err = tasks.ReadValue(ctx, s, GoalKey, &r)
	return r, err
}

// Next returns what the lead works for from now on. A goal that was given on the command
// line counts until another is given there or the spec's own changes.
func (r Goal) Next(given, spec string) Goal {
	switch {
	case given != "":
		return Goal{Spec: spec, Given: given, No: r.No + 1}
	case r.Given == "" && spec != "", spec != r.Spec:
		return Goal{Spec: spec, Given: spec, No: r.No + 1}
	}
	return r
}

// Value returns the record as it stands in the store under Key.
func (r Goal) Value() json.RawMessage { return notation.Encode(r) }

// Goals is what the team that runs works for. Any goroutine may call its methods.
type Goals struct {
	store *tasks.Store
	file  string // where the state of the folders at the goal's beginning is kept

	mu   sync.Mutex
	text string
}

// NewGoals makes the Goals of a run. file is where they keep how folders stood.
func NewGoals(store *tasks.Store, file string) *Goals { return &Goals{store: store, file: file} }

// Set notes what the lead has been given to work for.
func (g *Goals) Set(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.text = text
}

// Text returns the goal that the lead has.
func (g *Goals) Text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text
}

// answer says that a goal was a question that the lead has answered.
type answer struct {
	No   int    `json:"no"` // Goal.No
	Text string `json:"text"`
}

// Answer notes that the lead's goal was a question, and its answer.
func (g *Goals) Answer(ctx context.Context, text string) error {
	goal, err := ReadGoal(ctx, g.store)
	if err != nil {
		return err
	}
	return g.store.Put(ctx, keyAnswered, notation.Encode(answer{No: goal.No, Text: strings.TrimSpace(text)}))
}

// Answered returns the lead's answer to the goal that it has. It is empty if the lead has
// not said that the goal was a question.
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

// Drop has the next run give the lead its goal again: a run that came to nothing has left
// nothing to go on with.
func (g *Goals) Drop(ctx context.Context) error {
	goal, err := ReadGoal(ctx, g.store)
	if err != nil {
		return err
	}
	return g.store.Put(ctx, GoalKey, notation.Encode(Goal{No: goal.No}))
}
