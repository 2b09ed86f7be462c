package launch

import (
	"os/exec"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
)

// Hold says how far covey's word reaches with an agent program.
type Hold string

// The degrees, the firmest first.
const (
	Enforced Hold = "enforced" // it holds before anything happens
	Detected Hold = "detected" // covey sees afterwards what was done, and says so
	Advisory Hold = "advisory" // the program is asked to, and may not
	Absent   Hold = "no"       // not at all
)

// Honours is what an agent program honours, as far as it was measured.
// docs/agents.md shows it with versions and dates.
type Honours struct {
	Gates   Hold            `json:"gates"`             // Stop, TaskCompleted and TeammateIdle at its turn's end
	Cancel  Hold            `json:"cancel"`            // an interrupt ends the turn
	Steer   Hold            `json:"steer"`             // mail reaches it in the middle of a turn
	Resume  Hold            `json:"resume"`            // its session lives on after kill -9
	System  Hold            `json:"system"`            // it takes a system prompt as such
	Usage   Hold            `json:"usage"`             // it tells what it has used
	Tools   map[string]Hold `json:"tools"`             // rules and PreToolUse hooks, by kind of tool: see ToolKinds
	Native  Hold            `json:"native_hooks_off"`  // native_hooks: off keeps its own hooks from running
	MCP     string          `json:"mcp"`               // how it takes the team tools: http, stdio, shell (the covey commands) or builtin
	Version string          `json:"version,omitempty"` // that was measured
	Date    string          `json:"date,omitempty"`    // of the measurement, as 2026-11
}

// Asks sums up Tools in one word: enforced if all calls ask first, detected if
// some do not, no if none asks.
func (h Honours) Asks() Hold {
	all := true
	some := false
	for _, kind := range ToolKinds() {
		all = all && h.Tools[kind] == Enforced
		some = some || h.Tools[kind] == Enforced
	}
	switch {
	case all:
		return Enforced
	case some:
		return Detected
	}
	return Absent
}

// mcpTools stands for the tools of MCP servers other than covey's own. Team
// tools are enforced with every agent: covey carries them out itself.
const mcpTools = "mcp"

// ToolKinds are the keys of Honours.Tools, in the order in which they are
// shown. Each stands for the tools that do the same to the workspace.
func ToolKinds() []string { return []string{"Bash", "Edit", "Write", "Read", "WebFetch", mcpTools} }

// toolsOf are the tools that a kind stands for, as rules and hooks call them.
func toolsOf(kind string) []string {
	switch kind {
	case "Edit":
		return []string{"Edit", "MultiEdit", "NotebookEdit"}
	case "Read":
		return []string{"Read", "Grep", "Glob", "LS"}
	case "WebFetch":
		return []string{"WebFetch", "WebSearch"}
	case mcpTools:
		return []string{"mcp__server__tool"}
	}
	return []string{kind}
}

// asks are the tools of a program that asks before each call of some of them.
// What the others have done is seen afterwards.
func asks(kinds ...string) map[string]Hold {
	all := map[string]Hold{}
	for _, kind := range ToolKinds() {
		all[kind] = Detected
		if slices.Contains(kinds, kind) {
			all[kind] = Enforced
		}
	}
	return all
}

// builtinHonours is what holds for an agent whose tools covey runs itself.
func builtinHonours() Honours {
	return Honours{
		Gates: Enforced, Cancel: Enforced, Steer: Enforced, Resume: Enforced, System: Enforced, Usage: Enforced,
		Native: Enforced, Tools: asks(ToolKinds()...), MCP: "builtin",
	}
}

// strangerHonours is what may be relied on with an agent of which nobody has
// measured anything: the protocol itself.
func strangerHonours() Honours {
	return Honours{
		Gates: Enforced, Cancel: Enforced, Steer: Advisory, Resume: Advisory, System: Advisory, Usage: Advisory,
		Native: Absent, Tools: asks(), MCP: "http",
	}
}

// commandHonours is what holds for each program that is run once a turn: it is
// heard when it is done.
func commandHonours() Honours {
	return Honours{
		Gates: Enforced, Cancel: Enforced, Steer: Absent, Resume: Advisory, System: Advisory, Usage: Advisory,
		Native: Absent, Tools: asks(), MCP: "shell",
	}
}

// honoursOf is what an agent of a spec honours. Of a preset it is that of the
// program that serves on this machine; where none is installed, that of the
// one that should be.
func honoursOf(a configs.Agent, look func(string) (string, error)) Honours {
	p, known := presetOf(a.Preset)
	switch {
	// covey runs the tools of a Given agent, as it does for the builtin one.
	case a.Kind == configs.Builtin, a.Kind == configs.Given:
		return builtinHonours()
	case known:
		if way, _, err := p.find(look); err == nil && len(a.Command) == 0 {
			return way.honours
		}
		i := slices.IndexFunc(p.programs, func(w program) bool { return w.kind == a.Kind })
		return p.programs[max(i, 0)].honours
	case a.Kind == configs.Command:
		return commandHonours()
	}
	return strangerHonours()
}

// LookPath finds programs as the members' agents will: in the PATH, and never
// in the current folder, where agents write.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil && !strings.ContainsAny(name, `/\`) {
		return "", exec.ErrNotFound
	}
	return path, err
}

// Withheld are the tools that a member's spec does not give it, as deny rules:
// an agent program brings tools of its own, which nobody can take away. What it
// asks for is refused by them, and what it does without asking is detected.
func Withheld(m configs.Member) []string {
	if m.Tools == nil || m.Agent.Kind != configs.ACP && m.Agent.Kind != configs.Command {
		return nil
	}
	given := func(tool string) bool { return slices.Contains(m.Tools, tool) }
	// Programs do not tell writing from editing as the builtin agent does.
	edits := given("Edit") || given("Write")
	var rules []string
	for _, kind := range ToolKinds() {
		for _, tool := range toolsOf(kind) {
			edit := edits && (kind == "Edit" || kind == "Write")
			if kind == mcpTools || given(tool) || edit || tool == "LS" && given("Glob") {
				continue
			}
			rules = append(rules, tool)
		}
	}
	return rules
}
