package configs

import (
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// AgentKind is the kind of a member's agent.
type AgentKind string

// The kinds of agent.
const (
	Builtin AgentKind = "builtin" // the agent that ships with covey, with a model
	ACP     AgentKind = "acp"     // a program that speaks the Agent Client Protocol
	Command AgentKind = "command" // a program that is run once a turn: prompt in, reply out
	// Given is an agent that is provided by a program which uses covey as a library;
	// Agent.Name names it.
	Given AgentKind = "given"
)

// Agent is a resolved agent.
type Agent struct {
	Name string // its name under `agents`, or the preset's; empty for a member that only names a model
	// Kind is ACP for a preset. If only a program that does not speak ACP is installed,
	// the orchestrator runs that as a Command.
	Kind   AgentKind
	Preset Preset // empty if there is none
	// Model is the model of a builtin agent. An agent program with a script model gets it
	// instead of its own, over a model server on loopback; for other programs Model is
	// zero.
	Model Model
	// Command is the program and its arguments; empty means the preset's. A program with a
	// slash is an absolute path, any other is looked up in PATH.
	Command     []string
	Resume      []string // kind command: arguments after Command that resume session "{session}"; nil if there are none
	Env         []EnvVar // in file order
	Auth        Auth     // never empty for agent programs
	KeyVar      string   // Auth Key: the variable that the program reads its key from; empty means the preset's
	KeyFile     string   // Auth Key: absolute path of the file with the key; empty means covey's environment
	Parallel    int      // how many members may be in a turn at once on this agent's login; 0 means no limit
	NativeHooks bool     // the program's own hooks run as well
	// TeamTools means that a program of kind command gets the team's tools over MCP. Only
	// the orchestrator sets it, for the programs of presets.
	TeamTools bool
	// Fallback is the agent that a member continues with when this one is at a limit and
	// the team's OnLimit is FallBack: a key of Team.Agents; empty if there is none.
	Fallback string
}

// IsTeam reports whether the agent is another team, which covey acp serves.
func (a Agent) IsTeam() bool {
	return a.Kind == ACP && len(a.Command) > 1 && strings.TrimSuffix(filepath.Base(a.Command[0]), ".exe") == "covey" &&
		slices.Contains(a.Command[1:], "acp")
}

// agentSpec is an agent. Which of its keys go together depends on its kind, so the resolver
// checks that.
type agentSpec struct {
	at          *yaml.Node
	use         yaml.Value[string]
	model       modelSpec
	command     yaml.List[yaml.Value[string]]
	resume      yaml.List[yaml.Value[string]]
	env         []yaml.Entry[yaml.VariableValue]
	auth        authSpec
	parallel    yaml.Value[int]
	nativeHooks yaml.Value[bool]
	fallback    yaml.Value[string]
}

// fields returns the keys of an agent. The default kind is builtin.
func (a *agentSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "use", Part: yaml.OneOf(&a.use, kindWords()...),
			Doc: "builtin, covey's own agent; acp, a program that speaks the Agent Client Protocol; command, a program " +
				"that is run once a turn; or a program that covey knows how to start. Default: builtin."},
		{Key: "model", Part: modelPart(&a.model),
			Doc: "The model it uses; builtin needs one. A program that is given a script model uses the " +
				"script instead of its own model, without login or network."},
		{Key: "command", Part: yaml.CommandLine(&a.command, "[program, argument]"),
			Doc: "The program, relative to the workspace or in PATH, and its arguments. With `use: command` the " +
				"prompt replaces `{prompt}`, or else comes on stdin."},
		{Key: "resume", Part: yaml.CommandLine(&a.resume, "[--resume, \"{session}\"]"),
			Doc: "With `use: command`, arguments that follow the command to resume an earlier session; " +
				"`{session}` in them is its id."},
		{Key: "env", Part: yaml.Env(&a.env),
			Doc: "Variables for the program. `${NAME}` in a value is covey's own variable NAME, `$$` is a " +
				"dollar; `{file: PATH}` is the content of a file."},
		{Key: "auth", Part: yaml.Either(yaml.OneOf(&a.auth.mode, Login, Key), yaml.Object(&a.auth.at, a.auth.fields()),
			"login, key, or a mapping such as {key: VARIABLE, file: PATH}"),
			Doc: "How the program logs in: login, with its own login; key, with an API key from " +
				"covey's environment; or a mapping that says where the key is. Default: login."},
		{Key: "parallel", Part: yaml.WholeFrom(1, math.MaxInt32)(&a.parallel),
			Doc: "Members that may be in a turn at once with this agent's login. Default: no limit."},
		{Key: "native_hooks", Part: yaml.OnOff(&a.nativeHooks),
			Doc: "Whether the program's own hooks run as well. Default: off."},
		{Key: "fallback", Part: yaml.Text(&a.fallback),
			Doc: "The agent that its members use while this one is at a limit of its vendor, if the team's " +
				"budget has on_limit: fallback."},
	}
}

// agentPart decodes an agent.
func agentPart(a *agentSpec) yaml.Part { return yaml.Object(&a.at, a.fields()) }

// kindWords returns the values of `use`.
func kindWords() []string {
	return append([]string{string(Builtin), string(ACP), string(Command)}, Presets()...)
}

// allAgents resolves the section `agents`.
func (r *resolver) allAgents(specs []yaml.Entry[agentSpec]) map[string]Agent {
	r.agents = map[string]Agent{}
	for i := range specs {
		e := &specs[i]
		switch {
		case e.V.at == nil || e.V.use.Given() && e.V.use.V == "":
			r.agents[e.Name.Text] = Agent{} // it was refused, but members may still name it
			if e.V.model.given() {
				r.model(&e.V.model)
			}
		case e.V.use.Or(string(Builtin)) == string(Builtin):
			r.agents[e.Name.Text] = r.builtinAgent(e)
		default:
			r.agents[e.Name.Text] = r.programAgent(e)
		}
	}
	r.fallbacks(specs)
	return r.agents
}

// agent resolves a member's agent or model. It returns false if the member has neither.
func (r *resolver) agent(m *memberSpec) (Agent, bool) {
	switch {
	case m.agent.Given() && m.model.given():
		r.Fail(m.agent.At.At, "a member has an agent or a model, not both; "+
			"remove model, or give the model to the agent")
		return Agent{}, true
	case m.model.given():
		return Agent{Kind: Builtin, Model: r.model(&m.model)}, true
	case m.agent.Given():
		return r.namedAgent(m.agent), true
	}
	return Agent{}, false
}

// namedAgent resolves an agent's name. The section `agents` comes first, so that a spec may
// use the name of a preset or of a given agent for one of its own.
func (r *resolver) namedAgent(name yaml.Value[string]) Agent {
	if a, ok := r.agents[name.V]; ok || name.V == "" {
		return a
	}
	if slices.Contains(r.opts.Given, name.V) {
		return Agent{Name: name.V, Kind: Given}
	}
	if isPreset(name.V) {
		r.place(name.V, name.At)
		return Agent{Name: name.V, Kind: ACP, Preset: Preset(name.V), Auth: Login}
	}
	_, isModel := r.models[name.V]
	near := r.Nearest(name.V, slices.Concat(sortedKeys(r.agents), r.opts.Given, Presets()))
	switch {
	case isModel:
		r.Fail(name.At.At, "%s is a model, not an agent; write {model: %s}", yaml.Quote(name.V), name.V)
	case near != "":
		r.Fail(name.At.At, "there is no agent %s; write %s", yaml.Quote(name.V), near)
	default:
		r.Fail(name.At.At, "there is no agent %s; add it under agents, or write {model: NAME}", yaml.Quote(name.V))
	}
	return Agent{}
}

// builtinAgent resolves an agent that ships with covey: it has a model, and no key that
// belongs to programs.
func (r *resolver) builtinAgent(e *yaml.Entry[agentSpec]) Agent {
	a := Agent{Name: e.Name.Text, Kind: Builtin}
	for _, key := range []string{"command", "resume", "env", "auth", "parallel", "native_hooks"} {
		if k := e.V.at.Entry(key).Key; k != nil {
			r.Fail(k.At, "%s belongs to agents that are programs; %s, or remove it", key, programHint(e, key))
			return a
		}
	}
	if e.V.model.given() {
		a.Model = r.model(&e.V.model)
	} else if e.V.at != nil && !e.V.at.Broken {
		r.Fail(e.V.at.At, "%s has no model; add `model:` with a model's name, or `use:` with a program such as %s",
			yaml.NameOf(e.Name), Claude)
	}
	return a
}

// programHint suggests the `use` that was probably meant.
func programHint(e *yaml.Entry[agentSpec], key string) string {
	switch {
	case e.V.use.Given(): // use: builtin
		return "write another use, such as " + string(ACP) + " or " + string(Command)
	case isPreset(e.Name.Text):
		return "add use: " + e.Name.Text
	case key == "resume":
		return "add use: " + string(Command)
	}
	return "add use: " + string(ACP) + " or use: " + string(Command)
}

// fallbacks checks what agents fall back to, and adds an entry to r.agents for each preset
// or given agent that is only named there. An agent that could not be resolved has no Kind
// and has been reported.
func (r *resolver) fallbacks(specs []yaml.Entry[agentSpec]) {
	for i := range specs {
		to := specs[i].V.fallback
		if to.V == "" {
			continue
		}
		if to.V == specs[i].Name.Text {
			r.Fail(to.At.At, "%s cannot fall back to itself; name another agent", yaml.Quote(to.V))
			continue
		}
		other := r.namedAgent(to)
		if _, known := r.agents[to.V]; !known && other.Kind != "" {
			r.agents[to.V] = other
		}
		if a := r.agents[specs[i].Name.Text]; a.Kind != "" {
			a.Fallback = to.V
			r.agents[a.Name] = a
		}
	}
}

// Chain returns a and the agents that it may fall back to, in order. It stops before an
// agent that it already contains.
func (t *Team) Chain(a Agent) []Agent {
	chain := []Agent{a}
	for a.Fallback != "" {
		next, ok := t.Agents[a.Fallback]
		if !ok || slices.ContainsFunc(chain, func(b Agent) bool { return b.Name == next.Name }) {
			break
		}
		chain, a = append(chain, next), next
	}
	return chain
}

// AgentsOf returns a member's agent and, if the budget's on_limit is fallback, those that it
// may fall back to.
func (t *Team) AgentsOf(m Member) []Agent {
	if t.Budget.OnLimit == FallBack {
		return t.Chain(m.Agent)
	}
	return []Agent{m.Agent}
}

// Auth describes how an agent program logs in.
type Auth string

// The ways to log in.
const (
	// Login: the program uses the login that the user has made with it. covey does not
	// read it.
	Login Auth = "login"
	// Key: the program gets an API key, from covey's environment or from a file.
	Key Auth = "key"
)

// authSpec is how a program logs in: a word, or a mapping that says where the key is.
type authSpec struct {
	at   *yaml.Node // of a mapping
	mode yaml.Value[Auth]
	key  yaml.Value[string]
	file yaml.Value[string]
}

// fields returns the keys of the mapping.
func (a *authSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "key", Part: yaml.Variable(&a.key),
			Doc: "The variable that the program reads its key from. Default: that of the program, if covey knows it."},
		{Key: "file", Part: yaml.Text(&a.file),
			Doc: "The file that holds the key, relative to the spec. Default: the key is in covey's environment."},
	}
}

// place returns where the spec says how to log in.
func (a *authSpec) place() *yaml.Node { return orElse(a.at, a.mode.At) }

// auth resolves how a program logs in.
func (r *resolver) auth(a *Agent, s *agentSpec) {
	auth := &s.auth
	switch {
	case auth.at != nil:
		a.Auth, a.KeyVar = Key, auth.key.V
		a.KeyFile = r.Path(auth.file, "key file")
		if !auth.key.Given() && !auth.file.Given() && !auth.at.Broken {
			r.Fail(auth.at.At, "auth has neither key nor file; write {key: VARIABLE}, {file: PATH} or both")
			return
		}
	case auth.mode.V != "":
		a.Auth = auth.mode.V
	}
	known := a.Preset != "" || auth.key.Given() || auth.at != nil && auth.at.Broken
	if a.Auth == Key && !known {
		r.Fail(auth.place().At, "covey does not know the variable that this program reads its key from; "+
			"write auth: {key: VARIABLE}, and add file: PATH if the key is in a file")
	}
}

// Messages name the key that has to be removed.

// programAgent resolves an agent that is a program.
func (r *resolver) programAgent(e *yaml.Entry[agentSpec]) Agent {
	s := &e.V
	a := Agent{
		Name: e.Name.Text, Kind: ACP, Auth: Login,
		Parallel: s.parallel.V, NativeHooks: s.nativeHooks.V,
	}
	switch use := s.use.V; {
	case isPreset(use):
		a.Preset = Preset(use)
	default:
		a.Kind = AgentKind(use)
		if !s.command.Given() && !s.at.Broken { // a broken key may have been the command
			r.Fail(s.at.At, "%s has no command; add `command:` with a list such as [program, argument], "+
				"or `use:` with a program that covey knows: %s", yaml.NameOf(e.Name), strings.Join(Presets(), ", "))
		}
	}
	r.place(a.Name, orElse(programAt(s.command), s.use.At))
	a.Command = r.Command(s.command)
	a.Resume = r.resume(&a, s.resume)
	a.Env = r.env(s.env)
	r.auth(&a, s)
	if s.model.given() {
		a.Model = r.model(&s.model)
		if a.Model.BaseURL != "" {
			r.Fail(s.model.place().At, "a program brings its own model, so model can only be a script here; remove it")
		}
		if a.Auth == Key {
			r.Warn(s.auth.place().At, "a program with a script model does not log in, so auth has no effect")
		}
	}
	if a.Kind == ACP {
		r.warnPlaceholder(s.command)
	}
	return a
}

// programAt returns the node of a command's program; nil: none.
func programAt(command yaml.List[yaml.Value[string]]) *yaml.Node {
	if len(command.Items) == 0 {
		return nil
	}
	return command.Items[0].At
}

// warnPlaceholder warns of {prompt} in a command that does not get the prompt as an
// argument.
func (r *resolver) warnPlaceholder(command yaml.List[yaml.Value[string]]) {
	for _, word := range command.Items {
		if strings.Contains(word.V, "{prompt}") {
			r.Warn(word.At.At, "{prompt} has no effect here; only use: command replaces it by the prompt")
		}
	}
}

// resume resolves the arguments that resume a session.
func (r *resolver) resume(a *Agent, l yaml.List[yaml.Value[string]]) []string {
	switch {
	case !l.Given():
		return nil
	case a.Kind != Command:
		r.Fail(l.At.At, "resume belongs to use: command; %s agents resume their sessions by themselves, "+
			"so remove it", a.Kind)
	case len(l.Items) > 0 && !slices.ContainsFunc(l.Items, holdsSession):
		r.Fail(l.At.At, "resume does not say which session; put {session} where its id belongs")
	}
	return yaml.Arguments(l)
}

// holdsSession reports whether an argument contains a session's id. An argument that was
// refused counts, because it may have contained one.
func holdsSession(v yaml.Value[string]) bool {
	return strings.Contains(v.V, "{session}") || v.At != nil && v.At.Kind != yaml.TextKind
}
