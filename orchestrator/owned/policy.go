package owned

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/roster"
)

// FilesPolicy is the policy that looks at what members have really written, whatever
// they wrote it with: calls are refused before they run where they can be, but a
// shell, or an agent program of its own, asks nobody.
const FilesPolicy = "owned-files"

// WithPolicy adds that policy to the hooks of a team in which somebody may not write
// everywhere: at each turn end, and before a task is completed.
func WithPolicy(team *configs.Team, sources []settings.Source) []settings.Source {
	owns := func(m configs.Member) bool { return m.Owns != nil }
	if len(team.Protect) == 0 && !slices.ContainsFunc(team.Members(), owns) {
		return sources
	}
	group := []hooks.Group{{Hooks: []hooks.Handler{{Policy: FilesPolicy, Gate: true}}}}
	return append(slices.Clone(sources), settings.Source{
		Name: "owns", Settings: hooks.Settings{hooks.Stop: group, hooks.TaskCompleted: group},
	})
}

// Writable is teammate.Options.Writable for a member: files outside of what it owns
// are not its own, wherever a link leads to them. Protected files of the workspace
// itself need a person's permission; in a working copy of its own they need it when
// they are merged.
func (w *Writes) Writable(member *roster.Member) func(path string) (refusal string, ask bool) {
	return func(path string) (string, bool) {
		owns, protect := member.Owns, w.protect(member)
		if owns == nil && len(protect) == 0 {
			return "", false
		}
		root, err := filepath.EvalSymlinks(member.Dir)
		if err != nil {
			root = member.Dir
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || !filepath.IsLocal(rel) {
			return "", false // outside of the workspace other rules hold
		}
		rel = filepath.ToSlash(rel)
		if len(Outside(owns, []string{rel})) > 0 {
			return fmt.Sprintf("%s is not yours: you may write to %s. Leave it, or ask your lead to have somebody change it "+
				"who may.", rel, orNothing(owns)), false
		}
		if len(Protected(protect, []string{rel})) > 0 {
			return rel + " is protected", true
		}
		return "", false
	}
}

// orNothing lists globs.
func orNothing(owns []string) string {
	if len(owns) == 0 {
		return "nothing"
	}
	return strings.Join(owns, ", ")
}

// Files is the policy FilesPolicy. It refuses while a member's branch, or what it has not
// committed, differs from the commit that its work began from in files that are not its
// own. What came from others by merging is not its own writing. Of members that share a
// folder it is looked up what was written in it meanwhile.
func (w *Writes) Files(ctx context.Context, in hooks.Input) hooks.Result {
	member, ok := w.opts.MemberOf(in)
	if ok && w.watches(member) {
		return w.verdict(ctx, member)
	}
	if !ok || member.Owns == nil {
		return runner.Agree()
	}
	outside, into, err := w.opts.OnBranch(ctx, member)
	switch {
	case err != nil:
		return runner.Broken(err)
	case len(outside) == 0:
		return runner.Agree()
	}
	return runner.Refuse("You have changed files that are not yours:\n%s\nYou may write to %s. %s",
		List(outside), orNothing(member.Owns), TakeBack(into, outside))
}
