package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
)

// byHook has the WorktreeCreate hooks make a working copy. made is false if none of
// them ran: then git makes it.
func (t *trees) byHook(ctx context.Context, s *seat) (own ownTree, made bool, err error) {
	out, err := t.fire(ctx, s, hooks.WorktreeCreateInput{Name: s.member.Name})
	switch {
	case err != nil:
		return own, false, err
	case len(out.Results) == 0:
		return own, false, nil
	case out.Decision != hooks.Pass:
		return own, false, fmt.Errorf("the WorktreeCreate hook refused: %s", complaints(out.Results))
	}
	var path string
	if given, ok := out.Output["worktreePath"]; ok {
		if err := json.Unmarshal(given, &path); err != nil {
			return own, false, fmt.Errorf("the WorktreeCreate hook's worktreePath: %w", err)
		}
	}
	if path == "" {
		return own, false, errors.New("the WorktreeCreate hook named no folder; its last line must be the path")
	}
	if own, err = t.found(ctx, path); err != nil {
		return own, false, fmt.Errorf("the WorktreeCreate hook's folder %s: %w", path, err)
	}
	if other, taken := t.holder(own.Root, s.member.Name); taken {
		return own, false, fmt.Errorf("the WorktreeCreate hook gave %s the folder of %s, %s", s.member.Name,
			other, own.Root)
	}
	t.tell(s.member.Name, WorktreeChanged{Op: "created", Path: own.Top, Branch: own.Branch, Base: own.Base})
	return own, true, nil
}

// complaints are what hooks said that went wrong or refused.
func complaints(results []hooks.Result) string {
	var said []string
	for _, r := range results {
		if r.Outcome != hooks.Success {
			code := fmt.Sprintf("exit code %d", r.ExitCode)
			said = append(said, cmp.Or(strings.TrimSpace(r.Stderr), r.Feedback, r.Warning, code))
		}
	}
	return strings.Join(said, "; ")
}

// found is the working copy that a hook has made. It may belong to the workspace's
// repository, to another one, or to none.
func (t *trees) found(ctx context.Context, path string) (ownTree, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.o.team().Workspace, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ownTree{}, err
	}
	if !isFolder(real) {
		return ownTree{}, fmt.Errorf("%s is none", real)
	}
	own := ownTree{Top: real, Root: real, ByHook: true}
	if t.repo == nil {
		return own, nil
	}
	repo, err := t.repo.At(ctx, real)
	if err != nil {
		return own, ctx.Err() // git does not know it, which is the hook's business
	}
	if repo.Top == t.repo.Top {
		return own, fmt.Errorf("%s is in the workspace's own working copy", real)
	}
	if inner := t.rootIn(repo.Top); repo.Dir == repo.Top && isFolder(inner) {
		own.Root = inner
	}
	head, err := repo.Head(ctx)
	own.Branch, own.Base = head.Branch, head.Commit
	return own, err
}

// holder is who works in a folder already: another member, or all who share the
// workspace.
func (t *trees) holder(root, but string) (string, bool) {
	for name, own := range t.known() {
		if name != but && own.Root == root {
			return name, true
		}
	}
	return "the team", root == t.o.team().Workspace
}

// fire runs hooks for a member that has not begun yet.
func (t *trees) fire(ctx context.Context, s *seat, p hooks.Payload) (hooks.Outcome, error) {
	common := hooks.Common{
		SessionID: s.member.Session.Session, Cwd: t.o.team().Workspace,
		TranscriptPath: t.o.place.Transcript(s.member.Name, s.member.Session.Session),
	}
	if !s.member.Lead {
		common.AgentID, common.AgentType = s.member.Name+"@"+t.o.team().Name, s.member.Name
	}
	out, err := t.c.live.Run(ctx, hooks.Input{Common: common, Payload: p}, func(p hooks.Progress) {
		t.tell(s.member.Name, teammate.HookEvent(p))
	})
	for _, text := range append(out.SystemMessages, out.Warnings...) {
		t.tell(s.member.Name, agent.Warning{Text: text})
	}
	return out, err
}

// fireRemoved tells the WorktreeRemove hooks of a member that may be no seat's any
// more. What goes wrong is told to people, and changes nothing.
func (t *trees) fireRemoved(ctx context.Context, member, path string) {
	s, ok := t.c.seat(member)
	if !ok {
		s = &seat{member: &roster.Member{Member: &configs.Member{Name: member}}}
	}
	if _, err := t.fire(ctx, s, hooks.WorktreeRemoveInput{WorktreePath: path}); err != nil && ctx.Err() == nil {
		t.warn("the WorktreeRemove hooks for %s could not run: %v", path, err)
	}
}
