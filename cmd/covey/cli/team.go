package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
)

// AnswerWithin is how long a running team may take to answer a question that
// runs no hooks. A team that takes longer hangs, and saying so helps more than
// waiting.
const AnswerWithin = 10 * time.Second

// Find is the Place of the team that the global flags and the folder mean. The
// errors are those of state.Find: there is no such team, or more than
// one that could be meant. Whether it runs is not looked at.
func (e *Env) Find() (state.Place, error) {
	dir, err := e.Folder()
	if err != nil {
		return state.Place{}, err
	}
	return state.Find(dir, e.Team)
}

// Connect reaches the running team that is meant. The caller closes the client.
// It is for commands that make no sense without a process.
func (e *Env) Connect(ctx context.Context) (*api.Client, error) {
	place, err := e.Find()
	if err != nil {
		return nil, err
	}
	return api.Dial(ctx, place)
}

// ReadTasks are the tasks of a team, from its process if it runs, else from its
// store. The store cannot be opened while a team runs, which is why its process
// is asked first.
func ReadTasks(ctx context.Context, place state.Place) ([]tasks.Task, error) {
	return AskStore(ctx, place, func(ctx context.Context, c *api.Client) ([]tasks.Task, error) {
		return c.Tasks(ctx)
	}, func(ctx context.Context, s *tasks.Store) ([]tasks.Task, error) { return s.List(ctx) })
}

// ReadOutline is ReadTasks for what needs no more of a task than its outline.
func ReadOutline(ctx context.Context, place state.Place) ([]tasks.Outline, error) {
	return AskStore(ctx, place, func(ctx context.Context, c *api.Client) ([]tasks.Outline, error) {
		return c.Outline(ctx)
	}, func(ctx context.Context, s *tasks.Store) ([]tasks.Outline, error) { return s.Outline(ctx) })
}

// Call calls the running team that is meant. It is for commands that make no sense without a
// process.
func Call[T any](ctx context.Context, e *Env, call func(*api.Client) (T, error)) (answer T, err error) {
	client, err := e.Connect(ctx)
	if err != nil {
		return answer, err
	}
	defer client.Close()
	return call(client)
}

// Ask asks the running team of a place; of a team that does not run, stopped finds the
// answer. A team that runs and does not answer is not read behind its back: what stands in
// its files may be half of a step.
func Ask[T any](
	ctx context.Context, place state.Place,
	running func(*api.Client) (T, error), stopped func() (T, error),
) (answer T, err error) {
	client, err := api.Dial(ctx, place)
	switch {
	case errors.Is(err, api.ErrNotRunning):
		return stopped()
	case err != nil:
		return answer, err
	}
	defer client.Close()
	return running(client)
}

// AskStore is Ask with the store of a team that does not run. It takes no longer than a team
// may take to answer.
func AskStore[T any](
	ctx context.Context, place state.Place,
	running func(context.Context, *api.Client) (T, error), stopped func(context.Context,
		*tasks.Store) (T, error),
) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	return Ask(ctx, place, func(client *api.Client) (T, error) {
		return running(ctx, client)
	}, func() (answer T, err error) {
		store, err := OpenStore(place)
		if err != nil {
			return answer, err
		}
		defer store.Close()
		return stopped(ctx, store)
	})
}

// OpenStore opens it for readers, who close it.
func OpenStore(place state.Place) (*tasks.Store, error) {
	store, err := place.OpenStore()
	if errors.Is(err, tasks.ErrCorrupt) {
		return nil, fmt.Errorf("%w; covey up does that", err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("team %s has no tasks: it has never run; covey up starts it", place.Team)
	}
	return store, err
}

// Members are the names of a team's members, as its run.json has them, the lead
// first. They are only for people and completion: the team has the last word.
func Members(place state.Place) []string {
	run, err := state.ReadRunFile(place)
	if err != nil {
		return nil
	}
	return run.Members
}

// KnownMember refuses a name that is not in the team, with those that are. It
// serves commands that only read; where the team is asked, the team says it.
func KnownMember(place state.Place, name string) error {
	all := Members(place)
	for _, m := range all {
		if m == name {
			return nil
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("team %s has no record of its members; `covey up` starts it", place.Team)
	}
	return fmt.Errorf("team %s has no member %q; its members are %s", place.Team, name, strings.Join(all, ", "))
}

// SpecOf is the spec with which a team ran last; empty: it left none behind, and
// team.yaml is to be tried.
func SpecOf(place state.Place) string {
	if run, err := state.ReadRunFile(place); err == nil {
		return run.Spec
	}
	return ""
}
