package writes

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
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/workspace"
)

// FilesPolicy is the policy that checks what members have changed in working copies of their own, with
// whatever program. Where possible, calls are refused before they run, but a shell or an agent program asks
// nobody.
const FilesPolicy = "owned-files"

// WithPolicy adds that policy to the hooks of a team in which some member owns files: at each turn end, and before a
// task is completed.
func WithPolicy(team *configs.Team, sources []settings.Source) []settings.Source {
	owns := func(m *configs.Member) bool { return m.Owns != nil }
	if !slices.ContainsFunc(slices.Collect(team.EachAndTemplates()), owns) {
		return sources
	}
	group := []hooks.Group{{Hooks: []hooks.Handler{{Policy: FilesPolicy, Gate: true}}}}
	return append(slices.Clone(sources), settings.Source{
		Name: "owns", Settings: hooks.Settings{hooks.Stop: group, hooks.TaskCompleted: group},
	})
}

// Writable implements teammate.Options.Writable for a member: it refuses files outside
// of what the member owns, also when a link leads to them. Protected files of the
// workspace need a person's permission; in a working copy of its own, they need it when
// they are merged. A member with such a copy may not write to the operator's files.
func (w *Watch) Writable(member *members.Member) permission.Writable {
	return func(path string) permission.Refusal {
		if top, _ := w.deps.CopyOf(member.Name); top != "" && !w.grants(member, path, top) {
			return permission.Refusal{Rule: "sandbox.write", Outside: true, Text: path + " is outside of your working copy, " +
				"where your work belongs. If it has to be written, tell your lead: the spec lists such folders under sandbox.write."}
		}
		owns, protect := member.Owns, w.protect(member.Name)
		if owns == nil && len(protect) == 0 {
			return permission.Refusal{}
		}
		root, err := filepath.EvalSymlinks(member.Dir)
		if err != nil {
			root = member.Dir
		}
		rel, ok := texts.Below(root, path)
		if !ok {
			return permission.Refusal{} // other rules apply outside of the workspace
		}
		if len(Outside(owns, []string{rel})) > 0 {
			return permission.Refusal{Rule: "owns", Text: fmt.Sprintf("%s is not yours: you may write to %s. Leave it, or ask "+
				"your lead to let a member change it who may.", rel, orNothing(owns))}
		}
		if len(Protected(protect, []string{rel})) > 0 {
			return permission.Refusal{Rule: "protect", Text: rel + " is protected", Ask: true}
		}
		return permission.Refusal{}
	}
}

// protect returns the globs of files that a member may write only with a person's
// permission. Its own copy, whoever made it, is merged by somebody who reviews it.
func (w *Watch) protect(member string) []string {
	if top, _ := w.deps.CopyOf(member); top != "" {
		return nil
	}
	return w.deps.Team().Protect
}

// grants reports whether a member may write to a file that is in its working copy, or in a
// folder that the spec lists. The folder with the states of teams cannot be listed.
func (w *Watch) grants(member *members.Member, path, top string) bool {
	in := func(dir string) bool { return texts.Within(workspace.Real(dir), path) }
	return in(top) || slices.ContainsFunc(member.Sandbox.Write, in) && !in(w.deps.Home)
}

// orNothing formats globs.
func orNothing(owns []string) string {
	if len(owns) == 0 {
		return "nothing"
	}
	return strings.Join(owns, ", ")
}

// OnBranch lists the files outside of what a member owns that it changed, committed or not,
// and the branch that its work is for.
type OnBranch func(ctx context.Context, member *members.Member) (outside []string, into string, err error)

// Files returns FilesPolicy. It refuses while a member's branch, or its uncommitted
// changes, differ from its base commit in files that it does not own. Merged changes of
// others do not count. It does not know who has written what in a folder that several use.
func (w *Watch) Files(onBranch OnBranch) runner.Policy {
	return func(ctx context.Context, in hooks.Input) hooks.Result { return w.files(ctx, in, onBranch) }
}

// files is the result of FilesPolicy.
func (w *Watch) files(ctx context.Context, in hooks.Input, onBranch OnBranch) hooks.Result {
	member, ok := w.deps.Members.Member(w.deps.Members.MemberOf(in))
	if !ok || member.Owns == nil {
		return runner.Agree()
	}
	outside, into, err := onBranch(ctx, member)
	switch {
	case err != nil:
		return runner.Broken(err)
	case len(outside) == 0:
		return runner.Agree()
	}
	return runner.Refuse("You have changed files that are not yours:\n%s\nYou may write to %s. %s",
		List(outside), orNothing(member.Owns), UndoText(into, outside))
}
