package trees

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/coveyteam/covey/hooks"
)

// noStash is the refusal of git stash.
const noStash = "git stash is shared by all working copies of the repository, including the user's: a pop may take " +
	"what somebody else stashed. Commit on your branch instead; `git reset --soft HEAD~1` undoes the commit later."

// refuseStash adds a hook that refuses git stash to members with their own working
// copy. branchOf returns the branch of a session's member; empty: none. A permission
// rule is not suitable: it refuses all that may be git stash, including every command
// whose name is a variable.
func refuseStash(to *hooks.Registry, branchOf func(session string) string) (remove func(), err error) {
	remove, err = to.Add(hooks.PreToolUse, hooks.Callback{
		Name: "git-stash", Matcher: "Bash", If: "Bash(git stash*)",
		Do: func(_ context.Context, in hooks.Input) (hooks.Answer, error) {
			use, err := hooks.As[hooks.PreToolUseInput](in)
			if err != nil {
				return hooks.Answer{}, fmt.Errorf("refuse git stash: %w", err)
			}
			var call struct {
				Command string `json:"command"`
			}
			if branchOf(in.SessionID) != "" && json.Unmarshal(use.ToolInput, &call) == nil && stashes(call.Command) {
				return hooks.Answer{Permission: hooks.Permission{Decision: "deny", Reason: noStash}}, nil
			}
			return hooks.Answer{}, nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("refuse git stash: %w", err)
	}
	return remove, nil
}

// stashes reports whether a command line obviously changes the stash. It prevents
// mistakes; it is no sandbox.
func stashes(line string) bool {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return false
	}
	found := false
	syntax.Walk(file, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			words := make([]string, len(call.Args))
			for i, w := range call.Args {
				words[i] = w.Lit()
			}
			found = found || stashCommand(words)
		}
		return !found
	})
	return found
}

// stashCommand reports whether words are git, with any options, and a subcommand that
// changes the stash.
func stashCommand(words []string) bool {
	at := slices.Index(words, "git")
	if at < 0 {
		return false
	}
	rest := words[at+1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		takes := rest[0] == "-C" || rest[0] == "-c" || rest[0] == "--git-dir" || rest[0] == "--work-tree"
		if rest = rest[1:]; takes && len(rest) > 0 {
			rest = rest[1:]
		}
	}
	if len(rest) == 0 || rest[0] != "stash" {
		return false
	}
	looks := []string{"list", "show", "create", "-h", "--help"}
	return len(rest) == 1 || !slices.Contains(looks, rest[1])
}
