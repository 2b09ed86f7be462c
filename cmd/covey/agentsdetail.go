package main

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator"
)

// printAgent prints all that is known of one agent.
func (c *cli) printAgent(a orchestrator.AgentInfo) {
	c.out.printf("%s\n", c.out.paint(bold, plainLine(a.Name)))
	fact := func(name, text string) {
		if text != "" {
			c.out.printf("  %-9s%s\n", name, plainLine(text))
		}
	}
	program := a.Path
	switch {
	case a.Kind == configs.Builtin:
		program = "covey itself"
	case program == "":
		program = "not installed"
	case a.Package != "":
		program += " (" + a.Package + ")"
	}
	fact("program", program)
	if !a.Installed() {
		fact("install", a.Install)
	}
	fact("version", a.Version)
	if a.Installed() {
		fact("login", loginText(a))
	}
	fact("members", strings.Join(a.Members, ", "))
	h := a.Honours
	c.out.printf("\n%s\n", c.out.paint(bold, "It honours"))
	for _, line := range []struct {
		name string
		held orchestrator.Hold
		why  string
	}{
		{"gates", h.Gates, "its turn ends only when the team's gates agree"},
		{"cancel", h.Cancel, "covey interrupt and limits end its turn"},
		{"steer", h.Steer, steerText(h.Steer)},
		{"resume", h.Resume, resumeText(h.Resume)},
		{"system", h.System, systemText(h.System)},
		{"usage", h.Usage, usageText(h.Usage)},
	} {
		c.honour(line.name, string(line.held), hold(line.held).style, line.why)
	}
	c.honour("mcp", h.MCP, normal, mcpText(h.MCP))
	c.out.printf("\n%s\n", c.out.paint(bold, "Permission rules and PreToolUse hooks hold for"))
	for _, kind := range orchestrator.ToolKinds() {
		c.honour(kind, string(h.Tools[kind]), hold(h.Tools[kind]).style, toolText(h.Tools[kind]))
	}
	c.honour("team tools", string(orchestrator.Enforced), green, "covey itself carries them out")
	if h.Version != "" {
		c.out.printf("\n%s\n", c.out.paint(faint, fmt.Sprintf("Measured with %s, %s.", h.Version, h.Date)))
	}
}

// loginText is a login state with what it was seen by.
func loginText(a orchestrator.AgentInfo) string {
	if a.Login == orchestrator.LoginNone {
		return "not needed: " + a.LoginBy
	}
	return string(a.Login) + ": " + a.LoginBy
}

// honour prints one thing that an agent honours, how far, and why.
func (c *cli) honour(name, held string, st style, why string) {
	c.out.printf("  %-11s%s  %s\n", name, c.out.paint(st, fmt.Sprintf("%-8s", held)), why)
}

// steerText says what becomes of mail in the middle of a turn.
func steerText(h orchestrator.Hold) string {
	switch h {
	case orchestrator.Enforced:
		return "mail reaches it in the middle of a turn"
	case orchestrator.Advisory:
		return "mail reaches it in mid-turn if it says that it can"
	}
	return "mail waits until its turn ends"
}

// resumeText says what is left after a crash.
func resumeText(h orchestrator.Hold) string {
	if h == orchestrator.Enforced {
		return "after a crash it goes on in the same session"
	}
	return "after a crash it may have to begin anew, with a brief"
}

// systemText says how instructions reach its model.
func systemText(h orchestrator.Hold) string {
	if h == orchestrator.Enforced {
		return "instructions stand in its system prompt"
	}
	return "instructions stand at the head of its first prompt"
}

// usageText says what is known of tokens.
func usageText(h orchestrator.Hold) string {
	switch h {
	case orchestrator.Enforced:
		return "it tells what each turn has used"
	case orchestrator.Absent:
		return "it tells nothing: limits on tokens do not bind it"
	}
	return "it may tell too little: limits on tokens may come late"
}

// mcpText says how it gets the team tools.
func mcpText(way string) string {
	switch way {
	case "builtin":
		return "it has the team tools as its own"
	case "shell":
		return "the covey commands in its shell stand for the team tools"
	case "stdio":
		return "the team tools come to it through a child process"
	}
	return "the team tools come to it over loopback, with a token"
}

// toolText says when a rule catches a call.
func toolText(h orchestrator.Hold) string {
	if h == orchestrator.Enforced {
		return "it asks before each call"
	}
	return "calls may run unasked; what they did is seen afterwards"
}
