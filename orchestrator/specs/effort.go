package specs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/orchestrator/owned"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
)

// Folder is a folder in which a member works.
type Folder struct {
	Dir string
	// Snapshot returns how the folder stands, held against a commit; empty: against the one
	// that it is on.
	Snapshot func(ctx context.Context, base string) (owned.Snapshot, error)
}

// effort is how things stood when the lead was given a goal. It is a file of its own, and
// no value of the store, because of its size.
type effort struct {
	Goal      int                       `json:"goal"`      // Goal.No
	Completed int                       `json:"completed"` // tasks
	Folders   map[string]owned.Snapshot `json:"folders"`   // by Folder.Dir
}

// Begin keeps how things stand when a goal is new, so that Fruitless can tell later. For a
// goal that an earlier run has begun that is known already.
func (g *Goals) Begin(ctx context.Context, folders []Folder) error {
	goal, err := ReadGoal(ctx, g.store)
	if err != nil {
		return err
	}
	if known, ok := g.readEffort(); ok && known.Goal == goal.No {
		return nil
	}
	now := effort{Goal: goal.No, Folders: map[string]owned.Snapshot{}}
	if now.Completed, err = completedTasks(ctx, g.store); err != nil {
		return err
	}
	for _, f := range folders {
		shot, err := f.Snapshot(ctx, "")
		if err != nil {
			return fmt.Errorf("take down how the workspace stands: %w", err)
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

// readEffort reads the effort that was kept last; ok is false if none can be read.
func (g *Goals) readEffort() (e effort, ok bool) {
	data, err := os.ReadFile(g.file)
	return e, err == nil && json.Unmarshal(data, &e) == nil
}

// Fruitless reports whether the team has nothing to show for its goal: no file has changed
// and no task was completed since Begin, and the lead has answered nothing. It fails if
// that cannot be found out.
func (g *Goals) Fruitless(ctx context.Context, folders []Folder) (bool, error) {
	goal, err := ReadGoal(ctx, g.store)
	if err != nil {
		return false, err
	}
	if text, err := g.Answered(ctx); text != "" || err != nil {
		return false, err
	}
	then, ok := g.readEffort()
	if !ok || then.Goal > goal.No {
		return false, nil // people were told when the run began
	}
	if now, err := completedTasks(ctx, g.store); err != nil || now > then.Completed {
		return false, err
	}
	for _, f := range folders {
		was, known := then.Folders[f.Dir]
		if !known {
			return false, fmt.Errorf("how %s stood before is not known", f.Dir)
		}
		now, err := f.Snapshot(ctx, was.Base)
		if err != nil || len(now.Since(was)) > 0 {
			return false, err
		}
	}
	return true, nil
}

// completedTasks counts the tasks that are done.
func completedTasks(ctx context.Context, s *tasks.Store) (int, error) {
	all, err := s.List(ctx)
	if err != nil {
		return 0, err
	}
	return len(all) - len(tasks.OpenTasks(all)), nil
}
