package hooks

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"

	"github.com/coveyteam/covey/hooks/sandbox"
)

// Settings is the hooks section of a settings file: the groups of each event (HOOKS.md
// section 3).
type Settings map[Event][]Group

// Group is a matcher with its handlers.
type Group struct {
	// Matcher is which subjects the group applies to: a tool's name, the source of a
	// session, … Empty or "*" means all. Events without a subject ignore it.
	Matcher string    `json:"matcher,omitempty" yaml:"matcher,omitempty"`
	Hooks   []Handler `json:"hooks" yaml:"hooks"`
}

// Handler is one configured hook. Fields that do not belong to its Type are ignored.
type Handler struct {
	// Type is command, http, mcp_tool, prompt or agent.
	Type string `json:"type" yaml:"type"`
	// If is a permission rule; the hook only runs for calls that match it. Only tool events
	// evaluate it; on other events a hook with an If never runs.
	If string `json:"if,omitempty" yaml:"if,omitempty"`
	// Timeout is in seconds and may have a fraction; 0 is the event's default.
	Timeout float64 `json:"timeout,omitempty" yaml:"timeout,omitempty"`
	// StatusMessage is shown to people while the hook runs.
	StatusMessage string `json:"statusMessage,omitempty" yaml:"statusMessage,omitempty"`
	// Once makes the hook run only once in a session.
	Once bool `json:"once,omitempty" yaml:"once,omitempty"`
	// OnFailure is continue (the default) or block: what happens to the action when the
	// hook cannot judge. Turn ends ignore it.
	OnFailure string `json:"onFailure,omitempty" yaml:"onFailure,omitempty"`

	// Mode is observe or empty. The verdict of a hook that observes is recorded in its
	// Result and has no effect.
	Mode string `json:"mode,omitempty" yaml:"mode,omitempty"`

	// Mandatory, on a hook that can refuse a tool call, is covey's own: a spec is refused
	// if some member's agent makes such calls before the hook can refuse them.
	Mandatory bool `json:"mandatory,omitempty" yaml:"mandatory,omitempty"`

	// Command is a line for the shell or, with Args, a program.
	Command string `json:"command,omitempty" yaml:"command,omitempty"`
	// Args, if not nil, are the program's arguments, and no shell is used. An empty list is
	// not nil.
	Args []string `json:"args,omitempty" yaml:"args,omitempty"`
	// Shell is bash, powershell, or empty for /bin/sh.
	Shell string `json:"shell,omitempty" yaml:"shell,omitempty"`
	// Cwd is the folder that the command runs in, relative to the project's; empty means
	// the member's. Env adds variables to its environment. Files of other agent programs
	// have both.
	Cwd string            `json:"cwd,omitempty" yaml:"cwd,omitempty"`
	Env map[string]string `json:"env,omitempty" yaml:"env,omitempty"`
	// Async and AsyncRewake run the hook in the background, where it decides nothing. With
	// AsyncRewake exit code 2 wakes the agent with what the hook wrote. Only commands have
	// these.
	Async       bool `json:"async,omitempty" yaml:"async,omitempty"`
	AsyncRewake bool `json:"asyncRewake,omitempty" yaml:"asyncRewake,omitempty"`
	// RewakeMessage precedes the output of a hook that wakes the agent, and RewakeSummary
	// is one line about it for people.
	RewakeMessage string `json:"rewakeMessage,omitempty" yaml:"rewakeMessage,omitempty"`
	RewakeSummary string `json:"rewakeSummary,omitempty" yaml:"rewakeSummary,omitempty"`

	// Fields of http handlers.
	URL            string            `json:"url,omitempty" yaml:"url,omitempty"`
	Headers        map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"`
	AllowedEnvVars []string          `json:"allowedEnvVars,omitempty" yaml:"allowedEnvVars,omitempty"`

	// Fields of prompt and agent handlers.
	Prompt          string `json:"prompt,omitempty" yaml:"prompt,omitempty"`
	Model           string `json:"model,omitempty" yaml:"model,omitempty"`
	ContinueOnBlock bool   `json:"continueOnBlock,omitempty" yaml:"continueOnBlock,omitempty"`

	// Fields of mcp_tool handlers.
	Server string                     `json:"server,omitempty" yaml:"server,omitempty"`
	Tool   string                     `json:"tool,omitempty" yaml:"tool,omitempty"`
	Input  map[string]json.RawMessage `json:"input,omitempty" yaml:"input,omitempty"`

	// Gate marks a hook from the spec's `gates:`. It is never read from a file. A gate that
	// cannot run refuses instead of failing open, and any exit code but 0 refuses with the
	// end of its output.
	Gate bool `json:"-" yaml:"-"`
	// MayAct means that processes of the command may act for their member with the covey
	// command. It comes from the spec and is never read from a settings file.
	MayAct bool `json:"-" yaml:"-"`
	// Sandbox is what the spec gives for the box of this command alone; nil: nothing. It is never read from a
	// settings file.
	Sandbox *Sandbox `json:"-" yaml:"-"`
	// Policy is the name of a policy that ships with covey. Only gates have one.
	Policy string `json:"-" yaml:"-"`
	// Dialect is set for a hook of another agent program's file.
	Dialect Dialect `json:"-" yaml:"-"`
	// Approver is who must approve: a member's name, or person. Only gates have one; Policy
	// is then "approve:" and the name.
	Approver string `json:"-" yaml:"-"`
}

// Sandbox is what one hook or gate has of its own for its box. What is empty is as for all.
type Sandbox struct {
	Level   sandbox.Want
	Network sandbox.Mode
	Hosts   []string // which may be reached if Network is NetworkList
}

// Dialect names the agent program that a hook was written for, if that is not Claude Code.
// covey translates the hook's input and answer. It is set while a file is read; HOOKS.md
// only describes Claude Code's protocol.
type Dialect struct {
	// Program is one of the constants; empty means Claude Code, without translation.
	Program Program
	// Words are the tools that the hook's matcher names. If a program has several names for
	// a tool, the hook gets the one that is listed here.
	Words []string
	// Event is the event's name in the file, if the program has several for one of covey's.
	Event string
}

// Program is an agent program whose hooks use a dialect of their own.
type Program string

// The programs whose hooks covey translates.
const (
	// Copilot is GitHub Copilot's CLI, for events whose names begin with a small letter.
	Copilot Program = "Copilot"
	// CopilotSnake is the same program, for events whose names begin with a capital: fields
	// have Claude Code's names, tools have Copilot's.
	CopilotSnake Program = "Copilot with events in capitals"
	// Codex edits files with a tool apply_patch.
	Codex Program = "Codex"
	// VSCode is the agent of Visual Studio Code.
	VSCode Program = "VS Code"
	// Gemini is Gemini CLI, and Cursor the agent of that editor and its CLI.
	Gemini Program = "Gemini CLI"
	Cursor Program = "Cursor"
)

// Observe is the Mode of hooks whose verdict has no effect: a policy that is being tried
// out.
const Observe = "observe"

// Binding reports whether a hook must not be skipped silently.
func (h *Handler) Binding() bool { return h.Gate || h.Mandatory }

// Handlers iterates over all hooks with their events, in a fixed order.
func (s Settings) Handlers() iter.Seq2[Event, Handler] {
	return func(yield func(Event, Handler) bool) {
		for _, event := range slices.Sorted(maps.Keys(s)) {
			for _, group := range s[event] {
				for _, h := range group.Hooks {
					if !yield(event, h) {
						return
					}
				}
			}
		}
	}
}

// ForHelper returns the settings for an agent that runs as a helper inside a member: its
// Stop hooks become SubagentStop hooks (HOOKS.md section 3).
func (s Settings) ForHelper() Settings {
	out := make(Settings, len(s))
	for event, groups := range s {
		if event == Stop {
			event = SubagentStop
		}
		out[event] = append(out[event], groups...)
	}
	return out
}
