package configs

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/settings"
)

// Member is the lead or a teammate, including what it inherits from `defaults`.
type Member struct {
	Name        string
	Agent       Agent
	Description string // shown to the other members; may be empty
	// Instructions precede everything else that the member's model gets. They are the key
	// `instructions` or the body of the prompt file.
	Instructions   string
	PromptFile     string         // absolute path of the file that Instructions came from; empty if there is none
	Tools          []string       // nil means all tools; empty means team tools only
	PermissionMode PermissionMode // never empty
	// Modes are the permission modes that policies allow it to have; nil: all.
	Modes       []PermissionMode
	Permissions Permissions
	// Isolation is where it works. Empty leaves the choice to the orchestrator.
	Isolation    Isolation
	Limits       Limits
	Owns         []string // globs below the workspace that it may write to; nil means all
	SelfClaim    bool     // takes a ready task when idle
	PlanRequired bool     // it may only use reading tools until its plan is approved
	DependsOn    []string // members that must have no open work before it gets any
	Restart      Restart
	Rotate       Rotation // never empty
	Sandbox      Sandbox
	Gateway      Gateway // how its program reaches its models
	// Memory is the folder of its notes: MemoryInState, an absolute path, or one relative to the folder
	// that it works in. Empty means that it has none.
	Memory string
	Role   string   // matched by wants.role of tasks; never empty
	Labels []string // matched by wants.labels of tasks; may be nil
	On     []string // labels of the node that carries it; empty: the host that runs the team does
	// Template is the template that it was added from; empty for the members of the spec.
	Template string
	Spawns   []string // the templates that it may add teammates from; only the lead may
}

// Isolation describes where a member works.
type Isolation string

// The places where members work.
const (
	Shared     Isolation = "shared"   // the workspace itself
	InWorktree Isolation = "worktree" // a git working copy and a branch of its own
)

// Rotation describes when a member begins a new session, with a brief of the one before.
type Rotation string

// The values of rotate.
const (
	RotateNever     Rotation = "never"
	RotateAfterTask Rotation = "task" // for its next work, once it has completed a task and has none in progress
)

// MemoryInState is the Memory of a member that has a folder of its own in the team's state.
const MemoryInState = "state"

// The values of plan. none overrides what a member inherits.
const (
	planRequired = "required"
	planNone     = "none"
)

// memberSpec is a member: a mapping, or a text that names its agent.
type memberSpec struct {
	inherited
	at           *yaml.Node         // of a mapping
	agent        yaml.Value[string] // also of a text
	model        modelSpec
	instructions yaml.Value[string]
	promptFile   yaml.Value[string]
	permissions  permissionSpec
	dependsOn    yaml.List[yaml.Value[string]]
	on           yaml.List[yaml.Value[string]]
	restart      restartSpec
	count        yaml.Value[int] // of a teammate only
	max          yaml.Value[int] // of a template only
}

// inherited are the keys that a member inherits one by one.
type inherited struct {
	Member    // as far as its keys need no more than being read
	tools     yaml.List[yaml.Value[string]]
	mode      yaml.Value[PermissionMode]
	isolation yaml.Value[Isolation]
	selfClaim yaml.Value[bool]
	memory    yaml.Value[bool]
	sandbox   sandboxSpec
	gateway   gatewaySpec
}

// fields returns the keys of a teammate. The lead has a name in addition.
func (m *memberSpec) fields() []yaml.Field {
	fields := []yaml.Field{
		{Key: "agent", Part: yaml.Text(&m.agent),
			Doc: "The member's agent: a name under agents, or a program that covey knows, such as claude."},
		{Key: "model", Part: modelPart(&m.model),
			Doc: "Short for a builtin agent with that model."},
		{Key: "description", Part: yaml.Into(&m.Description, yaml.Text),
			Doc: "What the member is for; the other members see it."},
		{Key: "instructions", Part: yaml.Text(&m.instructions),
			Doc: "The member's instructions, which precede everything else."},
		{Key: "prompt_file", Part: yaml.Text(&m.promptFile),
			Doc: "A file that holds the instructions, relative to the spec. The description and tools " +
				"in an agent file's head apply if the member gives none."},
		{Key: "tools", Part: yaml.Texts(&m.tools),
			Doc: "The tools it may use; team tools are always included. Default: all."},
		{Key: "permission_mode", Part: yaml.OneOf(&m.mode, Default, Plan, AcceptEdits, DontAsk, BypassPermissions),
			Doc: "What it may do without asking. Default: default."},
		{Key: "permissions", Part: yaml.Object(nil, m.permissions.fields()),
			Doc: "Permission rules. Deny beats ask, ask beats allow, whatever a hook says."},
		{Key: "isolation", Part: isolationPart{&m.isolation},
			Doc: "Where it works: shared, in the workspace; worktree, in a git working copy of its own. Default: " +
				"worktree where two or more members can write in a git repository, else shared."},
		{Key: "owns", Part: yaml.Via(&m.Owns, yaml.Globs, yaml.Words),
			Doc: "Where it may write, as globs below the workspace: file tools anywhere, all of its work in a working copy, " +
				"and commands in a shared workspace if they run in a sandbox. Default: everywhere."},
		{Key: "self_claim", Part: yaml.Truth(&m.selfClaim),
			Doc: "Take a ready task when idle. Default: true for teammates, false for the lead."},
		{Key: "limits", Part: yaml.Object(nil, m.Limits.fields()),
			Doc: "What it may use."},
	}
	return append(fields, m.teamworkFields()...)
}

// memberPart decodes a teammate; its short form is an agent's name.
func memberPart(m, defaults *memberSpec) yaml.Part {
	count := yaml.Field{Key: "count", Part: yaml.WholeFrom(1, maxTeammates)(&m.count),
		Doc: "Make so many of this teammate: count: 3 on coder makes coder-1, coder-2 and coder-3."}
	return yaml.Shared("teammate", m.heir(defaults, yaml.Object(&m.at, append(m.fields(), count))))
}

// heir decodes a member that inherits from defaults: an agent's name, or a mapping.
func (m *memberSpec) heir(defaults *memberSpec, mapping yaml.Part) yaml.Part {
	return m.inheriting(defaults, yaml.Either(yaml.Text(&m.agent), mapping, "an agent's name, or a mapping such as {model: NAME}"))
}

// inheriting is a part that decodes m, which inherits from defaults, which were decoded before.
func (m *memberSpec) inheriting(defaults *memberSpec, part yaml.Part) yaml.Part {
	return yaml.Around(part, func() { m.inherited = defaults.inherited }, func(*yaml.Decoder) { m.inherit(defaults) })
}

// isolationPart decodes a kind of isolation.
type isolationPart struct{ to *yaml.Value[Isolation] }

// Want names the kinds.
func (p isolationPart) Want() string { return string(Shared) + " or " + string(InWorktree) }

// Decode distinguishes the kind of a later version from unknown words.
func (p isolationPart) Decode(d *yaml.Decoder, key, n *yaml.Node) {
	*p.to = yaml.Value[Isolation]{At: n}
	switch {
	case n.Kind == yaml.TextKind && (n.Text == string(Shared) || n.Text == string(InWorktree)):
		p.to.V = Isolation(n.Text)
	case n.Kind == yaml.TextKind && n.Text == "clone":
		d.Fail(n.At, "isolation: clone: not yet in this version; write worktree, or remove it")
	default:
		d.Wrong(key, n, p.Want())
	}
}

// Schema names the kinds of this version only.
func (p isolationPart) Schema() *yaml.JSON {
	return yaml.Of(jsonschema.Schema{Type: "string", Enum: []any{string(Shared), string(InWorktree)}})
}

// inherit takes what the member does not give from defaults, save for the keys of inherited. Agent and
// model are one choice, and so are instructions and prompt file; `dependencies` handles depends_on.
func (m *memberSpec) inherit(defaults *memberSpec) {
	if !m.agent.Given() && !m.model.given() {
		m.agent, m.model = defaults.agent, defaults.model
	}
	if !m.instructions.Given() && !m.promptFile.Given() {
		m.instructions, m.promptFile = defaults.instructions, defaults.promptFile
	}
	if m.restart.at == nil {
		m.restart = defaults.restart
	}
	// Permission lists add up: a member that denies one thing more must not
	// thereby allow what the team denies.
	m.permissions.allow = join(defaults.permissions.allow, m.permissions.allow)
	m.permissions.ask = join(defaults.permissions.ask, m.permissions.ask)
	m.permissions.deny = join(defaults.permissions.deny, m.permissions.deny)
}

// teamworkFields returns the keys of a member about its place in the team.
func (m *memberSpec) teamworkFields() []yaml.Field {
	planWord := func(v *yaml.Value[string]) yaml.Part { return yaml.OneOf(v, planRequired, planNone) }
	return []yaml.Field{
		{Key: "role", Part: yaml.Into(&m.Role, yaml.Text),
			Doc: "Its role, for tasks that want one. Default: the name of its agent, or else its own name."},
		{Key: "labels", Part: yaml.Via(&m.Labels, yaml.Texts, yaml.Words),
			Doc: "Words for what it is good at, for tasks that want labels. Default: none."},
		{Key: "plan", Part: yaml.Via(&m.PlanRequired, planWord, func(v yaml.Value[string]) bool { return v.V == planRequired }),
			Doc: "required: it may only read until its plan is approved. none: it needs no plan. Default: none."},
		{Key: "depends_on", Part: yaml.Texts(&m.dependsOn),
			Doc: "Members that must have no open work before it gets any."},
		{Key: "on", Part: yaml.Texts(&m.on),
			Doc: "The labels, or the name, of the node that carries it. Default: the host that runs the team does."},
		{Key: "restart", Part: yaml.Object(&m.restart.at, m.restart.fields()),
			Doc: "How often it is restarted when its agent or a turn fails, before it leaves. Default: an agent program that " +
				"dies is restarted three times in a row, nothing else is."},
		{Key: "rotate", Part: yaml.IntoWord(&m.Rotate, RotateNever, RotateAfterTask),
			Doc: "When it begins a new session, with a brief of the old one. task: with its next work after it has completed " +
				"a task and has none in progress. Default: never."},
		{Key: "memory", Part: yaml.OnOff(&m.memory),
			Doc: "A folder of its own for notes that outlast its sessions. Default: off."},
		{Key: "sandbox", Part: yaml.Object(&m.sandbox.at, m.sandbox.fields()),
			Doc: "What its programs may access: the keys that differ from the team's."},
		{Key: "gateway", Part: gatewayPart(&m.gateway),
			Doc: "Whether its program asks its models through covey, and which. Default: the team's."},
	}
}

// join concatenates inherited and own entries. It copies only if both have some, because
// many members share what they inherit.
func join[T any](a, b yaml.List[T]) yaml.List[T] {
	if len(b.Items) == 0 {
		return yaml.List[T]{Items: a.Items, At: orElse(a.At, b.At)}
	}
	return yaml.List[T]{Items: append(slices.Clone(a.Items), b.Items...), At: orElse(a.At, b.At)}
}

// member resolves everything of a member but its name. The defaults for members are set
// here.
func (r *resolver) member(m *memberSpec, selfClaim bool) Member {
	out := m.Member
	out.Instructions = m.instructions.V
	out.Tools, out.Isolation = yaml.Words(m.tools), m.isolation.V
	out.PermissionMode, out.Permissions = m.mode.Or(cmp.Or(r.mode, Default)), permissions(m.permissions)
	out.SelfClaim = m.selfClaim.Or(selfClaim)
	out.DependsOn = yaml.Words(m.dependsOn)
	out.Restart, out.Rotate = r.restart(&m.restart), cmp.Or(m.Rotate, RotateNever)
	if m.memory.V {
		out.Memory = MemoryInState
	}
	out.Sandbox = r.memberSandbox(&m.sandbox)
	out.Gateway = m.gateway.gateway(r.gate)
	out.Agent, _ = r.agent(m)
	if out.Isolation == InWorktree && out.Agent.IsTeam() {
		r.Fail(m.isolation.At.At, "its agent is a team, which works where its own spec is and gives its members working copies; "+
			"write isolation: shared")
	}
	checkTools(r.Decoder, m.tools.At, r.mcp, out.Agent.foreign())
	if m.instructions.Given() && m.promptFile.Given() {
		r.Fail(m.promptFile.At.At, "a member has instructions or a prompt_file, not both; remove one")
	} else if m.promptFile.Given() {
		r.promptFile(&out, m.promptFile)
	}
	if out.Memory != "" && !out.CanWrite() {
		r.Warn(m.memory.At.At, "a member that can write no file can keep no memory; give it the tools Write and Edit, or remove memory")
	}
	return out
}

// prompt is the content of a prompt file, or why it cannot be used.
type prompt struct{ data, fault string }

// promptFile sets a member's instructions from a file. In an agent file, as Claude Code
// keeps them in .claude/agents, the body is the instructions; the description and tools of
// its head apply if the member gives none.
func (r *resolver) promptFile(m *Member, v yaml.Value[string]) {
	m.PromptFile = r.Path(v, "prompt file")
	p, known := r.prompts[m.PromptFile]
	if !known {
		p.data, p.fault = settings.ReadPrompt(m.PromptFile)
		r.prompts[m.PromptFile] = p
	}
	data, message := p.data, p.fault
	if message != "" {
		// path has already reported a file that cannot be opened.
		if !r.Said(v.At.At) {
			r.Fail(v.At.At, "the prompt file %s %s", yaml.Quote(v.V), message)
		}
		return
	}
	head, body := settings.SplitHead(data)
	m.Instructions = strings.TrimSpace(body)
	if m.Instructions == "" {
		r.Fail(v.At.At, "the prompt file %s holds no instructions; write some, or remove prompt_file", yaml.Quote(v.V))
	}
	if head == "" {
		return
	}
	root, ok := yaml.ParseHead(head)
	if !ok {
		r.Warn(v.At.At, "the head of the prompt file %s is not YAML that covey can read; "+
			"its description and tools are ignored", yaml.Quote(v.V))
		return
	}
	r.headTools(v, root)
	if m.Description == "" {
		m.Description = root.TextOf("description")
	}
	if m.Tools == nil {
		m.Tools = settings.HeadTools(root.Lookup("tools"))
	}
	if m.Memory != "" {
		m.Memory = r.agentMemory(v, root)
	}
}

// agentMemory returns where an agent file has its memory, by the keys of Claude Code.
func (r *resolver) agentMemory(file yaml.Value[string], head *yaml.Node) string {
	scope, name := head.TextOf("memory"), cmp.Or(head.TextOf("name"), strings.TrimSuffix(filepath.Base(file.V), ".md"))
	dir := filepath.Join(".claude", "agent-memory", name)
	switch {
	case scope == "" || scope == "local":
		return MemoryInState
	case scope != "project" && scope != "user":
		r.Fail(file.At.At, "memory is %s in the head of the prompt file %s; write user, project or local", yaml.Quote(scope), yaml.Quote(file.V))
	case yaml.Slug(name) != name:
		r.Fail(file.At.At, "the agent of the prompt file %s is called %s, which cannot be the folder of its memory; write a-z, 0-9 and -",
			yaml.Quote(file.V), yaml.Quote(name))
	case scope == "user":
		home, err := os.UserHomeDir()
		if err != nil {
			r.Fail(file.At.At, "the prompt file %s has its memory in your home: %v", yaml.Quote(file.V), err)
		}
		return filepath.Join(home, dir)
	}
	return dir
}

// headTools checks the tools that the head of a prompt file names. A misspelled one is a
// mistake, as in the spec.
func (r *resolver) headTools(file yaml.Value[string], root *yaml.Node) {
	lists := []*yaml.Node{root.Lookup("tools"), root.Lookup("disallowedTools")}
	if p := root.Lookup("permissions"); p != nil && p.Kind == yaml.MappingKind {
		lists = append(lists, p.Lookup("allow"), p.Lookup("ask"), p.Lookup("deny"))
		r.Warn(file.At.At, "permissions in the head of the prompt file %s have no effect; write them in the spec",
			yaml.Quote(file.V))
	}
	for _, list := range lists {
		for i, name := range settings.HeadTools(list) {
			rule, err := rules.Parse(name)
			if err != nil {
				continue
			}
			known, near := settings.KnownTool(rule.Tool)
			if known || near == "" {
				continue
			}
			at := list.At
			if list.Kind == yaml.ListKind {
				at = list.Items[i].At
			}
			// The head begins on the second line of the file.
			r.Fail(file.At.At, "%s:%d:%d: there is no tool %s; write %s", file.V, at.Line+1, at.Col,
				yaml.Quote(rule.Tool), near)
		}
	}
}
