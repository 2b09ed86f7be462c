package configs

import (
	"time"

	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
)

// gatesSpec is the section `gates`.
type gatesSpec struct{ task, idle, stop, merge schema.List[gateSpec] }

// fields are the moments at which gates stand.
func (g *gatesSpec) fields() []schema.Field {
	const says = "a list of gates"
	return []schema.Field{
		{Key: "task", Part: schema.ListOf(&g.task, says, gatePart),
			Doc: "Gates on TaskCompleted: they must agree before a task is completed."},
		{Key: "idle", Part: schema.ListOf(&g.idle, says, gatePart),
			Doc: "Gates on TeammateIdle: they must agree before a teammate goes idle."},
		{Key: "stop", Part: schema.ListOf(&g.stop, says, gatePart),
			Doc: "Gates on Stop: they must agree before a turn ends."},
		{Key: "merge", Part: schema.ListOf(&g.merge, says, gatePart),
			Doc: "Gates on a merge: they see the merged state, and must agree before it counts."},
	}
}

// gateSpec is one gate: a mapping, or the text of its command.
type gateSpec struct {
	at      *yaml.Node
	run     schema.Value[string]
	timeout schema.Value[time.Duration]
	policy  schema.Value[string]
	approve schema.Value[string]
	mayAct  schema.Value[bool]
}

// gatePart takes a gate; its short form is the command.
func gatePart(g *gateSpec) schema.Part {
	return schema.Shared("gate", schema.Either(schema.Text(&g.run), schema.Object(&g.at, g.fields()),
		"a command, or a mapping such as {run: COMMAND, timeout: 2m}, {policy: NAME} or {approve: NAME}"))
}

// fields are the keys of a gate. It needs run, policy or approve, which the resolver asks
// for: no table can say "one of these".
func (g *gateSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "run", Part: schema.Text(&g.run),
			Doc: "The command. /bin/sh runs it in the member's working directory with the hook input on " +
				"stdin; exit 0 agrees, any other exit refuses with the end of its output as the feedback."},
		{Key: "timeout", Part: schema.Span(&g.timeout),
			Doc: "How long the gate may take, such as 2m. Default: 10m."},
		{Key: "policy", Part: schema.OneOf(&g.policy, Policies()...),
			Doc: "A policy that ships with covey."},
		{Key: "may_act", Part: schema.Truth(&g.mayAct),
			Doc: "true: `covey` below the command may act for the member, under the member's rules and PreToolUse hooks. " +
				"Default: false, it may only look."},
		{Key: "approve", Part: schema.Text(&g.approve),
			Doc: "Who must approve, in gates of task and merge: a member, or person for whoever is at the inbox."},
	}
}

// Policies returns the names of the policies that ship with covey and that a
// gate may name.
func Policies() []string { return []string{"no-open-tasks", "work-committed", "report-sent"} }
