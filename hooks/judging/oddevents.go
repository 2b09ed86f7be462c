package judging

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/coveyteam/covey/hooks"
)

// escapes are the control sequences that programs colour their output with.
var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// applyOdd reads what a hook said on the few events that read it in a way of their
// own (HOOKS.md section 1). It comes last, when the rest is judged.
func (v *Verdict) applyOdd(known *hooks.EventInfo, found Finding) {
	plain := found.Answer.plain
	switch known.Event {
	case hooks.PreCompact:
		if found.Code == 0 && plain != "" { // recorded hosts hand it to the model that sums up
			v.setOutput("customInstructions", plain)
		}
	case hooks.WorktreeCreate:
		v.applyWorktree(known, found)
	case hooks.Elicitation, hooks.ElicitationResult, hooks.MessageDisplay:
		if found.Code != 2 {
			return
		}
		v.output = nil // exit code 2 outweighs what stands in hookSpecificOutput
		if known.Event != hooks.MessageDisplay {
			v.setOutput("action", "decline")
		}
	}
}

// applyWorktree takes the folder that the hook made. The hook stands in for git,
// so whatever keeps it from making one fails the creation.
func (v *Verdict) applyWorktree(known *hooks.EventInfo, found Finding) {
	if v.Refused >= hooks.Refuses {
		return
	}
	if found.Code != 0 || found.Fault != "" {
		why := cmp.Or(found.Fault, fmt.Sprintf("exit code %d: %s", found.Code, firstLine(found.Stderr)))
		v.Refuse(known, known.Exit2, "["+found.Command+"]: "+why)
		return
	}
	if v.output["worktreePath"] != nil {
		return
	}
	last := ""
	for line := range strings.Lines(escapes.ReplaceAllString(found.Answer.plain, "")) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
		}
	}
	if last != "" {
		v.setOutput("worktreePath", last)
	}
}
