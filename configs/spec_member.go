package configs

import (
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/yaml"
)

// memberSpec is a member: a mapping, or the text that names its agent.
type memberSpec struct {
	at           *yaml.Node    // of a mapping
	agent        value[string] // also of a text
	model        modelSpec
	description  value[string]
	instructions value[string]
	promptFile   value[string]
	tools        list[value[string]]
	mode         value[string]
	permissions  permissionSpec
	isolation    value[string]
	selfClaim    value[bool]
	limits       limitSpec
	role         value[string]
	labels       list[value[string]]
	owns         list[value[string]]
	plan         value[string]
	dependsOn    list[value[string]]
	restart      restartSpec
}

// fields are the keys of a teammate, and all but the name of the lead's.
func (m *memberSpec) fields() []field {
	fields := []field{
		{key: "agent", part: text(&m.agent),
			doc: "The agent that thinks for the member: a name under agents, or a program that covey knows, such as claude."},
		{key: "model", part: modelPart(&m.model),
			doc: "Short for a builtin agent on that model."},
		{key: "description", part: text(&m.description),
			doc: "What the member is for; the others see it."},
		{key: "instructions", part: text(&m.instructions),
			doc: "What the member is told before everything else."},
		{key: "prompt_file", part: text(&m.promptFile),
			doc: "A file that holds the instructions, relative to the spec. The description and tools " +
				"of an agent file's head count where the member gives none."},
		{key: "tools", part: texts(&m.tools),
			doc: "The tools it may use; team tools always come along. Default: all."},
		{key: "permission_mode", part: oneOf(&m.mode, string(Default), string(Plan), string(AcceptEdits),
			string(DontAsk), string(BypassPermissions)),
			doc: "What it may do without asking. Default: default."},
		{key: "permissions", part: object(nil, m.permissions.fields()),
			doc: "Permission rules. Deny beats ask, ask beats allow, whatever a hook says."},
		{key: "isolation", part: isolationPart{textPart{to: &m.isolation}},
			doc: "Where it works: shared, in the workspace; worktree, in a git working copy of its own. Default: " +
				"worktree where two or more members can write in a git repository, else shared."},
		{key: "owns", part: globs(&m.owns),
			doc: "Where it may write, as globs below the workspace; what it has really written, with whatever tool, is held " +
				"against it. Default: everywhere."},
		{key: "self_claim", part: truth(&m.selfClaim),
			doc: "Take a ready task when idle. Default: true for teammates, false for the lead."},
		{key: "limits", part: object(nil, m.limits.fields()),
			doc: "What it may use."},
	}
	return append(fields, m.teamworkFields()...)
}

// memberPart takes a teammate; its short form is an agent's name.
func memberPart(m *memberSpec) part {
	return shared("teammate", either(text(&m.agent), object(&m.at, m.fields()), wantMember))
}

const wantMember = "an agent's name, or a mapping such as {model: NAME}"

// leadSpec is the lead: a member that may have another name.
type leadSpec struct {
	memberSpec
	name value[string]
}

// leadPart takes the lead. A teammate's name is its key; the lead has no key of
// its own, so it may have a name.
func leadPart(l *leadSpec) part {
	name := field{key: "name", part: ident(&l.name), doc: "The lead's name. Default: lead."}
	return either(text(&l.agent), object(&l.at, append([]field{name}, l.fields()...)), wantMember)
}

// isolationPart takes a kind of isolation.
type isolationPart struct{ textPart }

// want names the kinds that there are.
func (p isolationPart) want() string { return string(Shared) + " or " + string(InWorktree) }

// decode tells the kind that comes later from words that mean nothing.
func (p isolationPart) decode(d *decoder, key, n *yaml.Node) {
	p.to.at = n
	switch {
	case n.Kind == yaml.Text && (n.Text == string(Shared) || n.Text == string(InWorktree)):
		p.to.v = n.Text
	case n.Kind == yaml.Text && n.Text == "clone":
		d.notYet(n.At, "isolation: "+n.Text, "write worktree, or remove it")
	default:
		d.wrong(key, n, p.want())
	}
}

// schema names the kinds of this version only.
func (p isolationPart) schema() *schema {
	return of(jsonschema.Schema{Type: "string", Enum: []any{string(Shared), string(InWorktree)}})
}

// limitSpec bounds what a member may use.
type limitSpec struct {
	maxTurns      value[int64]
	maxTokens     value[int64]
	turnTimeout   value[time.Duration]
	maxInProgress value[int64]
	stopBlockCap  value[int64]
	maxBudgetUSD  value[float64]
}

// fields are the limits. In all of them 0 means no limit, so that a member can
// lift one that it inherits.
func (l *limitSpec) fields() []field {
	return []field{
		{key: "max_turns", part: whole(&l.maxTurns),
			doc: "Passes (model requests) of one turn; of an agent program, prompts that it gets. 0: no limit. " +
				"Default: no limit."},
		{key: "max_tokens", part: count(&l.maxTokens),
			doc: "Tokens in all, such as 200000 or 200k. 0: no limit. Default: no limit."},
		{key: "turn_timeout", part: span(&l.turnTimeout),
			doc: "Time of one turn, such as 10m. 0: no limit. Default: no limit."},
		{key: "max_in_progress", part: whole(&l.maxInProgress),
			doc: "Tasks in progress at once. 0: no limit. Default: 1."},
		{key: "stop_block_cap", part: whole(&l.stopBlockCap),
			doc: "Refused turn ends in a row before the member needs attention. 0: no limit. Default: 8."},
		{key: "max_budget_usd", part: amount(&l.maxBudgetUSD),
			doc: "Cost in all, in US dollars, as far as an agent program tells it. 0: no limit. Default: no limit."},
	}
}

// taskSpec is a task.
type taskSpec struct {
	at          *yaml.Node
	id          value[string]
	subject     value[string]
	description value[string]
	owner       value[string]
	blockedBy   list[value[string]]
	labels      list[value[string]]
	wants       wantsSpec
}

// taskPart takes a task.
func taskPart(t *taskSpec) part {
	return shared("task", object(&t.at, t.fields()))
}

// fields are the keys of a task. Names of members and tasks are checked by the
// resolver, which knows who there is.
func (t *taskSpec) fields() []field {
	return []field{
		{key: "id", part: ident(&t.id),
			doc: "What blocked_by calls the task. Default: the subject made fit."},
		{key: "subject", need: true, part: text(&t.subject),
			doc: "What is to be done, in a few words."},
		{key: "description", part: text(&t.description),
			doc: "What is to be done, in full."},
		{key: "owner", part: text(&t.owner),
			doc: "The member that is told of the task at the start and works on it first."},
		{key: "blocked_by", part: texts(&t.blockedBy),
			doc: "The ids of tasks that must be completed first."},
		{key: "labels", part: texts(&t.labels),
			doc: "Words to sort tasks by."},
		{key: "wants", part: object(nil, t.wants.fields()),
			doc: "What a member must have to take the task by itself."},
	}
}

// wantsSpec says what a member must have to take a task by itself.
type wantsSpec struct {
	tools, labels list[value[string]]
	role          value[string]
}

// fields are what can be asked of a member.
func (w *wantsSpec) fields() []field {
	return []field{
		{key: "tools", part: texts(&w.tools), doc: "Tools it must have."},
		{key: "role", part: text(&w.role), doc: "The role that it must have."},
		{key: "labels", part: texts(&w.labels), doc: "Labels that it must have, all of them."},
	}
}
