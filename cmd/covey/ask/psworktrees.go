package ask

import (
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/trees"
)

// printWorktrees prints where members with a working copy of their own work. It is
// printed below the table, because a branch and a path fit into no column.
func printWorktrees(out *term.Screen, members []api.MemberStatus) {
	for _, m := range members {
		if m.Worktree != nil {
			out.Printf("%s\n", out.Paint(term.Faint, worktreeLine(m.Name, *m.Worktree)))
		}
	}
}

// worktreeLine describes a member's working copy in one line.
func worktreeLine(member string, w trees.Status) string {
	parts := []string{term.PlainLine(member) + " works in " + term.PlainLine(w.Path)}
	if w.Branch != "" {
		parts = append(parts, "branch "+term.PlainLine(w.Branch))
	}
	return strings.Join(append(parts, view.CopyWords(w)...), " · ")
}
