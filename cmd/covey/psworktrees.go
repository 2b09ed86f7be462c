package main

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/orchestrator"
)

// printWorktrees says where members work that have a working copy of their own. It
// stands below the table: a branch and a path fit into no column.
func (c *cli) printWorktrees(members []orchestrator.MemberStatus) {
	for _, m := range members {
		if m.Worktree != nil {
			c.out.printf("%s\n", c.out.paint(faint, worktreeLine(m.Name, *m.Worktree)))
		}
	}
}

// worktreeLine is a member's working copy in one line.
func worktreeLine(member string, w orchestrator.WorktreeStatus) string {
	parts := []string{plainLine(member) + " works in " + plainLine(w.Path)}
	if w.Branch != "" {
		parts = append(parts, "branch "+plainLine(w.Branch))
	}
	switch {
	case w.Unknown && w.Branch != "":
		parts = append(parts, "git does not tell more")
	case w.Unknown:
	case w.Dirty == 0 && w.Ahead == 0:
		parts = append(parts, "nothing of its own")
	default:
		if w.Dirty > 0 {
			parts = append(parts, plural(w.Dirty, "change")+" not committed")
		}
		if w.Ahead > 0 {
			parts = append(parts, fmt.Sprintf("%s not merged", plural(w.Ahead, "commit")))
		}
	}
	return strings.Join(parts, " · ")
}
