package configs

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/hints"
)

// Policies returns the names of the policies that ship with covey and that a gate can use.
func Policies() []string {
	return []string{"no-open-tasks", "work-committed", "report-sent", "changed-something"}
}

// gateRules checks and compiles the gates of a spec.
type gateRules struct {
	*yaml.Decoder
	workspace string // absolute path; empty if it cannot be used, which has been reported
}

// gates compiles the section `gates` to handlers that fail closed.
func (r *gateRules) gates(s *gatesSpec) hooks.Settings {
	out := hooks.Settings{}
	for event, gates := range map[hooks.Event]yaml.List[gateSpec]{
		hooks.TaskCompleted: s.task, hooks.TeammateIdle: s.idle, hooks.Stop: s.stop,
	} {
		if len(gates.Items) > 0 {
			out[event] = []hooks.Group{r.group(event, gates)}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// group compiles gates to one group, so that they run concurrently, and checks their timeouts by the rules of
// package settings.
func (r *gateRules) group(event hooks.Event, gates yaml.List[gateSpec]) hooks.Group {
	var group hooks.Group
	for i := range gates.Items {
		group.Hooks = append(group.Hooks, r.gate(&gates.Items[i]))
	}
	for _, p := range settings.Validate(hooks.Settings{event: []hooks.Group{group}}) {
		if p.Field == "timeout" && p.Hook >= 0 && p.Hook < len(gates.Items) {
			r.Fail(gates.Items[p.Hook].timeout.At.At,
				"the timeout is longer than a gate may take; write less, such as 10m")
		}
	}
	return group
}

// hasOther reports whether a gate has a key that the decoder has refused. That is its
// mistake then, and no key is missing.
func (g *gateSpec) hasOther() bool {
	for _, p := range g.at.Pairs {
		if !slices.Contains([]string{"timeout", "may_act", "sandbox", "tests"}, p.Key.Text) {
			return true
		}
	}
	return false
}

// gate compiles one gate.
//
// The handler has Gate set, so it fails closed: a command that cannot run refuses. An
// approver is compiled to a policy, so that package hooks has one kind of gate less.
func (r *gateRules) gate(g *gateSpec) hooks.Handler {
	var given []*yaml.Node
	for _, at := range []*yaml.Node{g.run.At, g.policy.At, g.approve.At, g.hints.At} {
		if at != nil {
			given = append(given, at)
		}
	}
	switch {
	case len(given) > 1:
		r.Fail(given[1].At, "a gate has one of run, policy, approve and hints; make several gates of it")
	case g.at != nil && len(given) == 0 && !g.hasOther():
		r.Fail(g.at.At, "a gate has a command, a policy, an approver or hints; add run: COMMAND, policy: NAME, approve: NAME or hints: [KIND]")
	}
	if g.hints.At != nil && g.hints.At.Kind == yaml.ListKind && len(g.hints.Items) == 0 {
		r.Fail(g.hints.At.At, "hints is empty; name a kind of hints, such as tests-removed")
	}
	h := hooks.Handler{Command: g.run.V, Timeout: g.timeout.V.Seconds(), Policy: g.policy.V, Gate: true,
		MayAct: g.mayAct.V, Sandbox: g.sandbox.own(r.Decoder)}
	if g.mayAct.V && !g.run.Given() {
		r.Fail(g.mayAct.At.At, "only a command can act; remove may_act, or write run: COMMAND")
	}
	if h.Sandbox != nil && !g.run.Given() {
		r.Fail(g.sandbox.at.At, "only a command runs in a sandbox; remove sandbox, or write run: COMMAND")
	}
	if g.tests.V && !g.run.Given() {
		r.Fail(g.tests.At.At, "only a command runs tests; remove tests, or write run: COMMAND")
	}
	switch {
	case g.approve.V != "":
		h.Approver, h.Policy = g.approve.V, approvePolicy+g.approve.V
	case g.hints.At != nil:
		h.Policy = hintsPolicy + strings.Join(yaml.Words(g.hints), ",")
	case !g.policy.Given():
		h.Type = "command"
	}
	return h
}

// approvePolicy begins the names of the policies that ask for approval.
const approvePolicy = "approve:"

// hintsPolicy begins the names of the policies that refuse hints.
const hintsPolicy = "hints:"

// HintsOf returns the kinds of hints that a gate refuses, by its policy. Other policies have none.
func HintsOf(policy string) []string {
	kinds, ok := strings.CutPrefix(policy, hintsPolicy)
	if !ok {
		return nil
	}
	return strings.Split(kinds, ",")
}

// places checks that gates stand at moments at which they can judge, and who is to approve. The end of a
// turn leaves nothing to approve. A merge is no act of a member, which policies look at, and only
// it has hints.
//
// It must run after the members are resolved. Person is always known.
func (r *gateRules) places(t *Team, s *gatesSpec) {
	known := yaml.NewNameSet("member", append([]string{Person}, t.MemberNames()...))
	for _, gates := range []yaml.List[gateSpec]{s.task, s.merge} {
		for _, g := range gates.Items {
			known.Check(r.Decoder, g.approve.At)
		}
	}
	for _, gates := range []yaml.List[gateSpec]{s.idle, s.stop} {
		for _, g := range gates.Items {
			if g.approve.Given() {
				r.Fail(g.approve.At.At, "approve belongs to gates of task and merge; write a command or a policy here")
			}
		}
	}
	for _, gates := range []yaml.List[gateSpec]{s.task, s.idle, s.stop} {
		for _, g := range gates.Items {
			if g.hints.At != nil {
				r.Fail(g.hints.At.At, "hints belong to gates of merge; move this gate there")
			}
		}
	}
	for _, gates := range []yaml.List[gateSpec]{s.idle, s.stop} {
		for _, g := range gates.Items {
			if g.tests.V {
				r.Fail(g.tests.At.At, "tests belongs to gates of task and merge, which judge finished work; move this gate there")
			}
		}
	}
	for _, gates := range []yaml.List[gateSpec]{s.task, s.merge} {
		for _, g := range gates.Items {
			if g.tests.V {
				t.Tests = append(t.Tests, r.gate(&g))
			}
		}
	}
	for _, g := range s.merge.Items {
		for _, kind := range g.hints.Items {
			if slices.Contains(hints.ByTrial(), kind.V) && len(t.Tests) == 0 {
				r.Fail(kind.At.At, "only a run of tests finds %s; add tests: true to the gate whose command runs the tests", kind.V)
			}
		}
		if g.policy.V != "" {
			r.Fail(g.policy.At.At, "a policy looks at a member, which merges nothing; write a command, an approver or hints here")
		}
	}
}

// gatePrograms reports the programs of gates that do not exist. Such a gate refuses
// everything, so this is a mistake of the spec. It is only a warning if a working copy may
// have the file although the workspace does not.
func (r *gateRules) gatePrograms(t *Team, s *gatesSpec) {
	// On Windows the shell brings programs in folders of its own.
	if r.workspace == "" || runtime.GOOS == "windows" {
		return
	}
	for _, gates := range []yaml.List[gateSpec]{s.task, s.idle, s.stop, s.merge} {
		for _, g := range gates.Items {
			if g.run.V == "" {
				continue
			}
			for _, lack := range t.Place().Lacks(g.run.V) {
				if may := t.CopyMayHave(lack.Path); may != "" {
					r.Warn(g.run.At.At, "the gate's program %s %s in the workspace; the gate refuses unless %s brings it",
						yaml.Quote(lack.Word), lack.Fault, may)
					continue
				}
				r.Fail(g.run.At.At, "the gate's program %s %s; %s", yaml.Quote(lack.Word), lack.Fault, lack.WayOut)
			}
		}
	}
}

// CopyMayHave names the key that may bring a file into members' working copies that the
// workspace does not have, or returns "".
func (t *Team) CopyMayHave(path string) string {
	switch {
	case path == "" || !texts.Within(t.Workspace, path):
		return ""
	case len(t.Worktree.Setup) > 0:
		return "worktree.setup"
	case t.Worktree.Base != "":
		return "worktree.base"
	}
	return ""
}

// gatesSpec is the section `gates`.
type gatesSpec struct {
	task, idle, stop, merge yaml.List[gateSpec]
	atOnce                  yaml.Value[int]
	sandbox                 sandboxSpec
}

// fields returns the moments at which gates run, and their limit.
func (g *gatesSpec) fields() []yaml.Field {
	const says = "a list of gates"
	return []yaml.Field{
		{Key: "task", Part: yaml.ListOf(&g.task, says, gatePart),
			Doc: "Gates on TaskCompleted: they must agree before a task is completed."},
		{Key: "idle", Part: yaml.ListOf(&g.idle, says, gatePart),
			Doc: "Gates on TeammateIdle: they must agree before a teammate goes idle."},
		{Key: "stop", Part: yaml.ListOf(&g.stop, says, gatePart),
			Doc: "Gates on Stop: they must agree before a turn ends."},
		{Key: "merge", Part: yaml.ListOf(&g.merge, says, gatePart),
			Doc: "Gates on a merge: they run on the merged state and must agree before it counts."},
		{Key: "at_once", Part: yaml.WholeFrom(1, 1000)(&g.atOnce),
			Doc: "How many commands of gates, setups and merges of all your teams run at once. Default: half of the " +
				"cores, at least 1."},
		{Key: "sandbox", Part: yaml.Object(nil, g.sandbox.gateFields()),
			Doc: "What commands of gates may access: level and network. Default: the level of the team's sandbox, and all of the network."},
	}
}

// gateSpec is one gate: a mapping, or the text of its command.
type gateSpec struct {
	at      *yaml.Node
	run     yaml.Value[string]
	timeout yaml.Value[time.Duration]
	policy  yaml.Value[string]
	approve yaml.Value[string]
	hints   yaml.List[yaml.Value[string]]
	mayAct  yaml.Value[bool]
	tests   yaml.Value[bool]
	sandbox sandboxSpec
}

// gatePart decodes a gate; its short form is the command.
func gatePart(g *gateSpec) yaml.Part {
	return yaml.Shared("gate", yaml.Either(yaml.Text(&g.run), yaml.Object(&g.at, g.fields()),
		"a command, or a mapping such as {run: COMMAND, timeout: 2m}, {policy: NAME}, {approve: NAME} or {hints: [KIND]}"))
}

// fields returns the keys of a gate. The resolver checks that it has one of run, policy,
// approve and hints, which a table cannot express.
func (g *gateSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "run", Part: yaml.Text(&g.run),
			Doc: "The command. /bin/sh runs it in the workspace or the member's working copy, with the hook input on stdin; " +
				"exit 0 agrees, any other exit refuses with the end of its output as the feedback. In a sandbox of level 2 " +
				"what it writes there is discarded, except on merges: one gate builds and tests."},
		{Key: "timeout", Part: yaml.Span(&g.timeout),
			Doc: "How long the gate may take, such as 2m. Default: 10m."},
		{Key: "policy", Part: yaml.OneOf(&g.policy, Policies()...),
			Doc: "A policy that ships with covey."},
		{Key: "may_act", Part: yaml.Truth(&g.mayAct),
			Doc: "true: `covey` below the command may act for the member. Default: false, it may only read."},
		{Key: "tests", Part: yaml.Truth(&g.tests),
			Doc: "true, in gates of task and merge: the command runs tests. On work that waits for a person it also runs without single " +
				"changes, and what it agrees to then is a hint. Default: false."},
		{Key: "sandbox", Part: ownSandboxPart(&g.sandbox),
			Doc: "What this command may access: level and network. Default: as gates.sandbox."},
		{Key: "approve", Part: yaml.Text(&g.approve),
			Doc: "Who must approve, in gates of task and merge: a member, or person for whoever answers the inbox."},
		{Key: "hints", Part: yaml.SomeOf(&g.hints, "a list of kinds of hints", hints.Kinds()...),
			Doc: "In gates of merge: kinds of hints; work that has one is refused. They are " + strings.Join(hints.Kinds(), ", ") +
				". The last " + strconv.Itoa(len(hints.ByTrial())) + " need a gate with tests: true."},
	}
}
