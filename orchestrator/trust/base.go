package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// ErrUntrustedBase: the commit that is to be trusted has what is not trusted in its history.
var ErrUntrustedBase = errors.New("it contains what is not trusted")

// CheckAt compares what a team would run with what the same spec would run at a commit of its
// repository, which counts as trusted: that of the base of a pull request, for example. commit is
// the full id of what ref names. Nothing that was trusted in another way counts.
//
// without is a commit that is not trusted, such as the head of the pull request; empty: there is
// none. A commit that has it in its history decides nothing, and the error wraps ErrUntrustedBase:
// the merge that a runner checks out is easily named in place of the base.
//
// The commit is checked out into a folder of its own and the spec is read there as it is read in
// the working copy, so both lists are made by the same rules, and the files that a spec reaches
// in its folder are compared too. Besides what RunsOf lists, the file of prices counts: it decides
// what a budget allows. The error wraps worktree.ErrNoRef if there is no such commit.
func CheckAt(ctx context.Context, team *configs.Team, ref, without string) (r Report, commit string, err error) {
	repo, err := worktree.Git{}.Open(ctx, filepath.Dir(team.File))
	if err != nil {
		return Report{}, "", fmt.Errorf("find the repository of the spec: %w", err)
	}
	if commit, err = repo.Commit(ctx, ref); err != nil {
		return Report{}, "", fmt.Errorf("find the trusted commit: %w", err)
	}
	if err := lacks(ctx, repo, commit, without); err != nil {
		return Report{}, commit, err
	}
	top, remove, err := checkOut(ctx, repo, commit)
	if err != nil {
		return Report{}, commit, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	place := specPlace{file: filepath.Join(filepath.FromSlash(repo.Prefix), filepath.Base(team.File))}
	if place.workspace, err = filepath.Rel(repo.Top, realOr(team.Workspace)); err != nil {
		return Report{}, commit, fmt.Errorf("find the workspace in the repository: %w", err)
	}
	now, err := place.items(repo.Top)
	if err != nil {
		return Report{}, commit, fmt.Errorf("list what would run: %w", err)
	}
	before, err := place.items(top)
	if err != nil {
		return Report{}, commit, fmt.Errorf("list what would run at %s: %w", ref, err)
	}
	for i := range before {
		// The same thing has the same name on both sides.
		before[i].Path = strings.ReplaceAll(before[i].Path, top, repo.Top)
		before[i].Command = strings.ReplaceAll(before[i].Command, top, repo.Top)
		if before[i].Path == "" {
			before[i].Hash = texts.Digest(before[i].Command)
		}
	}
	r = Report{Known: true, Items: now, Changes: changes(before, now)}
	r.Trusted = len(r.Changes) == 0
	return r, commit, nil
}

// lacks returns an error if a commit has another one in its history, or if that cannot be known
// because the clone has only a part of the history.
func lacks(ctx context.Context, repo *worktree.Repo, commit, other string) error {
	if other == "" {
		return nil
	}
	_, err := repo.Commit(ctx, other)
	if errors.Is(err, worktree.ErrNoRef) && !repo.Shallow {
		return nil // nothing in this clone has it
	}
	var holds bool
	if err == nil {
		holds, err = repo.Holds(ctx, commit, other)
	}
	if err != nil {
		return fmt.Errorf("look for %s in the history of the trusted commit: %w", other, err)
	}
	if holds {
		return fmt.Errorf("%w: %s is in its history", ErrUntrustedBase, other)
	}
	return nil
}

// checkOut makes a temporary working copy of a commit. remove removes it.
func checkOut(ctx context.Context, repo *worktree.Repo, commit string) (top string, remove func() error, err error) {
	dir, err := os.MkdirTemp("", "covey-base-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // so that it can be told from other paths
	}
	if err != nil {
		return "", nil, fmt.Errorf("a folder for the trusted commit: %w", err)
	}
	top = filepath.Join(dir, "tree")
	if _, err := repo.Clone(ctx, worktree.New{Path: top, Commit: commit}); err != nil {
		return "", nil, errors.Join(fmt.Errorf("check out the trusted commit: %w", err), os.RemoveAll(dir))
	}
	remove = func() error {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove the copy of the trusted commit: %w", err)
		}
		return nil
	}
	return top, remove, nil
}

// specPlace is where a spec and its workspace are, relative to the top of a working copy.
type specPlace struct{ file, workspace string }

// items reads what the spec would run in the working copy at top. A commit without the spec would
// run nothing. A workspace that git does not keep, because it is empty or made by a script, is
// made there: a spec whose workspace is missing cannot be read.
func (p specPlace) items(top string) ([]Item, error) {
	spec := filepath.Join(top, p.file)
	if filepath.IsLocal(p.workspace) {
		if err := os.MkdirAll(filepath.Join(top, p.workspace), 0o700); err != nil {
			return nil, fmt.Errorf("the workspace: %w", err)
		}
	}
	team, err := configs.Load(spec)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	items, err := itemsOf(team)
	if err != nil || team.Budget.Prices == "" {
		return items, err
	}
	prices := Item{Run: Run{Kind: Prices, Path: team.Budget.Prices}}
	if err := prices.read(); err != nil {
		return nil, fmt.Errorf("the file of prices: %w", err)
	}
	return append(items, prices), nil
}

// realOr returns a path without symlinks, or the path itself if that cannot be determined.
func realOr(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
