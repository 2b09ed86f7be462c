package merging

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
)

// incoming are the commits that came into a branch without the queue.
type incoming struct {
	commits []worktree.Logged // newest first
	who     []string          // the members that made some of them
	untold  bool              // nothing shows who made some of them
}

// outside finds what came into a branch without the queue.
//
// What a pull request of the team brings is the queue's. A move while no member ran, in the
// operator's checkout, is the operator's, whoever made the commits. In a run the operator's are
// commits that were made or brought in by a command in a working copy that is no member's, or that
// came from elsewhere and have a reference which is no branch.
func (w *Watch) outside(ctx context.Context, branch, from, now string) (in incoming, err error) {
	merges, err := w.Store.Merges().List(ctx)
	if err != nil {
		return in, fmt.Errorf("the work that was merged: %w", err)
	}
	without, own := []string{from}, map[string]string{}
	if pushed := w.known.Targets[branch].Pushed; pushed != "" {
		if _, err := w.Repo.Commit(ctx, pushed); err == nil {
			without = append(without, pushed)
		}
	}
	const newest = 200 // bounds the command line; covey looks at each merge
	for _, m := range slices.Backward(merges) {
		switch {
		case m.Into != branch:
		case len(without) > newest:
		case m.State == tasks.MergeDone || m.State == tasks.MergeLanding:
			without = append(without, m.Result)
		case m.State == tasks.MergeReady:
			without = append(without, m.Commit)
		}
		own[m.Commit] = m.Member
	}
	if in.commits, err = w.Repo.Log(ctx, now, without...); err != nil || len(in.commits) == 0 {
		return in, err
	}
	if !w.known.Running {
		head, err := w.Repo.HeadLog(ctx)
		if err != nil || slices.ContainsFunc(head, func(e worktree.Headed) bool { return e.ID == now }) {
			return in, err
		}
	}
	operators, err := w.logs(ctx, now, own)
	if err != nil {
		return in, err
	}
	for _, c := range in.commits {
		for _, member := range []string{own[c.ID], w.Identity(c.Author.Email), w.Identity(c.Committer.Email)} {
			if member != "" && !slices.Contains(in.who, member) {
				in.who = append(in.who, member)
			}
		}
	}
	if len(in.who) > 0 || operators[now] || !w.known.Running {
		return in, nil
	}
	local, err := w.Repo.Log(ctx, now, append(without, "--exclude=refs/heads/*", "--exclude=refs/covey/*", "--glob=refs/*")...)
	in.untold = slices.ContainsFunc(local, func(c worktree.Logged) bool { return !operators[c.ID] })
	return in, err
}

// logs reads the logs of all working copies. It adds to own what members made in their copies, and
// what somebody with a member's address made or brought into another one, and returns what was made
// in the others by anybody else; of now it suffices that it was brought in there.
func (w *Watch) logs(ctx context.Context, now string, own map[string]string) (operators map[string]bool, err error) {
	copies, err := w.Repo.Copies(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the working copies: %w", err)
	}
	members := map[string]string{}
	var repos []*worktree.Repo
	for member, top := range w.Copies() {
		if repo, err := w.Repo.AtClone(ctx, top); err == nil { // else it is beyond git, or among copies
			repos, top = append(repos, repo), repo.Top
		}
		if real, err := filepath.EvalSymlinks(top); err == nil {
			members[real] = member
		}
	}
	for _, c := range copies {
		if repo, err := w.Repo.At(ctx, c.Path); err == nil { // else it is gone
			repos = append(repos, repo)
		}
	}
	operators = map[string]bool{}
	for _, repo := range repos {
		log, err := repo.HeadLog(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range log {
			switch at, by := members[repo.Top], w.Identity(e.By); {
			case at != "" && e.Made:
				own[e.ID] = at
			case at == "" && by != "" && (e.Made || e.Moved):
				own[e.ID] = by
			case at == "" && (e.Made || e.Moved && e.ID == now):
				operators[e.ID] = true
			}
		}
	}
	return operators, nil
}

// describeMove returns for people that a branch was moved outside of the queue.
func describeMove(m events.TargetMoved, in incoming) string {
	text := fmt.Sprintf("%s was moved outside of the merge queue, from %.10s to %.10s", m.Branch, m.From, m.To)
	if len(in.who) > 0 {
		text += ", to what " + strings.Join(in.who, " and ") + " made"
	}
	if n := len(in.commits); n > 0 {
		text += fmt.Sprintf(" (%s", texts.Preview(in.commits[0].Subject, 100))
		if n > 1 {
			text += fmt.Sprintf(", and %d more", n-1)
		}
		text += ")"
	}
	if in.untold {
		text += "; nothing shows who made that"
	}
	return text
}
