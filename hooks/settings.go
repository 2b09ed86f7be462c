package hooks

import "encoding/json"

// Settings is the hooks section of a settings file: for each event the groups
// that listen to it (HOOKS.md section 3).
type Settings map[Event][]Group

// Group is a matcher with the handlers that it guards.
type Group struct {
	// Matcher says which subjects the group listens to: a tool's name, the source
	// of a session, … Empty or "*": all of them. Events without a subject ignore it.
	Matcher string    `json:"matcher,omitempty" yaml:"matcher,omitempty"`
	Hooks   []Handler `json:"hooks" yaml:"hooks"`
}

// Handler is one configured hook. Fields that its Type does not know are
// ignored by it.
type Handler struct {
	// Type is command, http, mcp_tool, prompt or agent.
	Type string `json:"type" yaml:"type"`
	// If is a permission rule; the hook runs only for calls that it fits. Only
	// tool events evaluate it, and on others a hook that has one never runs.
	If string `json:"if,omitempty" yaml:"if,omitempty"`
	// Timeout is in seconds and may have a fraction; 0 is the event's default.
	Timeout float64 `json:"timeout,omitempty" yaml:"timeout,omitempty"`
	// StatusMessage is shown to people while the hook runs.
	StatusMessage string `json:"statusMessage,omitempty" yaml:"statusMessage,omitempty"`
	// Once lets the hook run once in a session.
	Once bool `json:"once,omitempty" yaml:"once,omitempty"`
	// OnFailure is continue (the default) or block: what becomes of the action
	// when the hook cannot judge. Turn ends ignore it.
	OnFailure string `json:"onFailure,omitempty" yaml:"onFailure,omitempty"`

	// Mode is observe, or empty: the verdict of a hook that observes is noted in its
	// Result and not acted on.
	Mode string `json:"mode,omitempty" yaml:"mode,omitempty"`

	// Mandatory, on a hook that can refuse a tool call, is covey's own: a spec is
	// refused in which some member's agent makes such calls without asking.
	Mandatory bool `json:"mandatory,omitempty" yaml:"mandatory,omitempty"`

	// Command is a line for the shell or, with Args, a program.
	Command string `json:"command,omitempty" yaml:"command,omitempty"`
	// Args, if present, are the program's arguments: there is no shell then.
	// An empty list is not the same as none.
	Args []string `json:"args,omitempty" yaml:"args,omitempty"`
	// Shell is bash, powershell, or empty for /bin/sh.
	Shell string `json:"shell,omitempty" yaml:"shell,omitempty"`
	// Cwd is the folder that the command runs in, from the project's; empty: the
	// member's own. Env adds variables to its environment. Other agent programs'
	// files have both.
	Cwd string            `json:"cwd,omitempty" yaml:"cwd,omitempty"`
	Env map[string]string `json:"env,omitempty" yaml:"env,omitempty"`
	// Async and AsyncRewake let the action go on while the hook runs; it decides
	// nothing then. With AsyncRewake exit code 2 wakes the agent with what the hook
	// wrote. Commands alone have this.
	Async       bool `json:"async,omitempty" yaml:"async,omitempty"`
	AsyncRewake bool `json:"asyncRewake,omitempty" yaml:"asyncRewake,omitempty"`
	// RewakeMessage stands before what a hook wrote that wakes the agent, and
	// RewakeSummary is one line about it for people.
	RewakeMessage string `json:"rewakeMessage,omitempty" yaml:"rewakeMessage,omitempty"`
	RewakeSummary string `json:"rewakeSummary,omitempty" yaml:"rewakeSummary,omitempty"`

	// What http handlers have.
	URL            string            `json:"url,omitempty" yaml:"url,omitempty"`
	Headers        map[string]string `json:"headers,omitempty" yaml:"headers,omitempty"`
	AllowedEnvVars []string          `json:"allowedEnvVars,omitempty" yaml:"allowedEnvVars,omitempty"`

	// What prompt and agent handlers have.
	Prompt          string `json:"prompt,omitempty" yaml:"prompt,omitempty"`
	Model           string `json:"model,omitempty" yaml:"model,omitempty"`
	ContinueOnBlock bool   `json:"continueOnBlock,omitempty" yaml:"continueOnBlock,omitempty"`

	// What mcp_tool handlers have.
	Server string                     `json:"server,omitempty" yaml:"server,omitempty"`
	Tool   string                     `json:"tool,omitempty" yaml:"tool,omitempty"`
	Input  map[string]json.RawMessage `json:"input,omitempty" yaml:"input,omitempty"`

	// Gate marks a hook that came from the spec's `gates:`. It is never read
	// from a file: a gate that cannot run refuses instead of failing open, and
	// any exit code but 0 refuses with the end of its output (DESIGN 4).
	Gate bool `json:"-" yaml:"-"`
	// MayAct says that what the command starts may act for its member with the covey
	// command. It is never read from a file either, but comes from the spec.
	MayAct bool `json:"-" yaml:"-"`
	// Policy is the name of a policy that ships with covey; only gates have it.
	Policy string `json:"-" yaml:"-"`
	// Dialect is set for a hook of another agent program's file.
	Dialect Dialect `json:"-" yaml:"-"`
	// Approver is who must approve: a member's name, or person. Only gates have it,
	// and Policy is then approve: and the name.
	Approver string `json:"-" yaml:"-"`
}

// Dialect says for which agent program a hook was written, where that is not
// Claude Code: what the hook reads and what it answers is translated. It is set
// while a file is read (HOOKS.md knows Claude Code's words alone).
type Dialect struct {
	// Program is one of the constants; empty: Claude Code, nothing is translated.
	Program Program
	// Words are the tools that the hook's matcher names. A program that has several
	// names for a tool is answered with the one that stands here.
	Words []string
}

// Program is an agent program whose hooks speak a dialect of their own.
type Program string

// The programs whose hooks covey translates.
const (
	// Copilot is GitHub Copilot's CLI, for events that begin with a small letter.
	Copilot Program = "Copilot"
	// CopilotSnake is the same program, for events that begin with a capital: the
	// fields have Claude Code's names, the tools have Copilot's.
	CopilotSnake Program = "Copilot with events in capitals"
	// Codex edits files by a tool apply_patch.
	Codex Program = "Codex"
	// VSCode is the agent of Visual Studio Code.
	VSCode Program = "VS Code"
)

// Observe is the Mode of hooks whose verdict is noted and not acted on: a policy
// that is being tried out.
const Observe = "observe"

// Binding reports whether a hook is one that must not be lost in silence.
func (h *Handler) Binding() bool { return h.Gate || h.Mandatory }

// ForHelper is the settings of an agent that runs as a helper inside a member: its
// Stop hooks are for the moment at which the helper stops (HOOKS.md section 3).
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
