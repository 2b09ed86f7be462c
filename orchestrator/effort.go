package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/written"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// A team of `covey run` has no list of tasks that somebody wrote: that nobody has
// anything left to do says nothing about its goal. So such a run is done only if it
// has changed a file or completed a task since the lead was given the goal, or if the
// lead has said that the goal was a question, and has answered it.

// keyAnswered is the key of the store under which answeredRecord stands.
const keyAnswered = "answered"

// answeredRecord says that a goal was a question that the lead has answered.
type answeredRecord struct {
	No   int    `json:"no"` // goalRecord.No
	Text string `json:"text"`
}

// fruitless is why a run without any result is not done.
const fruitless = "nothing was changed, no task was completed"

// effort is how things stood when the lead was given a goal. It is a file of its own,
// and no value of the store, because of its size.
type effort struct {
	Goal      int                         `json:"goal"`      // goalRecord.No
	Completed int                         `json:"completed"` // tasks
	Folders   map[string]written.Snapshot `json:"folders"`   // where members work
}

// writtenByRun reports whether the team's spec is one that `covey run` keeps beside the
// team's state, so that it holds for `covey up` of such a team, too.
func (o *Orchestrator) writtenByRun() bool {
	return filepath.Dir(o.team().File) == o.place.Dir
}

// effortFile is where an effort outlives the process.
func (o *Orchestrator) effortFile() string { return filepath.Join(o.place.Scratch(), "effort.json") }

// beginEffort sees to it that cameToNothing can tell. What cannot be taken down keeps
// nobody from working: people are told, and it is not held against the run.
func (o *Orchestrator) beginEffort(ctx context.Context, c *crew) {
	if !o.writtenByRun() || c.only.merge != nil || c.only.setup {
		return
	}
	if err := o.markEffort(ctx, c); err != nil {
		o.repairs = append(o.repairs, fmt.Sprintf("whether this run changes anything cannot be found out: %v", err))
	}
}

// markEffort takes down how things stand when a goal is new. Of a goal that is gone on
// with it is known already.
func (o *Orchestrator) markEffort(ctx context.Context, c *crew) error {
	var goal goalRecord
	if err := tasks.ReadValue(ctx, c.store, keyGoal, &goal); err != nil {
		return err
	}
	if known, ok := o.readEffort(); ok && known.Goal == goal.No {
		return nil
	}
	now := effort{Goal: goal.No, Folders: map[string]written.Snapshot{}}
	var err error
	if now.Completed, err = completedTasks(ctx, c.store); err != nil {
		return err
	}
	for _, s := range c.seats() {
		shot, err := o.look(ctx, c, s, "")
		if err != nil {
			return fmt.Errorf("take down how the workspace stands: %w", err)
		}
		now.Folders[s.member.Dir] = shot
	}
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.effortFile()), 0o700); err != nil {
		return err
	}
	return state.WriteAtomic(o.effortFile(), data)
}

// readEffort is the one that was taken down last; ok is false if there is none that can
// be read.
func (o *Orchestrator) readEffort() (e effort, ok bool) {
	data, err := os.ReadFile(o.effortFile())
	return e, err == nil && json.Unmarshal(data, &e) == nil
}

// look takes down how a member's folder stands, held against a commit; empty: against
// the one that it is on.
func (o *Orchestrator) look(ctx context.Context, c *crew, s *seat, base string) (written.Snapshot, error) {
	g, err := c.writes.Ground(ctx, s.member)
	if err != nil {
		return written.Snapshot{}, err
	}
	if base == "" {
		if base, err = g.Head(ctx); err != nil {
			return written.Snapshot{}, err
		}
	}
	return g.Take(ctx, written.Snapshot{Base: base}, nil)
}

// cameToNothing reports whether a run at rest has nothing to show for its goal. Where
// that cannot be found out it is not held against the run, and people are told.
func (o *Orchestrator) cameToNothing(ctx context.Context, c *crew) bool {
	if !o.writtenByRun() || c.only.merge != nil || c.only.setup {
		return false
	}
	nothing, err := o.nothingSince(ctx, c)
	if err != nil {
		c.journal.Tell(agent.Warning{Text: fmt.Sprintf("whether the run has changed anything is not known: %v", err)})
	}
	return err == nil && nothing
}

// nothingSince compares how things stand with how they stood when the goal was new.
func (o *Orchestrator) nothingSince(ctx context.Context, c *crew) (bool, error) {
	var goal goalRecord
	if err := tasks.ReadValue(ctx, c.store, keyGoal, &goal); err != nil {
		return false, err
	}
	if text, err := answeredText(ctx, c.store); text != "" || err != nil {
		return false, err
	}
	then, ok := o.readEffort()
	if !ok || then.Goal > goal.No {
		return false, nil // people were told when the run began
	}
	if now, err := completedTasks(ctx, c.store); err != nil || now > then.Completed {
		return false, err
	}
	for _, s := range c.seats() {
		was, known := then.Folders[s.member.Dir]
		if !known {
			return false, fmt.Errorf("how %s stood before is not known", s.member.Dir)
		}
		now, err := o.look(ctx, c, s, was.Base)
		if err != nil || len(now.Since(was)) > 0 {
			return false, err
		}
	}
	return true, nil
}

// completedTasks counts them.
func completedTasks(ctx context.Context, s *tasks.Store) (int, error) {
	all, err := s.List(ctx)
	if err != nil {
		return 0, err
	}
	return len(all) - len(tasks.OpenTasks(all)), nil
}

// answered notes that the lead's goal was a question, and what it answers.
func (c *crew) answered(ctx context.Context, text string) error {
	var goal goalRecord
	if err := tasks.ReadValue(ctx, c.store, keyGoal, &goal); err != nil {
		return err
	}
	return c.store.Put(ctx, keyAnswered, rawjson.Encode(answeredRecord{No: goal.No, Text: strings.TrimSpace(text)}))
}

// answeredText is what the lead has answered to the goal that it has; empty: it has not
// said that this was a question.
func answeredText(ctx context.Context, s *tasks.Store) (string, error) {
	var goal goalRecord
	if err := tasks.ReadValue(ctx, s, keyGoal, &goal); err != nil {
		return "", err
	}
	var said answeredRecord
	if err := tasks.ReadValue(ctx, s, keyAnswered, &said); err != nil || said.No != goal.No {
		return "", err
	}
	return said.Text, nil
}

// dropGoal has the next run give the lead its goal again: of the one that came to
// nothing there is nothing to be taken up.
func dropGoal(ctx context.Context, s *tasks.Store) error {
	var goal goalRecord
	if err := tasks.ReadValue(ctx, s, keyGoal, &goal); err != nil {
		return err
	}
	return s.Put(ctx, keyGoal, rawjson.Encode(goalRecord{No: goal.No}))
}
