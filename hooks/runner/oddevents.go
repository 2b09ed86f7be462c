package runner

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// escapes matches the control sequences with which programs colour their output.
var escapes = texts.Pattern(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// applyOdd applies the special rules of the few events that have some (HOOKS.md section 1).
// It runs after the general rules.
func (v *Verdict) applyOdd(known *hooks.EventInfo, found Finding) {
	plain := found.Answer.plain
	switch known.Event {
	case hooks.PreCompact:
		if found.Code == 0 && plain != "" { // recorded hosts pass it to the model that summarizes
			v.setOutput("customInstructions", plain)
		}
	case hooks.WorktreeCreate:
		v.applyWorktree(known, found)
	case hooks.Elicitation, hooks.ElicitationResult, hooks.MessageDisplay:
		if found.Code != 2 {
			return
		}
		v.output = nil // exit code 2 takes precedence over hookSpecificOutput
		if known.Event != hooks.MessageDisplay {
			v.setOutput("action", "decline")
		}
	}
}

// applyWorktree reads the folder that the hook created. The hook replaces git, so a hook
// that fails to create one fails the creation.
func (v *Verdict) applyWorktree(known *hooks.EventInfo, found Finding) {
	if v.Refused >= hooks.Refuses {
		return
	}
	if found.Code != 0 || found.Fault != "" {
		why := cmp.Or(found.Fault, fmt.Sprintf("exit code %d: %s", found.Code, firstLine(found.Stderr)))
		v.Refuse(known, known.Exit2, found.says(why))
		return
	}
	if v.output["worktreePath"] != nil {
		return
	}
	last := ""
	for line := range strings.Lines(escapes().ReplaceAllString(found.Answer.plain, "")) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
	}
	if last != "" {
		v.setOutput("worktreePath", last)
	}
}
