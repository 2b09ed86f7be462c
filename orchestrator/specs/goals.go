package specs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/writes"
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
func (r Goal) Value() json.RawMessage { return texts.Encode(r) }

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
	return g.store.Put(ctx, keyAnswered, texts.Encode(answer{No: goal.No, Text: strings.TrimSpace(text)}))
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
	return g.store.Put(ctx, GoalKey, texts.Encode(Goal{No: goal.No}))
}

// Folder is the folder in which a member works. Several may work in one.
type Folder struct {
	Dir    string
	Member string
	// Snapshot returns the state of the folder relative to a commit; empty: its current
	// commit.
	Snapshot func(ctx context.Context, base string) (writes.Snapshot, error)
}

// baseline is the state of the team's work when the lead got a goal. It has its own file,
// because it is too large for the store.
type baseline struct {
	Goal      int                        `json:"goal"`      // Goal.No
	Completed int                        `json:"completed"` // tasks
	Folders   map[string]writes.Snapshot `json:"folders"`   // by Folder.Dir
}

// Begin stores the state of the work at the start of a new goal, for Result. It does
// nothing for a goal that an earlier run has begun.
func (g *Goals) Begin(ctx context.Context, folders []Folder) error {
	goal, err := ReadGoal(ctx, g.store)
	if err != nil {
		return err
	}
	if known, ok := g.readBaseline(); ok && known.Goal == goal.No {
		return nil
	}
	now := baseline{Goal: goal.No, Folders: map[string]writes.Snapshot{}}
	if now.Completed, err = completedTasks(ctx, g.store); err != nil {
		return err
	}
	for _, f := range folders {
		shot, err := f.Snapshot(ctx, "")
		if err != nil {
			return fmt.Errorf("record the state of the workspace: %w", err)
		}
		now.Folders[f.Dir] = shot
	}
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(g.file), 0o700); err != nil {
		return err
	}
	return state.WriteAtomic(g.file, data)
}

// readBaseline reads the stored baseline; ok is false if there is none or it is damaged.
func (g *Goals) readBaseline() (e baseline, ok bool) {
	data, err := os.ReadFile(g.file)
	return e, err == nil && json.Unmarshal(data, &e) == nil
}

// Result is what a team has to show for its goal.
type Result int

// The results.
const (
	Shown    Result = iota // a completed task, or the lead's answer to a question; or it is not known
	Changed                // files have changed, and no task was completed
	NoResult               // neither
)

// Result returns what the team has to show for its goal since Begin. With an error it is Shown.
// If it is Changed, by names one member for each changed folder: the first of folders.
func (g *Goals) Result(ctx context.Context, folders []Folder) (r Result, by []string, err error) {
	goal, err := ReadGoal(ctx, g.store)
	if err != nil {
		return Shown, nil, err
	}
	if text, err := g.Answered(ctx); text != "" || err != nil {
		return Shown, nil, err
	}
	then, ok := g.readBaseline()
	if !ok || then.Goal > goal.No {
		return Shown, nil, nil // people were warned when the run began
	}
	if now, err := completedTasks(ctx, g.store); err != nil || now > then.Completed {
		return Shown, nil, err
	}
	seen := map[string]bool{}
	for _, f := range folders {
		if seen[f.Dir] {
			continue
		}
		seen[f.Dir] = true
		was, known := then.Folders[f.Dir]
		if !known {
			return Shown, nil, fmt.Errorf("the earlier state of %s is not known", f.Dir)
		}
		now, err := f.Snapshot(ctx, was.Base)
		if err != nil {
			return Shown, nil, err
		}
		if len(now.Since(was)) > 0 {
			by = append(by, f.Member)
		}
	}
	if by == nil {
		return NoResult, nil, nil
	}
	return Changed, by, nil
}

// completedTasks counts the completed tasks.
func completedTasks(ctx context.Context, s *tasks.Store) (int, error) {
	all, err := s.List(ctx)
	if err != nil {
		return 0, err
	}
	return len(all) - len(tasks.OpenTasks(all)), nil
}
