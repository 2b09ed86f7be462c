package configs

import (
	"time"

	"github.com/coveyteam/covey/hooks"
)

// Team is a spec with all references resolved and all defaults filled in. It
// is a value: nothing in it changes after Load has returned it.
type Team struct {
	File      string // absolute path of the spec
	Name      string // [a-z0-9][a-z0-9-]{0,31}
	Goal      string // empty when the spec gives none
	Workspace string // absolute path; exists and can be written to
	Models    map[string]Model
	Agents    map[string]Agent
	Lead      Member
	Teammates []Member // in file order; may be empty
	Tasks     []Task   // in file order; stored as "1", "2", … in this order

	Hooks    hooks.Settings // the section `hooks`
	Gates    hooks.Settings // the section `gates`; each handler has Gate set
	Settings []string       // absolute paths of the settings files, in order
	Keep     bool           // stay up when all is done

	// Warnings tell of things that are legal and look like mistakes.
	Warnings []Problem
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
	Isolation      Isolation // never empty
	SelfClaim      bool      // takes a ready task when idle
	Limits         Limits
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

// Shared members work in the workspace itself. The other kinds come later.
const Shared Isolation = "shared"

// Permissions are lists of permission rules, each one readable by
// hooks.ParseRule. Deny beats ask, ask beats allow.
type Permissions struct {
	Allow []string
	Ask   []string
	Deny  []string
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

// Builtin is the agent that ships with covey, on a model. The other kinds,
// acp and command, come later.
const Builtin AgentKind = "builtin"

// Agent is a way to think.
type Agent struct {
	Name  string // its name under `agents`; empty for a member that names a model only
	Kind  AgentKind
	Model Model
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
}
