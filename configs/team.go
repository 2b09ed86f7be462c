package configs

import (
	"path/filepath"
	"time"

	"github.com/coveyteam/covey/configs/shell"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
)

// Team is a spec with all references resolved and all defaults filled in. It
// is a value: nothing in it changes after Load has returned it.
type Team struct {
	File      string // absolute path of the spec
	Override  string // absolute path of the local override laid over it; empty: none
	Name      string // [a-z0-9][a-z0-9-]{0,31}
	Goal      string // empty when the spec gives none
	Workspace string // absolute path; exists and can be written to
	Models    map[string]Model
	// Agents are those of the spec, and the presets that an agent falls back to.
	Agents    map[string]Agent
	Lead      Member
	Teammates []Member // in file order; may be empty
	Tasks     []Task   // in file order; stored as "1", "2", … in this order

	Hooks    hooks.Settings // the section `hooks`
	Gates    hooks.Settings // the section `gates`; each handler has Gate set
	Settings []string       // absolute paths of the settings files, in order
	Plugins  []string       // absolute paths of the plugins' folders, in order
	// FailClosed makes hooks that give no verdict refuse, as gates do.
	FailClosed bool
	Keep       bool // stay up when all is done

	Worktree  Worktree
	Merge     Merge
	Git       Git
	Protect   []string // globs below the workspace; writes there need approval
	Budget    Budget
	Schedules []Schedule    // in file order
	OnAsk     OnAsk         // never empty
	AskLimit  time.Duration // how long a question may wait in the inbox; never 0
	// CompleteOnPass completes the tasks that a member has in progress when its turn
	// end passes all gates; without it only the member's own words complete a task.
	CompleteOnPass bool

	// Warnings tell of things that are legal and look like mistakes.
	Warnings []yaml.Problem
}

// Members returns the lead and then the teammates in file order.
func (t *Team) Members() []Member {
	return append([]Member{t.Lead}, t.Teammates...)
}

// Member is the lead or a teammate, with what it inherits from `defaults`.
type Member struct {
	Name        string
	Agent       Agent
	Description string // what the others see; may be empty
	// Instructions go to the member's model before everything else: the key
	// `instructions`, or the body of the prompt file.
	Instructions   string
	PromptFile     string         // absolute path that Instructions came from; empty: none
	Tools          []string       // nil: all tools; empty: team tools only
	PermissionMode PermissionMode // never empty
	Permissions    Permissions
	// Isolation is where it works; empty: the spec leaves it to the orchestrator.
	Isolation    Isolation
	SelfClaim    bool // takes a ready task when idle
	Limits       Limits
	Owns         []string // globs below the workspace that it may write to; nil: all
	PlanRequired bool     // only reading tools until its plan is approved
	DependsOn    []string // members that must have no open work before it gets any
	Restart      Restart
	Role         string   // what tasks may want (wants.role); never empty
	Labels       []string // what it is good at (wants.labels); nil: nothing in particular
}

// PermissionMode says what a member may do without asking.
type PermissionMode string

// The permission modes.
const (
	Default           PermissionMode = "default"
	Plan              PermissionMode = "plan"
	AcceptEdits       PermissionMode = "acceptEdits"
	DontAsk           PermissionMode = "dontAsk"
	BypassPermissions PermissionMode = "bypassPermissions"
)

// Isolation says where a member works.
type Isolation string

// The places where members work.
const (
	Shared     Isolation = "shared"   // the workspace itself
	InWorktree Isolation = "worktree" // a git working copy of its own, on a branch of its own
)

// Permissions are lists of permission rules, each one readable by
// rules.Parse. Deny beats ask, ask beats allow.
type Permissions struct {
	Allow []string
	Ask   []string
	Deny  []string
	// Mandatory are those of Ask and Deny that must hold before a call runs: a
	// spec is refused whose member has an agent that could only tell afterwards.
	Mandatory []string
	// Unreadable says what of settings files was to forbid something that nobody can
	// tell. No team starts with it.
	Unreadable []string
}

// Limits bound what a member may use. Zero means no limit.
type Limits struct {
	MaxTurns      int           // passes of one turn
	MaxTokens     int64         // tokens of the member's life
	TurnTimeout   time.Duration // wall time of one turn
	MaxInProgress int           // tasks it may have in progress at once
	StopBlockCap  int           // refused turn ends in a row; 8 unless the spec says otherwise
	MaxBudgetUSD  float64       // cost of the member's life, in US dollars
}

// AgentKind says what does the thinking behind a member.
type AgentKind string

// The kinds of agent.
const (
	Builtin AgentKind = "builtin" // the agent that ships with covey, on a model
	ACP     AgentKind = "acp"     // a program that speaks the Agent Client Protocol
	Command AgentKind = "command" // a program that is run once a turn: prompt in, reply out
	// Given is an agent that the program which uses covey as a library brings
	// along; Agent.Name names it.
	Given AgentKind = "given"
)

// Preset names an agent program that covey knows how to start.
type Preset string

// The presets.
const (
	Claude   Preset = "claude"
	Codex    Preset = "codex"
	Gemini   Preset = "gemini"
	OpenCode Preset = "opencode"
	Copilot  Preset = "copilot"
	Qwen     Preset = "qwen"
)

// Presets are the agents that need no entry under `agents`. A spec may use
// their names for agents of its own.
func Presets() []Preset { return []Preset{Claude, Codex, Gemini, OpenCode, Copilot, Qwen} }

// Auth says how an agent program proves who pays for it.
type Auth string

// The ways to log in.
const (
	// Login: the program uses the login that the user has made with it. covey
	// reads none of it.
	Login Auth = "login"
	// Key: the program gets an API key, from covey's environment or from a file.
	Key Auth = "key"
)

// Agent is a way to think.
type Agent struct {
	Name string // its name under `agents`, or the preset's; empty for a member that names a model only
	// Kind of a preset is ACP; where only a program that does not speak ACP is
	// installed, the orchestrator falls back on that.
	Kind   AgentKind
	Preset Preset // empty: none
	// Model is what a builtin agent thinks with. An agent program that is given a
	// script model gets it in place of its own, over a model server on loopback;
	// else Model is zero.
	Model Model
	// Command is the program and its arguments; empty: the preset's. A program with
	// a slash is an absolute path, any other is looked for in PATH.
	Command     []string
	Resume      []string // kind command: arguments behind Command that enter session "{session}" again; nil: none
	Env         []EnvVar // in file order
	Auth        Auth     // never empty for agent programs
	KeyVar      string   // Auth Key: the variable that the program reads its key from; empty: the preset's
	KeyFile     string   // Auth Key: absolute path of the file that holds it; empty: covey's environment
	Parallel    int      // members that may be in a turn at once on this agent's login; 0: no limit
	NativeHooks bool     // the program's own hooks run as well
	// TeamTools says that a program of kind command gets the team's tools over MCP. The
	// orchestrator knows it of the presets' programs; no spec says it.
	TeamTools bool
	// Fallback is the name of the agent that a member goes on with when this one has
	// hit a limit and the team's OnLimit is FallBack: a key of Team.Agents; empty: none.
	Fallback string
}

// EnvVar is a variable for an agent program.
type EnvVar struct {
	Name string `json:"name"`
	// Value is what the program gets, with covey's own variables in their places.
	// It may be a secret: show Text instead, which is the value as the spec has it.
	Value string `json:"-"`
	Text  string `json:"text"`
	// File is the absolute path of the file that Value was read from; empty: Text is
	// what it was made of.
	File string `json:"file,omitempty"`
}

// Provider names who answers model requests.
type Provider string

// Script is the offline model that plays a script (DESIGN 5). The other
// providers come later.
const Script Provider = "script"

// Model is what answers the builtin agent.
type Model struct {
	Name     string // its name under `models`; empty for a model written inline
	Provider Provider
	Script   string // absolute path of the script
}

// Task is a task that the spec brings.
type Task struct {
	ID          string // unique in the spec; not the id it is stored under
	Subject     string
	Description string
	Owner       string   // a member's name; empty: nobody
	BlockedBy   []string // IDs of other tasks of the spec
	Labels      []string
	WantsTools  []string // tools a member must have to take it by itself
	WantsRole   string   // the Member.Role that it must have; empty: any
	WantsLabels []string // the Member.Labels that it must have, all of them
}

// Place is where the team's command lines run, and whose files they may name.
func (t *Team) Place() shell.Place {
	return shell.Place{Workspace: t.Workspace, Spec: filepath.Dir(t.File)}
}
