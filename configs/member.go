package configs

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
)

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

// Isolation says where a member works.
type Isolation string

// The places where members work.
const (
	Shared     Isolation = "shared"   // the workspace itself
	InWorktree Isolation = "worktree" // a git working copy of its own, on a branch of its own
)

// The words for whether a member needs a plan; none lifts what it inherits.
const (
	planRequired = "required"
	planNone     = "none"
)

// memberSpec is a member: a mapping, or the text that names its agent.
type memberSpec struct {
	at           *yaml.Node           // of a mapping
	agent        schema.Value[string] // also of a text
	model        modelSpec
	description  schema.Value[string]
	instructions schema.Value[string]
	promptFile   schema.Value[string]
	tools        schema.List[schema.Value[string]]
	mode         schema.Value[string]
	permissions  permissionSpec
	isolation    schema.Value[string]
	selfClaim    schema.Value[bool]
	limits       limitSpec
	role         schema.Value[string]
	labels       schema.List[schema.Value[string]]
	owns         schema.List[schema.Value[string]]
	plan         schema.Value[string]
	dependsOn    schema.List[schema.Value[string]]
	restart      restartSpec
}

// fields are the keys of a teammate, and all but the name of the lead's.
func (m *memberSpec) fields() []schema.Field {
	fields := []schema.Field{
		{Key: "agent", Part: schema.Text(&m.agent),
			Doc: "The agent that thinks for the member: a name under agents, or a program that covey knows, such as claude."},
		{Key: "model", Part: modelPart(&m.model),
			Doc: "Short for a builtin agent on that model."},
		{Key: "description", Part: schema.Text(&m.description),
			Doc: "What the member is for; the others see it."},
		{Key: "instructions", Part: schema.Text(&m.instructions),
			Doc: "What the member is told before everything else."},
		{Key: "prompt_file", Part: schema.Text(&m.promptFile),
			Doc: "A file that holds the instructions, relative to the spec. The description and tools " +
				"of an agent file's head count where the member gives none."},
		{Key: "tools", Part: schema.Texts(&m.tools),
			Doc: "The tools it may use; team tools always come along. Default: all."},
		{Key: "permission_mode", Part: schema.OneOf(&m.mode, string(Default), string(Plan), string(AcceptEdits),
			string(DontAsk), string(BypassPermissions)),
			Doc: "What it may do without asking. Default: default."},
		{Key: "permissions", Part: schema.Object(nil, m.permissions.fields()),
			Doc: "Permission rules. Deny beats ask, ask beats allow, whatever a hook says."},
		{Key: "isolation", Part: isolationPart{&m.isolation},
			Doc: "Where it works: shared, in the workspace; worktree, in a git working copy of its own. Default: " +
				"worktree where two or more members can write in a git repository, else shared."},
		{Key: "owns", Part: schema.Globs(&m.owns),
			Doc: "Where it may write, as globs below the workspace; what it has really written, with whatever tool, is held " +
				"against it. Default: everywhere."},
		{Key: "self_claim", Part: schema.Truth(&m.selfClaim),
			Doc: "Take a ready task when idle. Default: true for teammates, false for the lead."},
		{Key: "limits", Part: schema.Object(nil, m.limits.fields()),
			Doc: "What it may use."},
	}
	return append(fields, m.teamworkFields()...)
}

// memberPart takes a teammate; its short form is an agent's name.
func memberPart(m *memberSpec) schema.Part {
	return schema.Shared("teammate", schema.Either(schema.Text(&m.agent), schema.Object(&m.at, m.fields()), wantMember))
}

const wantMember = "an agent's name, or a mapping such as {model: NAME}"

// isolationPart takes a kind of isolation.
type isolationPart struct{ to *schema.Value[string] }

// Want names the kinds that there are.
func (p isolationPart) Want() string { return string(Shared) + " or " + string(InWorktree) }

// Decode tells the kind that comes later from words that mean nothing.
func (p isolationPart) Decode(d *schema.Decoder, key, n *yaml.Node) {
	p.to.At = n
	switch {
	case n.Kind == yaml.Text && (n.Text == string(Shared) || n.Text == string(InWorktree)):
		p.to.V = n.Text
	case n.Kind == yaml.Text && n.Text == "clone":
		d.NotYet(n.At, "isolation: "+n.Text, "write worktree, or remove it")
	default:
		d.Wrong(key, n, p.Want())
	}
}

// Schema names the kinds of this version only.
func (p isolationPart) Schema() *schema.JSON {
	return schema.Of(jsonschema.Schema{Type: "string", Enum: []any{string(Shared), string(InWorktree)}})
}

// inherit returns own with what it does not say taken from defaults. Agent and
// model are one choice, and so are instructions and prompt file.
func inherit(defaults, own *memberSpec) *memberSpec {
	m := *own
	if !own.agent.Given() && !own.model.given() {
		m.agent, m.model = defaults.agent, defaults.model
	}
	if !own.instructions.Given() && !own.promptFile.Given() {
		m.instructions, m.promptFile = defaults.instructions, defaults.promptFile
	}
	m.description = first(own.description, defaults.description)
	m.mode = first(own.mode, defaults.mode)
	m.isolation = first(own.isolation, defaults.isolation)
	m.selfClaim = first(own.selfClaim, defaults.selfClaim)
	m.inheritTeamwork(defaults)
	if !own.tools.Given() {
		m.tools = defaults.tools
	}
	// Permission lists add up: a member that denies one thing more must not
	// thereby allow what the team denies.
	m.permissions.allow = join(defaults.permissions.allow, own.permissions.allow)
	m.permissions.ask = join(defaults.permissions.ask, own.permissions.ask)
	m.permissions.deny = join(defaults.permissions.deny, own.permissions.deny)
	m.limits = own.limits.inherit(defaults.limits)
	return &m
}

// inheritTeamwork fills in what is about the others. Which members one waits for is
// left out: `dependencies` knows who there is.
func (m *memberSpec) inheritTeamwork(defaults *memberSpec) {
	m.role, m.plan = first(m.role, defaults.role), first(m.plan, defaults.plan)
	if !m.owns.Given() {
		m.owns = defaults.owns
	}
	if !m.labels.Given() {
		m.labels = defaults.labels
	}
	if m.restart.at == nil {
		m.restart = defaults.restart
	}
}

// teamworkFields are the keys of a member that are about the others.
func (m *memberSpec) teamworkFields() []schema.Field {
	return []schema.Field{
		{Key: "role", Part: schema.Text(&m.role),
			Doc: "What it is, for tasks that want a role. Default: the name of its agent, or else its own."},
		{Key: "labels", Part: schema.Texts(&m.labels),
			Doc: "Words for what it is good at, for tasks that want labels. Default: none."},
		{Key: "plan", Part: schema.OneOf(&m.plan, planRequired, planNone),
			Doc: "required: it only reads until its plan is approved. none: it needs no plan. Default: none."},
		{Key: "depends_on", Part: schema.Texts(&m.dependsOn),
			Doc: "Members that must have no open work before it gets any."},
		{Key: "restart", Part: schema.Object(&m.restart.at, m.restart.fields()),
			Doc: "How often it begins anew when its agent or a turn fails; then it leaves, and its tasks are open again. " +
				"Default: an agent program that dies is started again three times in a row, and nothing else is."},
	}
}

// first returns the first value that the spec gives.
func first[T any](own, inherited schema.Value[T]) schema.Value[T] {
	if own.Given() {
		return own
	}
	return inherited
}

// join puts inherited and own entries into one list, the inherited first. It
// copies only if both have some: many members share what they inherit.
func join[T any](a, b schema.List[T]) schema.List[T] {
	if len(b.Items) == 0 {
		return schema.List[T]{Items: a.Items, At: orElse(a.At, b.At)}
	}
	return schema.List[T]{Items: append(slices.Clone(a.Items), b.Items...), At: orElse(a.At, b.At)}
}

// member resolves all of a member but its name. Every default of DESIGN 4
// that is a member's stands here.
func (r *resolver) member(m *memberSpec, selfClaim bool) Member {
	out := Member{
		Description:    m.description.V,
		Instructions:   m.instructions.V,
		Tools:          schema.Words(m.tools),
		PermissionMode: PermissionMode(m.mode.Or(string(Default))),
		Permissions:    permissions(m.permissions),
		Isolation:      Isolation(m.isolation.V),
		SelfClaim:      m.selfClaim.Or(selfClaim),
		Limits:         m.limits.resolve(),
		Owns:           schema.Words(m.owns),
		PlanRequired:   m.plan.V == planRequired,
		DependsOn:      schema.Words(m.dependsOn),
		Restart:        r.restart(&m.restart),
		Role:           m.role.V,
		Labels:         schema.Words(m.labels),
	}
	out.Agent, _ = r.agent(m)
	checkTools(r.Decoder, m.tools, out.Agent.foreign())
	if m.instructions.Given() && m.promptFile.Given() {
		r.Fail(m.promptFile.At.At, "a member has instructions or a prompt_file, not both; remove one")
	} else if m.promptFile.Given() {
		r.promptFile(&out, m.promptFile)
	}
	return out
}
