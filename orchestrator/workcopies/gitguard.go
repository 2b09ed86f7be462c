package workcopies

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
)

// guardGit adds a hook that refuses members with their own working copy commands of git that change
// another repository of the team: the operator's, or the working copy of another member. A permission
// rule is not suitable: it refuses all that may be such a command, including every command whose name
// is a variable.
func (t *Trees) guardGit() (remove func(), err error) {
	remove, err = t.deps.Functions.Add(hooks.PreToolUse, hooks.Callback{
		Name: "git-of-others", Matcher: "Bash", When: func(in hooks.Input) bool { return t.refusedGit(in) != "" },
		Do: func(_ context.Context, in hooks.Input) (hooks.Answer, error) {
			return hooks.Answer{Permission: hooks.Permission{Decision: "deny", Reason: t.refusedGit(in)}}, nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("guard the working copies of others: %w", err)
	}
	return remove, nil
}

// refusedGit returns why the command of a call is refused; empty: it is not.
func (t *Trees) refusedGit(in hooks.Input) string {
	use, err := hooks.As[hooks.PreToolUseInput](in)
	if err != nil || !bytes.Contains(use.ToolInput, []byte("git")) {
		return ""
	}
	var call struct {
		Command string `json:"command"`
	}
	own, has := t.record.ofSession(in.SessionID)
	if !has || !own.InGit() || json.Unmarshal(use.ToolInput, &call) != nil {
		return ""
	}
	g := gitGuard{own: own, others: t.otherTops(own)}
	return g.refusal(call.Command, in.Cwd)
}

// otherTops returns the folders of the team's repositories and working copies except own.
func (t *Trees) otherTops(own Tree) []string {
	tops := []string{t.ground.repo.Top, t.ground.repo.Common, filepath.Join(filepath.Dir(t.dir), "base.git")}
	for _, other := range t.record.all() {
		if other.Top != own.Top {
			tops = append(tops, other.Top)
		}
	}
	return tops
}

// gitGuard looks at the command lines of one member. It prevents mistakes and is no sandbox: it
// sees what the line says, and nothing that a script does.
type gitGuard struct {
	own    Tree
	others []string // folders of other working copies and repositories
}

// refusal returns why a command line is refused; empty: it is not.
func (g gitGuard) refusal(line, cwd string) string {
	read, err := shell.Read(line)
	if err != nil {
		return ""
	}
	dirs := read.Resolve(cwd, func(dir string, to shell.Word) string { return below(dir, to.Literal()) })
	for _, c := range read.Commands {
		if c.Guessed || c.Program() != "git" {
			continue
		}
		where := []string{dirs[c.Folder]}
		for _, set := range c.Sets {
			if set.Name == "GIT_DIR" || set.Name == "GIT_WORK_TREE" {
				where = append(where, below(where[0], set.Value.Literal()))
			}
		}
		if why := g.command(c, where); why != "" {
			return why
		}
	}
	return ""
}

// below returns a path relative to dir.
func below(dir, p string) string {
	p = texts.Absolute(dir, p)
	if real, err := filepath.EvalSymlinks(p); err == nil {
		return real
	}
	return p
}

// command returns why a command of git is refused that runs in the folders where.
func (g gitGuard) command(c shell.Command, where []string) string {
	words, at := c.Literals(), c.GitSubcommand()
	for i, word := range words[:min(at, len(words))] {
		name, value, joined := strings.Cut(word, "=")
		if !joined && i+1 < len(words) {
			value = words[i+1]
		}
		switch name {
		case "-C":
			where[0] = below(where[0], value)
		case "--git-dir", "--work-tree":
			where = append(where, below(where[0], value))
		}
	}
	if at >= len(words) {
		return ""
	}
	sub, args := words[at], words[at+1:]
	if sub == "push" {
		if to := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") }); to >= 0 {
			where = append(where, below(where[0], strings.TrimPrefix(args[to], "file://")))
		}
	}
	if !changes(sub, args) {
		return ""
	}
	for _, dir := range where {
		if top := g.foreign(dir); top != "" {
			return fmt.Sprintf("git %s would change %s, which is not your working copy. %s", sub, top, g.instead())
		}
	}
	return ""
}

// instead returns what a member does instead.
func (g gitGuard) instead() string {
	return "Commit in " + g.own.Top + " and complete your task: covey merges the work once its gates agree."
}

// foreign returns the other working copy that a folder is in; empty: it is in none.
func (g gitGuard) foreign(dir string) string {
	in := func(top string) bool { return dir == top || strings.HasPrefix(dir, top+string(filepath.Separator)) }
	if in(g.own.Top) {
		return ""
	}
	for _, top := range g.others {
		if in(top) {
			return top
		}
	}
	return ""
}

// changing are the commands of git that change files, the index, the head or branches.
var changing = []string{
	"add", "am", "apply", "bisect", "checkout", "checkout-index", "cherry-pick", "clean", "commit", "merge", "mv", "pull", "push", "read-tree",
	"rebase", "replace", "reset", "restore", "revert", "rm", "stash", "switch", "symbolic-ref", "update-index", "update-ref", "worktree",
}

// changes reports whether a command of git changes something.
func changes(sub string, args []string) bool {
	has := func(words ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(words, a) })
	}
	switch sub {
	case "symbolic-ref":
		return len(args) > 1
	case "stash", "worktree":
		return !has("list", "show", "create", "-h", "--help")
	case "replace":
		return len(args) > 0 && !has("-l", "--list")
	case "branch":
		return has("-f", "--force", "-d", "-D", "--delete", "-m", "-M", "--move", "-C")
	case "fetch":
		return slices.ContainsFunc(args, func(a string) bool { return !strings.Contains(a, "//") && strings.Contains(a, ":") })
	}
	return slices.Contains(changing, sub)
}
