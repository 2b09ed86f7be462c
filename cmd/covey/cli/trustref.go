package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// MayRunAt decides whether a team may run in a checkout whose author is not trusted: what it would
// run must be what the same spec would run at the commit that ref names, which must not have the
// head of fork's pull request in its history. It returns the commit.
// Nobody is asked, and what was trusted before does not count: the answer depends on the commit
// and the files alone.
func (e *Env) MayRunAt(
	ctx context.Context, team *configs.Team, ref string, fork Fork,
) (commit string, err error) {
	if err := NotFromInside("--trust-ref"); err != nil {
		return "", err
	}
	report, commit, err := trust.CheckAt(ctx, team, ref, fork.Head)
	switch {
	case errors.Is(err, trust.ErrUntrustedBase):
		return "", fmt.Errorf("--trust-ref %s is %w: %w; name the base of the pull request", ref, ErrNotTrusted, err)
	case errors.Is(err, worktree.ErrNoRef):
		return "", Usagef("--trust-ref %s: %v; fetch all of the history (actions/checkout: fetch-depth: 0)", ref, err)
	case err != nil:
		return "", fmt.Errorf("--trust-ref %s: %w", ref, err)
	case !report.Trusted:
		head := fmt.Sprintf("What %s would run differs from what it would run at %s:\n",
			term.PlainLine(team.File), ref)
		return "", fmt.Errorf("%s%sit is %w, and nothing was started; the change counts once it is merged",
			head, changesText(e.Err, team, report.Changes), ErrNotTrusted)
	}
	return commit, nil
}

// Fork is the origin of a pull request that comes from another repository.
type Fork struct {
	Name string // of the repository; empty: there is no such pull request
	Head string // the commit of the pull request; empty: it is not known
}

// workflowEvent is the part of an event of GitHub Actions that says whose checkout the job has.
type workflowEvent struct {
	PullRequest *struct {
		Head struct {
			SHA  string
			Repo *repository
		}
		Base struct{ Repo *repository }
	} `json:"pull_request"`
	// WorkflowRun is set in a workflow that runs after another one: its checkout may be of the
	// pull request that started that one.
	WorkflowRun *struct {
		HeadSHA        string      `json:"head_sha"`
		HeadRepository *repository `json:"head_repository"`
	} `json:"workflow_run"`
	Repository *repository
}

// repository is a repository in an event; nil if it was deleted.
type repository struct {
	Name string `json:"full_name"`
}

// ForkOf returns the fork whose pull request a CI job is about; the zero Fork if it is about none. A
// fork that is gone has the name "a deleted fork". An event that cannot be read is an error,
// because it may be about a fork. Other events than pull_request… and workflow_run are about none,
// whatever the workflow has checked out.
func ForkOf(getenv func(string) string) (Fork, error) {
	path := getenv("GITHUB_EVENT_PATH")
	if path == "" {
		return Fork{}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Fork{}, fmt.Errorf("read the event of this job: %w", err)
	}
	var e workflowEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return Fork{}, fmt.Errorf("read the event of this job: %s: %w", path, err)
	}
	switch {
	case e.PullRequest != nil:
		return e.PullRequest.Head.Repo.fork(e.PullRequest.Base.Repo, e.PullRequest.Head.SHA), nil
	case e.WorkflowRun != nil:
		return e.WorkflowRun.HeadRepository.fork(e.Repository, e.WorkflowRun.HeadSHA), nil
	}
	return Fork{}, nil
}

// fork returns the repository as a fork, unless it is base.
func (r *repository) fork(base *repository, head string) Fork {
	switch {
	case r == nil || r.Name == "":
		return Fork{Name: "a deleted fork", Head: head}
	case base != nil && strings.EqualFold(r.Name, base.Name):
		return Fork{}
	}
	return Fork{Name: r.Name, Head: head}
}

// NoSecrets refuses to run a team for a pull request of a fork while one of its processes could
// reach a secret. It does not hide them instead: who can run commands reads the environment of
// covey's parents.
func NoSecrets(team *configs.Team, fork Fork) error {
	found := launch.SecretsAtHand(team, os.Environ())
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("the code of %s is %w, and its team could read %s; run pull requests of forks on pull_request, "+
		"not on pull_request_target, and without secrets", term.PlainLine(fork.Name), ErrNotTrusted, strings.Join(found, ", "))
}
