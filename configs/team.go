package configs

import (
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// Team is a spec with all references resolved and all defaults filled in. It does not
// change after Load has returned it.
type Team struct {
	File      string // absolute path of the spec
	Override  string // absolute path of the local override; empty if there is none
	Unchecked string // the key `requires`, if Options.Version is not a release and so was not compared
	Name      string // [a-z0-9][a-z0-9-]{0,31}
	Goal      string // empty if the spec gives none
	Workspace string // absolute path; exists and is writable
	Models    map[string]Model
	// Agents are those of the spec, and the presets that agents fall back to.
	Agents    map[string]Agent
	Lead      Member
	Teammates []Member   // in file order; may be empty
	Templates []Template // in file order; may be empty
	Tasks     []Task     // in file order; stored as "1", "2", …

	Hooks hooks.Settings // the section `hooks`
	Gates hooks.Settings // the section `gates`, and before it those of policies; each handler has Gate set
	// Policies are those that the spec extends, the one that it names first.
	Policies []Policy
	// GatesAtOnce is how many gates, setups and merges run at once, over all teams of the user; 0:
	// half of the cores.
	GatesAtOnce int
	Settings    []string // absolute paths of the settings files, in order
	// DefaultMode is permissions.defaultMode of the settings files, which members without
	// permission_mode have; empty if no file sets it.
	DefaultMode PermissionMode
	Plugins     []string // absolute paths of the plugins' folders, in order
	// MCPServers are in file order.
	MCPServers []MCPServer
	// FailClosed makes hooks that give no verdict refuse, as gates do.
	FailClosed bool
	Keep       bool // stay up when all work is done

	Worktree Worktree
	Merge    Merge
	Git      Git
	Protect  []string // globs below the workspace; writes there need approval
	Sandbox  Sandbox
	// Tests are the gates whose commands run tests.
	Tests []hooks.Handler
	// GateSandbox is the sandbox of gates.
	GateSandbox Sandbox
	Budget      Budget
	Schedules   []Schedule    // in file order
	OnAsk       OnAsk         // never empty
	AskLimit    time.Duration // how long a question may wait in the inbox; never 0
	// CompleteOnPass completes the tasks that a member has in progress when its turn end
	// passes all gates. Without it, only the member itself completes a task.
	CompleteOnPass bool
	// ReadOthersTasks lets teammates only read the tasks that belong to other members.
	ReadOthersTasks bool
	Notify          []Notify // in file order
	Web             Web
	Bus             Bus
	Nodes           []Node // in file order

	// Warnings are about things that are legal but look like mistakes.
	Warnings []yaml.Problem

	places map[string]yaml.Problem // where the spec names a program, without a message, by the keys of Placed
}

// Members returns the lead and then the teammates in file order.
func (t *Team) Members() []Member {
	return append([]Member{t.Lead}, t.Teammates...)
}

// Each goes through Members without copying them, which takes long for many.
func (t *Team) Each() iter.Seq[*Member] {
	return func(yield func(*Member) bool) {
		more := yield(&t.Lead)
		for i := 0; more && i < len(t.Teammates); i++ {
			more = yield(&t.Teammates[i])
		}
	}
}

// OwnSandboxes iterates over what single gates and hooks of the spec have of their own for their boxes, each with
// the sandbox that results.
func (t *Team) OwnSandboxes() iter.Seq2[*hooks.Sandbox, Sandbox] {
	return func(yield func(*hooks.Sandbox, Sandbox) bool) {
		for _, all := range []hooks.Settings{t.Gates, {hooks.TaskCompleted: {{Hooks: t.Merge.Gates}}}, t.Hooks} {
			for _, h := range all.Handlers() {
				base := t.Sandbox
				if h.Gate {
					base = t.GateSandbox
				}
				if h.Sandbox != nil && !yield(h.Sandbox, base.With(h.Sandbox)) {
					return
				}
			}
		}
	}
}

// EachAndTemplates goes through Members, and then through the templates as the members that they
// describe: all that may ever work in the team.
func (t *Team) EachAndTemplates() iter.Seq[*Member] {
	return func(yield func(*Member) bool) {
		for m := range t.Each() {
			if !yield(m) {
				return
			}
		}
		for i := range t.Templates {
			if !yield(&t.Templates[i].Member) {
				return
			}
		}
	}
}

// MemberNames returns the names of Members.
func (t *Team) MemberNames() []string {
	names := make([]string, 0, len(t.Teammates)+1)
	for m := range t.Each() {
		names = append(names, m.Name)
	}
	return names
}

// Place returns where the team's command lines run and which files they may name.
func (t *Team) Place() ScriptPlace {
	return ScriptPlace{Workspace: t.Workspace, Spec: filepath.Dir(t.File)}
}

// Located returns the command and arguments of a hook with its programs named by where
// they are in the workspace. It leaves a hook unchanged that is not a command, or that
// has a Cwd, because that folder is looked for in the workspace anyway.
func (t *Team) Located(h hooks.Handler) (command string, args []string) {
	if h.Cwd != "" || h.Type != "" && h.Type != "command" {
		return h.Command, h.Args
	}
	return t.Place().Located(h.Command, h.Args)
}

// teamSpec is a whole spec.
type teamSpec struct {
	covey     yaml.Value[int64]
	requires  yaml.Value[string]
	extends   yaml.Value[string]
	name      yaml.Value[string]
	goal      yaml.Value[string]
	workspace yaml.Value[string]
	models    []yaml.Entry[modelSpec]
	agents    []yaml.Entry[agentSpec]
	defaults  memberSpec
	lead      leadSpec
	teammates []yaml.Entry[memberSpec]
	templates []yaml.Entry[memberSpec]
	tasks     yaml.List[taskSpec]
	gates     gatesSpec
	hooks     hookSection
	settings  yaml.List[yaml.Value[string]]
	plugins   yaml.List[yaml.Value[string]]
	servers   []yaml.Entry[serverSpec]
	closed    yaml.Value[bool]
	keep      yaml.Value[bool]
	work      teamworkSpec
	gateway   gatewaySpec
}

// fields returns the keys at the top of a spec, in the order in which docs/spec.md and the schema show
// them.
func (s *teamSpec) fields() []yaml.Field {
	teammate := func(m *memberSpec) yaml.Part { return memberPart(m, &s.defaults) }
	template := func(m *memberSpec) yaml.Part { return templatePart(m, &s.defaults) }
	fields := []yaml.Field{
		{Key: "covey", Need: true, Part: versionPart{&s.covey, "covey", Format},
			Doc: "Version of this format."},
		{Key: "requires", Part: yaml.Text(&s.requires),
			Doc: "Which versions of covey can run this spec, such as `>=0.1` or `>=0.1 <2`. Builds that are no release " +
				"can run all."},
		{Key: "extends", Part: yaml.Text(&s.extends),
			Doc: "A policy that this spec may only tighten: PATH@sha256:DIGEST, relative to the spec, or URL@sha256:DIGEST."},
		{Key: "name", Part: yaml.Ident(&s.name),
			Doc: "The team's name. Default: the name of the spec's folder, as a slug."},
		{Key: "goal", Part: yaml.Text(&s.goal),
			Doc: "The lead's first prompt. `covey up SPEC \"other goal\"` overrides it."},
		{Key: "workspace", Part: yaml.Text(&s.workspace),
			Doc: "The folder that the team works in, relative to the spec. Default: the spec's folder."},
		{Key: "models", Part: yaml.Dict(&s.models, "a mapping from names to models", modelPart),
			Doc: "Names for models. A model may also be written in full where a name can stand."},
		{Key: "agents", Part: yaml.Dict(&s.agents, "a mapping from names to agents", agentPart),
			Doc: "Named agents. Members refer to them with `agent`."},
		{Key: "defaults", Part: yaml.Shared("member", yaml.Object(&s.defaults.at, s.defaults.fields())),
			Doc: "What the lead and all teammates inherit. A key that a member sets replaces the inherited one; " +
				"`limits` are inherited one by one, and the lists of `permissions` add up."},
		{Key: "lead", Need: true, Part: leadPart(&s.lead, &s.defaults),
			Doc: "The member that gets the goal: an agent's name, or a member."},
		{Key: "teammates", Part: yaml.Dict(&s.teammates, "a mapping from names to members", teammate),
			Doc: "The other members: for each a name, and its agent's name or the whole member."},
		{Key: "templates", Part: yaml.Dict(&s.templates, "a mapping from names to templates", template),
			Doc: "Members that the lead may add while the team works."},
		{Key: "tasks", Part: yaml.ListOf(&s.tasks, "a list of tasks", taskPart),
			Doc: "The first tasks. They are stored as \"1\", \"2\", … in this order."},
		{Key: "gates", Part: yaml.Object(nil, s.gates.fields()),
			Doc: "Commands and policies that must agree before work counts as done. Unlike a hook, " +
				"a gate that cannot run refuses."},
		{Key: "hooks", Part: yaml.Shared("hooks", hooksPart{&s.hooks}),
			Doc: "Hooks, in the shape of a Claude Code settings file."},
		{Key: "settings", Part: yaml.Texts(&s.settings),
			Doc: "Files with hooks and permissions, relative to the spec: those of Claude Code, Codex, VS Code, Copilot, " +
				"Gemini CLI and Cursor, and Markdown files with hooks in their head."},
		{Key: "plugins", Part: yaml.Texts(&s.plugins),
			Doc: "Folders with hooks/hooks.json or a plugin manifest, relative to the spec."},
		{Key: "mcp_servers", Part: yaml.DictOf(&s.servers, "a mapping from names to MCP servers", serverName(), serverPart),
			Doc: "MCP servers whose tools the members get, as `mcp__SERVER__TOOL`. There `_` stands for a dot or a blank in " +
				"the server's name."},
		{Key: "fail_closed", Part: yaml.Truth(&s.closed),
			Doc: "Hooks that fail refuse, as gates do. Default: false, the action goes ahead."},
	}
	fields = append(fields, s.work.fields()...)
	fields = append(fields, yaml.Field{Key: "gateway", Part: gatewayPart(&s.gateway),
		Doc: "on: agent programs ask their models through covey, which keeps the keys, counts what they use, and holds their limits. " +
			"Default: off."})
	fields = append(fields, laterFields()...)
	return append(fields, yaml.Field{Key: "keep", Part: yaml.Truth(&s.keep),
		Doc: "Stay up when all work is done. Default: false; a team with schedules always stays up."})
}

// laterFields returns the keys of a team that come with later versions.
func laterFields() []yaml.Field {
	return []yaml.Field{}
}

// versionPart decodes the version of a format.
type versionPart struct {
	to   *yaml.Value[int64]
	key  string
	only int64 // the one that this covey reads
}

// Decode names the version in every message, because it is the only valid value.
func (p versionPart) Decode(d *yaml.Decoder, key, n *yaml.Node) {
	p.to.At, p.to.V = n, n.Whole
	switch {
	case n.Kind != yaml.WholeKind:
		d.Fail(n.At, "%s must be the version of the format, not %s; write %[1]s: %[3]d", p.key, n.Describe(), p.only)
	case n.Whole != p.only:
		d.Fail(n.At, "this covey reads version %d of the format, not %s; write %s: %[1]d", p.only, yaml.Clip(n.Text), p.key)
	}
}

// Schema allows the one version.
func (p versionPart) Schema() *yaml.JSON {
	return yaml.Of(jsonschema.Schema{Type: "integer", Enum: []any{p.only}})
}

// Want names the version.
func (p versionPart) Want() string { return "the version of this format, 1" }

// team resolves the whole spec.
func (r *resolver) team(s *teamSpec) *Team {
	t := &Team{
		File:       r.file,
		Override:   r.over,
		Name:       s.name.Or(DefaultName(r.Dir)),
		Goal:       s.goal.V,
		Keep:       s.keep.V,
		FailClosed: s.closed.V,
		places:     r.places,
	}
	t.Workspace = r.workspaceDir(s.workspace)
	t.Models = r.allModels(s.models)
	t.Agents = r.allAgents(s.agents)
	t.MCPServers = r.mcpServers(s.servers)
	for _, path := range s.settings.Items {
		file := r.Path(path, "settings file")
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() { // Path has reported others
			read, warnings := settings.ReadSettings(file, settings.Read)
			r.reportRefused(path, warnings)
			r.takeMode(path, read.Permissions.DefaultMode, s)
		}
		t.Settings = append(t.Settings, file)
	}
	t.DefaultMode = r.mode
	r.sandboxes(t, s)
	r.gate = s.gateway.gateway(Gateway{})
	r.agent(&s.defaults) // reports a mistake there even if every member overrides it
	t.Lead = r.lead(s)
	t.Teammates = r.allTeammates(s, t.Lead.Name)
	r.dependencies(t, s)
	t.splitTemplates(s.templates)
	gates := &gateRules{r.Decoder, r.Workspace}
	gates.places(t, &s.gates)
	t.Tasks = (&taskRules{r.Decoder}).allTasks(s.tasks, t)
	t.Hooks = (&hookRules{r.Decoder}).hooks(&s.hooks)
	t.Gates = gates.gates(&s.gates)
	t.GatesAtOnce = s.gates.atOnce.V
	for _, path := range s.plugins.Items {
		dir, _ := r.Folder(path, "plugin")
		_, warnings := settings.ReadPlugin(dir, settings.Read)
		r.reportRefused(path, warnings)
		t.Plugins = append(t.Plugins, dir)
	}
	r.teamwork(t, s)
	r.nodes(t, s)
	gates.gatePrograms(t, &s.gates)
	r.keepTo(t, s)
	r.warnUnheld(t, s)
	return t
}

// takeMode takes up the mode of a settings file for members without permission_mode, as the
// file's own program does. A mode that covey does not have, or that asks nobody, is refused,
// unless the spec has a mode for all members.
func (r *resolver) takeMode(path yaml.Value[string], mode string, s *teamSpec) {
	switch PermissionMode(mode) {
	case "":
	case Default, Plan, AcceptEdits, DontAsk:
		r.mode = PermissionMode(mode)
	default:
		if !s.defaults.mode.Given() {
			r.Fail(path.At.At, "permissions.defaultMode of %s is %s, which covey takes from no settings file; "+
				"write the mode of the members here, as defaults: {permission_mode: ...}", path.V, mode)
		}
	}
}

// DefaultName returns the name of a team that gives none: that of its folder, as a slug.
func DefaultName(dir string) string {
	if name := yaml.Slug(filepath.Base(dir)); name != "" && reserved(name) == "" {
		return name
	}
	return "team"
}

// Format is the version of the spec that this package reads.
const Format = 1
