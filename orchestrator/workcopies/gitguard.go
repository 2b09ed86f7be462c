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
)

// noStash is the refusal of git stash.
const noStash = "git stash is shared by all working copies of the repository, including the user's: a pop may take " +
	"what somebody else stashed. Commit on your branch instead; `git reset --soft HEAD~1` undoes the commit later."

// noReplace is the refusal of git replace.
const noReplace = "git replace would show other contents of files and commits to all who use the repository, the user included. " +
	"Commit what is right on your branch instead."

// guardGit adds a hook that refuses members with their own working copy what concerns those of
// others: git stash, commands that change another working copy, and those that move its branch or
// the target of merges. A permission rule is not suitable: it refuses all that may be such a
// command, including every command whose name is a variable.
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
	g := gitGuard{own: own, others: t.otherTops(own), branches: func() []string { return t.otherBranches(own) }}
	return g.refusal(call.Command, in.Cwd)
}

// otherTops returns the folders of the repository and of its working copies except own.
func (t *Trees) otherTops(own Tree) []string {
	tops := []string{t.ground.repo.Top, t.ground.repo.Common}
	for _, other := range t.record.all() {
		if other.Top != own.Top {
			tops = append(tops, other.Top)
		}
	}
	return tops
}

// otherBranches returns the branches that a member must not move: what the operator has checked
// out, the target of merges, and those of other members.
func (t *Trees) otherBranches(own Tree) []string {
	names := []string{t.deps.Team().Merge.Into}
	// Each call of git has its own time limit.
	if head, err := t.ground.repo.Head(context.Background()); err == nil {
		names = append(names, head.Branch)
	}
	for _, other := range t.record.all() {
		if other.Top != own.Top {
			names = append(names, other.Branch)
		}
	}
	return names
}

// gitGuard looks at the command lines of one member. It prevents mistakes and is no sandbox: it
// sees what the line says, and nothing that a script does.
type gitGuard struct {
	own      Tree
	others   []string        // folders of other working copies
	branches func() []string // branches that the member must not move
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
	if !filepath.IsAbs(p) {
		p = filepath.Join(dir, p)
	}
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
	if sub == "stash" {
		if len(args) > 0 && slices.Contains([]string{"list", "show", "create", "-h", "--help"}, args[0]) {
			return ""
		}
		return noStash
	}
	if sub == "replace" && len(args) > 0 && !slices.ContainsFunc(args, func(a string) bool { return a == "-l" || a == "--list" || a == "-d" }) {
		return noReplace
	}
	if slices.Contains(changing, sub) && !(sub == "symbolic-ref" && len(args) < 2) {
		for _, dir := range where {
			if top := g.foreign(dir); top != "" {
				return fmt.Sprintf("git %s would change %s, which is not your working copy. %s", sub, top, g.instead())
			}
		}
	}
	moved := moves(sub, args)
	if len(moved) == 0 {
		return ""
	}
	others := g.branches()
	for _, ref := range moved {
		name := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(ref, "+"), "refs/"), "heads/")
		if name != "" && slices.Contains(others, name) {
			return fmt.Sprintf("git %s would move or take the branch %s, which is not yours. %s", sub, name, g.instead())
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

// changing are the commands of git that change the files, the index or the head of a working copy.
var changing = []string{
	"add", "am", "apply", "bisect", "checkout", "checkout-index", "cherry-pick", "clean", "commit", "merge", "mv", "pull", "read-tree",
	"rebase", "reset", "restore", "revert", "rm", "switch", "symbolic-ref", "update-index",
}

// moves returns the branches that a command of git moves, deletes or checks out.
func moves(sub string, args []string) []string {
	var names []string
	has := map[string]bool{}
	for i, a := range args {
		if a == "--" {
			has["--"] = i < len(args)-1
			break
		}
		if strings.HasPrefix(a, "-") {
			has[a] = true
		} else {
			names = append(names, a)
		}
	}
	any := func(flags ...string) bool { return slices.ContainsFunc(flags, func(f string) bool { return has[f] }) }
	switch sub {
	case "update-ref", "symbolic-ref":
		if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, "refs/") }); i >= 0 {
			return names[i : i+1] // what follows is its value
		}
	case "worktree":
		if !any("-b", "--detach", "-d") {
			return names
		}
	case "branch":
		if any("-f", "--force", "-d", "-D", "--delete", "-m", "-M", "--move", "-C") {
			return names
		}
	case "checkout", "switch":
		if len(names) > 0 && !any("--", "-b", "-c", "--detach", "-d", "-p", "--patch") && (len(names) == 1 || any("-B", "-C")) {
			return names[:1]
		}
	case "push":
		if len(names) > 0 && (names[0] == "." || strings.HasPrefix(names[0], "/") || strings.HasPrefix(names[0], "..") || strings.HasPrefix(names[0], "file:")) {
			return targets(names[1:])
		}
	case "fetch", "pull":
		return targets(names)
	}
	return nil
}

// targets returns where refspecs lead.
func targets(specs []string) []string {
	var list []string
	for _, s := range specs {
		if _, to, ok := strings.Cut(s, ":"); ok {
			list = append(list, to)
		}
	}
	return list
}
