package doctor

import (
	"errors"
	"strings"

	"github.com/coveyteam/covey/orchestrator/trees"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// worktreeFindings says whether members can have working copies of their own. A
// workspace outside a repository is not a problem; a spec that demands one fails
// before.
func worktreeFindings(look trees.Outlook) []finding {
	who := strings.Join(look.Members, ", ")
	switch {
	case len(look.Members) == 0:
		return nil
	case look.Fault == nil:
		found := []finding{ok("worktrees", "%s: each has a git working copy and a branch of its own", who)}
		if text, wayOut, _ := strings.Cut(look.Hook, "; "); text != "" {
			found = append(found, warn("worktrees", text, wayOut))
		}
		return found
	case errors.Is(look.Fault, worktree.ErrNoFilter):
		return []finding{fail("worktrees", "no working copy can be made for "+who+": "+look.Fault.Error(),
			"until then no team with working copies starts here")}
	case look.Repository:
		return []finding{warn("worktrees", who+" can write and share the workspace: "+look.Fault.Error(),
			"fix that, or write isolation: shared, which says that they may")}
	}
	return []finding{ok("worktrees", "%s share the workspace, which is not a git repository", who)}
}
