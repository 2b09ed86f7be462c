package launch

import (
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
)

// Hold describes how firmly one of covey's guarantees holds with an agent program.
type Hold string

// The degrees, strongest first.
const (
	Enforced Hold = "enforced" // it holds before anything happens
	Detected Hold = "detected" // covey sees afterwards what was done, and reports it
	Advisory Hold = "advisory" // the program is asked to comply, and may not
	Absent   Hold = "no"       // not at all
)

// Honours is what holds with an agent program, as far as measured. docs/agents.md shows
// it with versions.
type Honours struct {
	Gates   Hold            `json:"gates"`             // Stop, TaskCompleted and TeammateIdle at its turn's end
	Cancel  Hold            `json:"cancel"`            // an interrupt ends the turn
	Steer   Hold            `json:"steer"`             // mail reaches it in the middle of a turn
	Resume  Hold            `json:"resume"`            // its session survives kill -9
	System  Hold            `json:"system"`            // it accepts a system prompt
	Usage   Hold            `json:"usage"`             // it reports its token usage
	Tools   map[string]Hold `json:"tools"`             // rules and PreToolUse hooks, by kind of tool (ToolKinds)
	Native  Hold            `json:"native_hooks_off"`  // native_hooks: off keeps its own hooks from running
	MCP     string          `json:"mcp"`               // how it gets the team tools: http, stdio, shell (the covey commands) or builtin
	Version string          `json:"version,omitempty"` // measured version
	Date    string          `json:"date,omitempty"`    // of the measurement, such as 2026-11
	// Boxed is what differs in Tools in a sandbox of covey's, where the program's own is off.
	Boxed map[string]Hold `json:"boxed,omitempty"`
}

// in returns what holds in a sandbox.
func (h Honours) in(s configs.Sandbox) Honours {
	if s.On() {
		h.Tools = maps.Clone(h.Tools)
		maps.Copy(h.Tools, h.Boxed)
	}
	return h
}

// Asks summarizes Tools: enforced if all calls ask first, detected if some do not, no
// if none asks.
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

// mcpTools stands for the tools of MCP servers other than covey's own. Team tools are
// enforced with every agent, because covey executes them.
const mcpTools = "mcp"

// ToolKinds returns the keys of Honours.Tools in display order. Each stands for the
// tools with the same effect on the workspace.
func ToolKinds() []string { return []string{"Bash", "Edit", "Write", "Read", "WebFetch", mcpTools} }

// toolsOf returns the tools of a kind, as rules and hooks name them.
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

// asks returns the tools of a program that asks before each call of these kinds. Other
// calls are seen afterwards.
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

// builtinHonours is what holds for an agent whose tools covey runs.
func builtinHonours() Honours {
	return Honours{
		Gates: Enforced, Cancel: Enforced, Steer: Enforced, Resume: Enforced, System: Enforced, Usage: Enforced,
		Native: Enforced, Tools: asks(ToolKinds()...), MCP: "builtin",
	}
}

// unmeasuredHonours is what holds with an agent that was not measured: what the
// protocol itself guarantees.
func unmeasuredHonours() Honours {
	return Honours{
		Gates: Enforced, Cancel: Enforced, Steer: Advisory, Resume: Advisory, System: Advisory, Usage: Advisory,
		Native: Absent, Tools: asks(), MCP: "http",
	}
}

// commandHonours is what holds for a program that runs once a turn: its output is read
// when it is done.
func commandHonours() Honours {
	return Honours{
		Gates: Enforced, Cancel: Enforced, Steer: Absent, Resume: Advisory, System: Advisory, Usage: Advisory,
		Native: Absent, Tools: asks(), MCP: "shell",
	}
}

// measuredCommand is what holds with `claude -p` and `codex exec`: they print their usage, and
// resume their session.
func measuredCommand(version string) Honours {
	h := commandHonours()
	h.Resume, h.Usage, h.Native, h.MCP, h.Version, h.Date = Enforced, Enforced, Enforced, "http", version, "2026-11"
	return h
}

// honoursOf returns what holds with an agent of a spec. For a preset it is that of the
// installed program, or of the first program if none is installed.
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
	return unmeasuredHonours()
}

// LookPath finds programs as the members' agents will: in PATH, and never in the
// current folder, where agents write.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil && !strings.ContainsAny(name, `/\`) {
		return "", exec.ErrNotFound
	}
	return path, err
}

// Withheld returns the tools that a member's spec does not grant, as deny rules: an
// agent program has its own tools, which covey cannot remove. The rules refuse the
// calls that it asks about; other calls are detected.
func Withheld(m configs.Member) []string {
	if m.Tools == nil || m.Agent.Kind != configs.ACP && m.Agent.Kind != configs.Command {
		return nil
	}
	given := func(tool string) bool { return slices.Contains(m.Tools, tool) }
	// Programs do not distinguish writing from editing as the builtin agent does.
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
