package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
)

// AnswerWithin is how long a running team may take to answer a question that runs no
// hooks. A team that takes longer hangs, and an error helps more than waiting.
const AnswerWithin = 10 * time.Second

// Find returns the place of the team that the global flags and the folder select. The
// errors are those of state.Find: there is no such team, or more than one. It does
// not check whether the team runs.
//
// If a folder has had several teams, because the one of its spec was renamed, the spec as it is
// now decides.
func (e *Env) Find() (state.Place, error) {
	dir, err := e.Folder()
	if err != nil {
		return state.Place{}, err
	}
	if e.Spec != "" && e.Team == "" {
		return e.placeOfSpec(e.specFile(e.Spec))
	}
	place, err := state.Find(dir, e.Team)
	var several *state.AmbiguousError
	if errors.As(err, &several) {
		if now, not := e.placeOfSpec(e.Path(DefaultSpec)); not == nil && slices.Contains(several.Places, now) {
			return now, nil
		}
	}
	return place, err
}

// placeOfSpec returns the place of a spec's team, which need not have run.
func (e *Env) placeOfSpec(path string) (state.Place, error) {
	team, err := configs.LoadWith(path, configs.Options{Version: e.Version})
	if err != nil {
		return state.Place{}, SpecTrouble(path, err)
	}
	return state.PlaceOf(team.Name, team.Workspace)
}

// Connect connects to the selected team, which must run. The caller closes the
// client.
func (e *Env) Connect(ctx context.Context) (*api.Client, error) {
	place, err := e.Find()
	if err != nil {
		return nil, err
	}
	return api.Dial(ctx, place)
}

// ReadTasks returns the tasks of a team, from its process if it runs, else from its
// store, which cannot be opened while a team runs.
func ReadTasks(ctx context.Context, place state.Place) ([]tasks.Task, error) {
	return AskStore(ctx, place, func(ctx context.Context, c *api.Client) ([]tasks.Task, error) {
		return c.Tasks(ctx)
	}, func(ctx context.Context, s *tasks.Store) ([]tasks.Task, error) { return s.List(ctx) })
}

// ReadOutline is ReadTasks for outlines.
func ReadOutline(ctx context.Context, place state.Place) ([]tasks.Outline, error) {
	return AskStore(ctx, place, func(ctx context.Context, c *api.Client) ([]tasks.Outline, error) {
		return c.Outline(ctx)
	}, func(ctx context.Context, s *tasks.Store) ([]tasks.Outline, error) { return s.Outline(ctx) })
}

// Call calls the selected team, which must run.
func Call[T any](ctx context.Context, e *Env, call func(*api.Client) (T, error)) (answer T, err error) {
	client, err := e.Connect(ctx)
	if err != nil {
		return answer, err
	}
	defer client.Close()
	return call(client)
}

// Ask asks the running team of a place; if it does not run, stopped finds the answer.
// If it runs but does not answer, Ask fails: its files may be in the middle of a
// change.
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

// AskStore is Ask with the store of a team that does not run. It takes at most
// AnswerWithin.
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

// OpenStore opens the store of a place for reading. The caller closes it.
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

// Members returns the names of a team's members from its run.json, the lead first.
// They are only for display and completion: the team itself decides.
func Members(place state.Place) []string {
	run, err := state.ReadRunFile(place)
	if err != nil {
		return nil
	}
	return run.Members
}

// KnownMember rejects an unknown member, and names the known ones. It is for commands
// that only read; otherwise the team reports the error.
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

// SpecOf returns the spec with which a team last ran; empty: unknown, so try
// team.yaml.
func SpecOf(place state.Place) string {
	if run, err := state.ReadRunFile(place); err == nil {
		return run.Spec
	}
	return ""
}
