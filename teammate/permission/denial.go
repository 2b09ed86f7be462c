package permission

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// Denial returns the text that tells a member's model why r denies a call. says is the outcome of
// the PreToolUse hooks.
func (p Policy) Denial(member string, r Ruling, call agent.ToolCall, says hooks.Outcome) string {
	switch {
	case r.By == "hook" && len(says.Feedback) > 0:
		return strings.Join(says.Feedback, "\n")
	case r.By == "hook" && says.Permission.Reason != "":
		return fmt.Sprintf("PreToolUse:%s hook error: %s", call.Name, says.Permission.Reason)
	case r.By == "hook":
		return fmt.Sprintf("PreToolUse:%s hook error: Blocked by hook", call.Name)
	case r.By == "rule":
		return r.denial(call)
	case p.EffectiveMode() == ModePlan:
		return fmt.Sprintf("%s was not run: you are in plan mode, where only tools that change nothing run. "+
			"Go on planning without it.", call.Name)
	}
	return fmt.Sprintf("Permission to use %s was not given, because permission mode dontAsk asks nobody. ", call.Name) +
		p.Advice(member, call)
}

// denial returns the text of a deny rule: what recorded hosts say, and for a shell call the rule and
// the part of the line that it is about.
func (r Ruling) denial(call agent.ToolCall) string {
	text := fmt.Sprintf("Permission to use %s%s has been denied.", call.Name, Command(call))
	switch {
	case r.Rule == "" || call.Name != "Bash":
	case r.Part != "":
		text += fmt.Sprintf(" The rule %s forbids this part: %s", r.Rule, texts.Clip(r.Part, maxPart))
	case strings.Contains(r.Rule, "("):
		text += fmt.Sprintf(" The rule %s may forbid a part of it, and the line cannot be read.", r.Rule)
	}
	return text
}

// maxPart bounds the bytes of a part of a command line in a text for a model.
const maxPart = 200

// Advice returns what a member's model can do about a call that nobody could allow.
func (p Policy) Advice(member string, call agent.ToolCall) string {
	const advice = "Go on without it, or tell your lead what you need it for. A person can allow it "
	if p.ByFlags {
		return advice + fmt.Sprintf("with covey run --allow RULE, where RULE is one for %s, or with another "+
			"--permission-mode.", call.Name)
	}
	return advice + fmt.Sprintf("for %s in the team's spec: by a rule for %s under permissions.allow, unless one "+
		"under ask names the call, or by another permission_mode.", member, call.Name)
}

// SaidBy returns the decision of the PreToolUse hooks. A block is a deny. A defer that applies has
// already ended the turn; any other defer is no decision.
func SaidBy(hook hooks.Outcome) Behavior {
	if hook.Decision == hooks.Block {
		return Deny
	}
	switch b := Behavior(hook.Permission.Decision); b {
	case Allow, Deny, Ask:
		return b
	}
	return ""
}
