package main

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/launch"
)

// printAgent prints everything that is known about one agent.
func printAgent(out *term.Screen, a launch.AgentInfo) {
	out.Printf("%s\n", out.Paint(term.Bold, term.PlainLine(a.Name)))
	// A fact without a text is left out: an empty line would read as if the program had
	// none.
	fact := func(name, text string) {
		if text != "" {
			out.Printf("  %-9s%s\n", name, term.PlainLine(text))
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
		fact("install", a.HowToInstall())
	}
	version := a.Version
	if older := a.Older(); older != "" {
		version += ": " + older + "; " + a.ToNewest()
	}
	fact("version", version)
	if a.Installed() {
		fact("login", loginText(a))
	}
	fact("members", strings.Join(a.Members, ", "))
	h := a.Honours
	out.Printf("\n%s\n", out.Paint(term.Bold, "It honours"))
	for _, line := range []struct {
		name string
		held launch.Hold
		why  string
	}{
		{"gates", h.Gates, "its turn ends only when the team's gates agree"},
		{"cancel", h.Cancel, "covey interrupt and limits end its turn"},
		{"steer", h.Steer, steerText(h.Steer)},
		{"resume", h.Resume, resumeText(h.Resume)},
		{"system", h.System, systemText(h.System)},
		{"usage", h.Usage, usageText(h.Usage)},
	} {
		printHonour(out, line.name, string(line.held), holdCell(line.held).Style, line.why)
	}
	printHonour(out, "mcp", h.MCP, term.Normal, mcpText(h.MCP))
	out.Printf("\n%s\n", out.Paint(term.Bold, "Permission rules and PreToolUse hooks hold for"))
	for _, kind := range launch.ToolKinds() {
		printHonour(out, kind, string(h.Tools[kind]), holdCell(h.Tools[kind]).Style, toolText(h.Tools[kind]))
	}
	printHonour(out, "team tools", string(launch.Enforced), term.Green, "covey itself carries them out")
	if h.Version != "" {
		out.Printf("\n%s\n", out.Paint(term.Faint, fmt.Sprintf("Measured with %s, %s.", h.Version, h.Date)))
	}
}

// loginText describes a login state and how it was detected.
func loginText(a launch.AgentInfo) string {
	if a.Login == launch.LoginNone {
		return "not needed: " + a.LoginBy
	}
	return string(a.Login) + ": " + a.LoginBy
}

// printHonour prints how far an agent honours one thing, and why.
func printHonour(out *term.Screen, name, held string, st term.Style, why string) {
	out.Printf("  %-11s%s  %s\n", name, out.Paint(st, fmt.Sprintf("%-8s", held)), why)
}

// steerText says what happens to mail in the middle of a turn.
func steerText(h launch.Hold) string {
	switch h {
	case launch.Enforced:
		return "mail reaches it in the middle of a turn"
	case launch.Advisory:
		return "mail reaches it in mid-turn if it says that it can"
	}
	return "mail waits until its turn ends"
}

// resumeText says what happens after a crash.
func resumeText(h launch.Hold) string {
	if h == launch.Enforced {
		return "after a crash it goes on in the same session"
	}
	return "after a crash it may have to start over, with a brief"
}

// systemText says how instructions reach the model.
func systemText(h launch.Hold) string {
	if h == launch.Enforced {
		return "instructions stand in its system prompt"
	}
	return "instructions stand at the head of its first prompt"
}

// usageText says what is known about tokens.
func usageText(h launch.Hold) string {
	switch h {
	case launch.Enforced:
		return "it reports what each turn has used"
	case launch.Absent:
		return "it reports nothing: limits on tokens have no effect"
	}
	return "it may report too little: limits on tokens may come late"
}

// mcpText says how the agent gets the team tools.
func mcpText(way string) string {
	switch way {
	case "builtin":
		return "the team tools are its own tools"
	case "shell":
		return "the covey commands in its shell replace the team tools"
	case "stdio":
		return "the team tools come to it through a child process"
	}
	return "the team tools come to it over loopback, with a token"
}

// toolText says when a rule applies to a call.
func toolText(h launch.Hold) string {
	if h == launch.Enforced {
		return "it asks before each call"
	}
	return "calls may run unasked; what they did is seen afterwards"
}
