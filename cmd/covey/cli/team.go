package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/requests"
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

// OnTeam returns the RunE of a command about the selected team, which need not run.
func (e *Env) OnTeam(run func(ctx context.Context, place state.Place, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		place, err := e.Find()
		if err != nil {
			return err
		}
		return run(cmd.Context(), place, args)
	}
}

// placeOfSpec returns the place of a spec's team, which need not have run.
func (e *Env) placeOfSpec(path string) (state.Place, error) {
	team, err := configs.LoadWith(path, configs.Options{Version: e.Version})
	if err != nil {
		return state.Place{}, SpecTrouble(path, err)
	}
	return state.PlaceOf(team.Name, team.Workspace)
}

// ReadTasks returns the tasks of a team, from its process if it runs, else from its
// store, which cannot be opened while a team runs.
func ReadTasks(ctx context.Context, place state.Place) ([]tasks.Task, error) {
	return AskStore(ctx, place, (*api.Client).Tasks, (*tasks.Store).List)
}

// ReadOutline is ReadTasks for outlines.
func ReadOutline(ctx context.Context, place state.Place) ([]tasks.Outline, error) {
	return AskStore(ctx, place, (*api.Client).Outline, (*tasks.Store).Outline)
}

// With gives a method, such as (*api.Client).Merge, its argument.
func With[S, R, A any](method func(S, context.Context, R) (A, error), argument R) func(S, context.Context) (A, error) {
	return func(s S, ctx context.Context) (A, error) { return method(s, ctx, argument) }
}

// Call calls the selected team, which must run.
func Call[A any](ctx context.Context, e *Env, call func(*api.Client, context.Context) (A, error)) (answer A, err error) {
	place, err := e.Find()
	if err != nil {
		return answer, err
	}
	return Ask(ctx, place, call, nil)
}

// Ask asks the running team of a place; if it does not run, stopped finds the answer; nil: it must run.
// If it runs but does not answer, Ask fails: its files may be in the middle of a
// change.
func Ask[A any](
	ctx context.Context, place state.Place, running func(*api.Client, context.Context) (A, error), stopped func() (A, error),
) (answer A, err error) {
	client, err := api.Dial(ctx, place)
	switch {
	case errors.Is(err, api.ErrNotRunning) && stopped != nil:
		return stopped()
	case err != nil:
		return answer, err
	}
	defer client.Close()
	return running(client, ctx)
}

// AskStore is Ask with the store of a team that does not run. It takes at most
// AnswerWithin.
func AskStore[A any](
	ctx context.Context, place state.Place,
	running func(*api.Client, context.Context) (A, error), stopped func(*tasks.Store, context.Context) (A, error),
) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	return Ask(ctx, place, running, func() (answer A, err error) {
		store, err := OpenStore(place)
		if err != nil {
			return answer, err
		}
		defer store.Close()
		return stopped(store, ctx)
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
	switch {
	case slices.Contains(all, name):
		return nil
	case len(all) == 0:
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

// TeamInfo is one team in `covey ps --all`. It comes from run.json alone, so that a
// process that hangs cannot block the list.
type TeamInfo struct {
	Team      string           `json:"team"`
	Workspace string           `json:"workspace"`
	State     string           `json:"state"` // running, ended, cut off, damaged, or never ran
	PID       int              `json:"pid,omitempty"`
	Started   time.Time        `json:"started,omitzero"`
	Result    *state.RunResult `json:"result,omitempty"`
	Dir       string           `json:"dir"` // where its state is
	Trouble   string           `json:"trouble,omitempty"`
}

// The states of a TeamInfo.
const (
	TeamRunning  = "running"
	TeamEnded    = "ended"
	TeamCutOff   = "cut off"
	TeamDamaged  = "damaged" // its run.json cannot be read
	TeamNeverRan = "never ran"
)

// InfoOf reads a team's run.json; it asks no process. A run.json that says "running"
// counts only if that process is alive.
func InfoOf(p state.Place) TeamInfo {
	info := TeamInfo{Team: p.Team, Workspace: p.Workspace, Dir: p.Dir, State: TeamNeverRan}
	run, up := state.Running(p)
	switch _, err := state.ReadRunFile(p); {
	case errors.Is(err, fs.ErrNotExist):
		return info
	case err != nil:
		info.State, info.Trouble = TeamDamaged, err.Error()
		return info
	}
	if !up {
		run = run.LastRun()
	}
	info.Started, info.Result = run.Started, run.Result
	switch {
	case up:
		info.State, info.PID = TeamRunning, run.PID
	case run.Result != nil:
		info.State = TeamEnded
	default:
		info.State = TeamCutOff
		info.Trouble = "its process has disappeared; covey up resumes it"
	}
	return info
}

// ReadInbox asks the running team or, if none runs, reads its files: questions
// outlive the process that asked them. With a time limit, a team that hangs gives an
// error instead of hanging the command.
func ReadInbox(ctx context.Context, place state.Place, q api.InboxQuery) ([]requests.Request, error) {
	ctx, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	return Ask(ctx, place, With((*api.Client).Inbox, q), func() ([]requests.Request, error) { return filedInbox(ctx, place, q) })
}

// filedInbox reads the questions of a team that does not run.
func filedInbox(ctx context.Context, place state.Place, q api.InboxQuery) ([]requests.Request, error) {
	store, err := place.OpenStore()
	switch never := errors.Is(err, fs.ErrNotExist); {
	case never && q.ID != "":
		return nil, fmt.Errorf("there is no request %s: team %s has never run", q.ID, place.Team)
	case never:
		return []requests.Request{}, nil // it has asked nothing
	}
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if q.ID != "" {
		r, err := store.Requests().Find(ctx, q.ID)
		return []requests.Request{r}, err
	}
	list, err := store.Requests().List(ctx)
	if err != nil || q.All {
		return list, err
	}
	return slices.DeleteFunc(list, func(r requests.Request) bool { return !r.Open() }), nil
}

// AnswerInbox sends the operator's answer to the running team. If none runs, it stores the
// answer for the next run and reports that.
func AnswerInbox(
	ctx context.Context, place state.Place, a api.InboxAnswer,
) (r requests.Request, stored bool, err error) {
	r, err = Ask(ctx, place, With((*api.Client).AnswerInbox, a), func() (requests.Request, error) {
		if err := NotFromInside("covey inbox"); err != nil {
			return requests.Request{}, err
		}
		r, err := inbox.AnswerStopped(ctx, place, a.ID, requests.Ruling{
			Approve: a.Approve, Feedback: a.Feedback, Mode: a.Mode,
		})
		stored = err == nil
		return r, err
	})
	return r, stored, err
}

// Return sends finished work back to its author, in a team that runs or not. An open question
// about it is denied.
func (e *Env) Return(ctx context.Context, place state.Place, r api.ReturnRequest) (api.ReturnReply, error) {
	return Ask(ctx, place, With((*api.Client).Return, r), func() (api.ReturnReply, error) {
		if err := NotFromInside("covey review --return"); err != nil {
			return api.ReturnReply{}, err
		}
		open, err := filedInbox(ctx, place, api.InboxQuery{})
		if err != nil {
			return api.ReturnReply{}, fmt.Errorf("the questions about task %s: %w", r.Task, err)
		}
		if asked, found := merging.QuestionAbout(open, r.Task); found {
			_, err := inbox.AnswerStopped(ctx, place, asked.ID, requests.Ruling{Feedback: r.Text})
			return api.ReturnReply{How: api.ReturnedDenied, Task: r.Task, Member: asked.Member}, err
		}
		team, err := e.TeamOf(place)
		if err != nil {
			return api.ReturnReply{}, err
		}
		return merging.ReturnStopped(ctx, place, team, r)
	})
}

// Merge lets the running team merge or, if none runs, merges here and waits for it. given is consent to what the spec runs.
func (e *Env) Merge(ctx context.Context, place state.Place, r api.MergeRequest, given bool) (api.MergeReply, error) {
	return Ask(ctx, place, With((*api.Client).Merge, r), func() (api.MergeReply, error) {
		if err := NotFromInside("covey merge"); err != nil {
			return api.MergeReply{}, err
		}
		team, err := e.TeamOf(place)
		if err != nil {
			return api.MergeReply{}, err
		}
		// Nobody is asked to trust a spec for nothing.
		if _, err := (worktree.Git{}).Open(ctx, team.Workspace); errors.Is(err, worktree.ErrNoRepo) {
			return api.MergeReply{}, merging.ErrNoRepo
		}
		// Gates and setup commands of the spec run now, as they would in a run.
		if err := e.MayRun(ctx, team, team.File, given); err != nil {
			return api.MergeReply{}, err
		}
		o, err := orchestrator.New(team, orchestrator.Options{
			Version: e.Version, ManagedFolders: e.Managed, OwnProcess: true, NoTurns: true,
		})
		if err != nil {
			return api.MergeReply{}, err
		}
		return o.Merge(ctx, r)
	})
}

// ReadReview asks the running team for finished work, or reads the files of one that does not
// run.
func (e *Env) ReadReview(
	ctx context.Context, place state.Place, r api.ReviewRequest,
) (api.ReviewReply, error) {
	return Ask(ctx, place, With((*api.Client).Review, r), func() (api.ReviewReply, error) {
		team, err := e.TeamOf(place)
		if err != nil {
			return api.ReviewReply{}, err
		}
		return merging.ReadReview(ctx, place, team, r)
	})
}

// ReadDiff reads the repository itself; it asks the team's process only which work
// there is.
func (e *Env) ReadDiff(
	ctx context.Context, place state.Place, r merging.DiffRequest,
) ([]merging.Diff, error) {
	team, err := e.TeamOf(place)
	if err != nil {
		return nil, err
	}
	reviews, err := e.ReadReview(ctx, place, api.ReviewRequest{Task: r.Task, Member: r.Member})
	if err != nil {
		return nil, err
	}
	return merging.ReadDiff(ctx, place, team, reviews, r)
}
