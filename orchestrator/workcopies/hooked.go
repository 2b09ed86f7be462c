package workcopies

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate"
)

// byHook lets the WorktreeCreate hooks create a working copy. made is false if none of
// them ran, so that git must create it.
//
// Unlike for other events, a hook that fails lets nothing pass: the error keeps the member
// from working in files that are not its own.
func (t *Trees) byHook(ctx context.Context, m *members.Member) (own Tree, made bool, err error) {
	out, err := t.fire(ctx, m, hooks.WorktreeCreateInput{Name: m.Name})
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
	if own, err = t.ground.found(ctx, t.deps.Team().Workspace, path); err != nil {
		return own, false, fmt.Errorf("the WorktreeCreate hook's folder %s: %w", path, err)
	}
	// A script that ignores the name in its input would give all members one folder.
	if other, taken := t.holder(own.Root, m.Name); taken {
		return own, false, fmt.Errorf("the WorktreeCreate hook gave %s the folder of %s, %s", m.Name,
			other, own.Root)
	}
	t.notices.tell(m.Name, events.WorktreeChanged{Op: "created", Path: own.Top, Branch: own.Branch, Base: own.Base})
	return own, true, nil
}

// complaints joins the errors and refusals of hooks.
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

// found returns the working copy that a hook created. It may belong to the workspace's
// repository, to another one, or to none.
func (g ground) found(ctx context.Context, workspace, path string) (Tree, error) {
	real, err := filepath.EvalSymlinks(texts.Absolute(workspace, path))
	if err != nil {
		return Tree{}, err
	}
	if !IsFolder(real) {
		return Tree{}, fmt.Errorf("%s is not a folder", real)
	}
	own := Tree{Top: real, Root: real, ByHook: true}
	if g.repo == nil {
		return own, nil
	}
	repo, head, err := g.repo.AtHead(ctx, real)
	if err != nil {
		return own, ctx.Err() // it need not be a git working copy
	}
	if repo.Top == g.repo.Top {
		return own, fmt.Errorf("%s is in the workspace's own working copy", real)
	}
	// A hook that names the top of a working copy means the workspace's path in it; one
	// that names a folder below means that folder.
	if inner := g.rootIn(repo.Top); repo.Dir == repo.Top && IsFolder(inner) {
		own.Root = inner
	}
	own.Branch, own.Base = head.Branch, head.Commit
	return own, nil
}

// holder returns who works in a folder already: another member, or the members that share the
// workspace.
func (t *Trees) holder(root, but string) (string, bool) {
	for name, own := range t.record.all() {
		if name != but && own.Root == root {
			return name, true
		}
	}
	return "the team", root == t.deps.Team().Workspace
}

// fire runs hooks for a member that has not started yet.
func (t *Trees) fire(ctx context.Context, m *members.Member, p hooks.Payload) (hooks.Outcome, error) {
	team := t.deps.Team()
	common := hooks.Common{
		SessionID: m.Session.Session, Cwd: team.Workspace,
		TranscriptPath: t.deps.Place.Transcript(m.Name, m.Session.Session),
	}
	if !m.Lead {
		common.AgentID, common.AgentType = m.Name+"@"+team.Name, m.Name
	}
	out, err := t.deps.Hooks.Run(ctx, hooks.Input{Common: common, Payload: p}, func(p hooks.Progress) {
		t.notices.tell(m.Name, teammate.HookEvent(p))
	})
	for _, text := range append(out.SystemMessages, out.Warnings...) {
		t.notices.tell(m.Name, events.Warning{Text: text})
	}
	return out, err
}

// fireRemoved runs the WorktreeRemove hooks for a member that may have left the team.
// Errors are only reported.
func (t *Trees) fireRemoved(ctx context.Context, member, path string) {
	m, ok := t.record.member(member)
	if !ok {
		m = &members.Member{Member: &configs.Member{Name: member}}
	}
	if _, err := t.fire(ctx, m, hooks.WorktreeRemoveInput{WorktreePath: path}); err != nil && ctx.Err() == nil {
		t.notices.warn("the WorktreeRemove hooks for %s could not run: %v", path, err)
	}
}
