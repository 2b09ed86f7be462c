package configs

import (
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
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

// leadSpec is the lead: a member that may have another name.
type leadSpec struct {
	memberSpec
	name schema.Value[string]
}

// leadPart takes the lead. A teammate's name is its key; the lead has no key of
// its own, so it may have a name.
func leadPart(l *leadSpec) schema.Part {
	name := schema.Field{Key: "name", Part: schema.Ident(&l.name), Doc: "The lead's name. Default: lead."}
	return schema.Either(schema.Text(&l.agent), schema.Object(&l.at, append([]schema.Field{name}, l.fields()...)), wantMember)
}

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

// limitSpec bounds what a member may use.
type limitSpec struct {
	maxTurns      schema.Value[int64]
	maxTokens     schema.Value[int64]
	turnTimeout   schema.Value[time.Duration]
	maxInProgress schema.Value[int64]
	stopBlockCap  schema.Value[int64]
	maxBudgetUSD  schema.Value[float64]
}

// fields are the limits. In all of them 0 means no limit, so that a member can
// lift one that it inherits.
func (l *limitSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "max_turns", Part: schema.Whole(&l.maxTurns),
			Doc: "Passes (model requests) of one turn; of an agent program, prompts that it gets. 0: no limit. " +
				"Default: no limit."},
		{Key: "max_tokens", Part: schema.Count(&l.maxTokens),
			Doc: "Tokens in all, such as 200000 or 200k. 0: no limit. Default: no limit."},
		{Key: "turn_timeout", Part: schema.Span(&l.turnTimeout),
			Doc: "Time of one turn, such as 10m. 0: no limit. Default: no limit."},
		{Key: "max_in_progress", Part: schema.Whole(&l.maxInProgress),
			Doc: "Tasks in progress at once. 0: no limit. Default: 1."},
		{Key: "stop_block_cap", Part: schema.Whole(&l.stopBlockCap),
			Doc: "Refused turn ends in a row before the member needs attention. 0: no limit. Default: 8."},
		{Key: "max_budget_usd", Part: schema.Amount(&l.maxBudgetUSD),
			Doc: "Cost in all, in US dollars, as far as an agent program tells it. 0: no limit. Default: no limit."},
	}
}

// taskSpec is a task.
type taskSpec struct {
	at          *yaml.Node
	id          schema.Value[string]
	subject     schema.Value[string]
	description schema.Value[string]
	owner       schema.Value[string]
	blockedBy   schema.List[schema.Value[string]]
	labels      schema.List[schema.Value[string]]
	wants       wantsSpec
}

// taskPart takes a task.
func taskPart(t *taskSpec) schema.Part {
	return schema.Shared("task", schema.Object(&t.at, t.fields()))
}

// fields are the keys of a task. Names of members and tasks are checked by the
// resolver, which knows who there is.
func (t *taskSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "id", Part: schema.Ident(&t.id),
			Doc: "What blocked_by calls the task. Default: the subject made fit."},
		{Key: "subject", Need: true, Part: schema.Text(&t.subject),
			Doc: "What is to be done, in a few words."},
		{Key: "description", Part: schema.Text(&t.description),
			Doc: "What is to be done, in full."},
		{Key: "owner", Part: schema.Text(&t.owner),
			Doc: "The member that is told of the task at the start and works on it first."},
		{Key: "blocked_by", Part: schema.Texts(&t.blockedBy),
			Doc: "The ids of tasks that must be completed first."},
		{Key: "labels", Part: schema.Texts(&t.labels),
			Doc: "Words to sort tasks by."},
		{Key: "wants", Part: schema.Object(nil, t.wants.fields()),
			Doc: "What a member must have to take the task by itself."},
	}
}

// wantsSpec says what a member must have to take a task by itself.
type wantsSpec struct {
	tools, labels schema.List[schema.Value[string]]
	role          schema.Value[string]
}

// fields are what can be asked of a member.
func (w *wantsSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "tools", Part: schema.Texts(&w.tools), Doc: "Tools it must have."},
		{Key: "role", Part: schema.Text(&w.role), Doc: "The role that it must have."},
		{Key: "labels", Part: schema.Texts(&w.labels), Doc: "Labels that it must have, all of them."},
	}
}
