package configs

import (
	"time"

	"github.com/coveyteam/covey/configs/yaml"
)

// gatesSpec is the section `gates`.
type gatesSpec struct{ task, idle, stop, merge list[gateSpec] }

// fields are the moments at which gates stand.
func (g *gatesSpec) fields() []field {
	const says = "a list of gates"
	return []field{
		{key: "task", part: listOf(&g.task, says, gatePart),
			doc: "Gates on TaskCompleted: they must agree before a task is completed."},
		{key: "idle", part: listOf(&g.idle, says, gatePart),
			doc: "Gates on TeammateIdle: they must agree before a teammate goes idle."},
		{key: "stop", part: listOf(&g.stop, says, gatePart),
			doc: "Gates on Stop: they must agree before a turn ends."},
		{key: "merge", part: listOf(&g.merge, says, gatePart),
			doc: "Gates on a merge: they see the merged state, and must agree before it counts."},
	}
}

// gateSpec is one gate: a mapping, or the text of its command.
type gateSpec struct {
	at      *yaml.Node
	run     value[string]
	timeout value[time.Duration]
	policy  value[string]
	approve value[string]
	mayAct  value[bool]
}

// gatePart takes a gate; its short form is the command.
func gatePart(g *gateSpec) part {
	return shared("gate", either(text(&g.run), object(&g.at, g.fields()),
		"a command, or a mapping such as {run: COMMAND, timeout: 2m}, {policy: NAME} or {approve: NAME}"))
}

// fields are the keys of a gate. It needs run, policy or approve, which the resolver asks
// for: no table can say "one of these".
func (g *gateSpec) fields() []field {
	return []field{
		{key: "run", part: text(&g.run),
			doc: "The command. /bin/sh runs it in the member's working directory with the hook input on " +
				"stdin; exit 0 agrees, any other exit refuses with the end of its output as the feedback."},
		{key: "timeout", part: span(&g.timeout),
			doc: "How long the gate may take, such as 2m. Default: 10m."},
		{key: "policy", part: oneOf(&g.policy, Policies()...),
			doc: "A policy that ships with covey."},
		{key: "may_act", part: truth(&g.mayAct),
			doc: "true: `covey` below the command may act for the member, under the member's rules and PreToolUse hooks. " +
				"Default: false, it may only look."},
		{key: "approve", part: text(&g.approve),
			doc: "Who must approve, in gates of task and merge: a member, or person for whoever is at the inbox."},
	}
}

// Policies returns the names of the policies that ship with covey and that a
// gate may name.
func Policies() []string { return []string{"no-open-tasks", "work-committed", "report-sent"} }
