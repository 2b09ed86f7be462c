package configs

import (
	"encoding/json"
	"runtime"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// hookSection is the section `hooks` with its nodes. Package settings has the rules about
// hooks; the nodes give the positions of mistakes.
type hookSection struct {
	at     *yaml.Node
	groups map[hooks.Event]yaml.List[groupSpec]
}

// hooksPart decodes the hooks of a settings file.
type hooksPart struct{ to *hookSection }

// Want describes the section `hooks` of a settings file.
func (p hooksPart) Want() string { return "a mapping from events to lists of groups" }

// Decode reports and drops unknown events, and keeps everything else.
func (p hooksPart) Decode(d *yaml.Decoder, key, n *yaml.Node) {
	p.to.at = n
	p.to.groups = map[hooks.Event]yaml.List[groupSpec]{}
	if n.Kind != yaml.MappingKind {
		d.Wrong(key, n, p.Want())
		return
	}
	for _, pair := range d.Unique(n) {
		event := hooks.Event(pair.Key.Text)
		if !event.Known() {
			unknownEvent(d, pair.Key)
			continue
		}
		var groups yaml.List[groupSpec]
		groupsPart(&groups).Decode(d, pair.Key, pair.Value)
		p.to.groups[event] = groups
	}
}

// Schema lists the events, so that editors complete them.
func (p hooksPart) Schema() *yaml.JSON {
	out := yaml.Of(jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{},
		AdditionalProperties: yaml.Never(),
	})
	for _, info := range hooks.Events() {
		property := out.Take(groupsPart(new(yaml.List[groupSpec])).Schema())
		property.Description = "Hooks on " + string(info.Event) + "."
		if !info.Fires {
			property.Description += " Not yet in this version, except by `covey hooks run`."
		}
		out.Properties[string(info.Event)] = property
		out.PropertyOrder = append(out.PropertyOrder, string(info.Event))
	}
	return out
}

// unknownEvent reports an unknown event, with the nearest known one.
func unknownEvent(d *yaml.Decoder, key *yaml.Node) {
	if len(key.Text) <= 60 && len(d.Problems) < 10*yaml.Listed {
		if near := hooks.Nearest(key.Text); near != "" {
			d.Fail(key.At, "unknown event %s; write %s", yaml.Quote(key.Text), near)
			return
		}
	}
	d.Fail(key.At, "unknown event %s; the events of turns and tasks are "+
		"PreToolUse, PostToolUse, Stop, TaskCreated, TaskCompleted and TeammateIdle", yaml.Quote(key.Text))
}

// groupSpec is a matcher with its hooks.
type groupSpec struct {
	at      *yaml.Node
	matcher yaml.Value[string]
	hooks   yaml.List[handlerSpec]
}

// groupsPart decodes the groups of one event.
func groupsPart(to *yaml.List[groupSpec]) yaml.Part {
	return yaml.ListOf(to, "a list of groups such as {matcher: Bash, hooks: [...]}", func(g *groupSpec) yaml.Part {
		return yaml.Shared("hookGroup", yaml.Object(&g.at, g.fields()))
	})
}

// fields returns the keys of a group. The matcher may be empty, and matches everything then.
func (g *groupSpec) fields() []yaml.Field {
	return []yaml.Field{
		{Key: "matcher", Part: yaml.AnyText(&g.matcher),
			Doc: "What the event must be about: a name, names with | between them, or a regular expression. " +
				"Default: everything."},
		{Key: "hooks", Need: true, Part: yaml.ListOf(&g.hooks, "a list of hooks", handlerPart),
			Doc: "The hooks; they run at the same time."},
	}
}

// settings returns the section in the form of package hooks. Lists keep their order and
// length, so that indices in a hooks.Problem identify nodes.
func (s *hookSection) settings() hooks.Settings {
	out := hooks.Settings{}
	for event, groups := range s.groups {
		for _, g := range groups.Items {
			group := hooks.Group{Matcher: g.matcher.V}
			for _, h := range g.hooks.Items {
				group.Hooks = append(group.Hooks, h.handler())
			}
			out[event] = append(out[event], group)
		}
	}
	return out
}

// node returns the node of a mistake that package settings found.
func (s *hookSection) node(p hooks.Problem) *yaml.Node {
	groups := s.groups[p.Event]
	if p.Group < 0 || p.Group >= len(groups.Items) {
		return orElse(groups.At, s.at)
	}
	g := groups.Items[p.Group]
	if p.Hook < 0 || p.Hook >= len(g.hooks.Items) {
		return orElse(g.at.Lookup(p.Field), orElse(g.at, groups.At))
	}
	h := g.hooks.Items[p.Hook]
	return orElse(h.at.Lookup(p.Field), orElse(h.at, g.at))
}

// orElse returns n, or other if n is nil.
func orElse(n, other *yaml.Node) *yaml.Node {
	if n != nil {
		return n
	}
	return other
}

// hookRules checks the section `hooks`.
type hookRules struct{ *yaml.Decoder }

// hooks checks the section `hooks` by the rules of package settings.
func (r *hookRules) hooks(s *hookSection) hooks.Settings {
	if s.at == nil {
		return nil
	}
	for _, groups := range s.groups {
		for _, g := range groups.Items {
			for i := range g.hooks.Items {
				h := &g.hooks.Items[i]
				h.Sandbox = h.sandbox.own(r.Decoder)
			}
		}
	}
	section := s.settings()
	for _, p := range settings.Validate(section) {
		n := s.node(p)
		if r.Said(n.At) || n.Kind == yaml.MappingKind && n.Broken {
			continue
		}
		r.Fail(n.At, "%s", p.Text)
	}
	r.flagsOfHooks(s)
	r.warnSilentEvents(s)
	return section
}

// flagsOfHooks refuses `mandatory` on hooks that can never hold a call back, and may_act on hooks that run on
// tool calls: such a hook would run again on each call that it makes, without end.
func (r *hookRules) flagsOfHooks(s *hookSection) {
	for event, groups := range s.groups {
		decides := event == hooks.PreToolUse || event == hooks.PermissionRequest
		for _, g := range groups.Items {
			for _, h := range g.hooks.Items {
				switch {
				case h.Mandatory && !decides:
					r.Fail(h.at.Lookup("mandatory").At, "only hooks on PreToolUse and PermissionRequest can be mandatory, "+
						"not those on %s; remove it", event)
				case h.Mandatory && (h.Async || h.AsyncRewake):
					r.Fail(h.at.Lookup("mandatory").At, "a hook in the background cannot be mandatory; remove async, or mandatory")
				}
				if h.MayAct && (decides || event == hooks.PermissionDenied) {
					r.Fail(h.at.Lookup("may_act").At, "a hook on %s cannot act, because it would run on its own calls; remove it", event)
				}
			}
		}
	}
}

// warnSilentEvents warns of hooks on events that covey does not fire.
func (r *hookRules) warnSilentEvents(s *hookSection) {
	for _, info := range hooks.Events() {
		if groups, ok := s.groups[info.Event]; ok && !info.Fires && groups.At != nil {
			r.Warn(groups.At.At, "%s: not yet in this version; "+
				"these hooks run only when `covey hooks run` fires them", info.Event)
		}
	}
}

// handlerSpec is one hook. What a mistake is reported of is found by its key in the node.
type handlerSpec struct {
	hooks.Handler
	at                  *yaml.Node
	windows, linux, osx string
	sandbox             sandboxSpec
}

// handlerPart decodes a hook by the keys of its type.
func handlerPart(h *handlerSpec) yaml.Part {
	kinds := h.kinds()
	for i, k := range kinds {
		kinds[i].Fields = h.fields(k.Kind, k.Fields)
	}
	return yaml.Shared("hook", yaml.ObjectByType(&h.at, kinds))
}

// kinds returns the types of hooks with the keys that are specific to each.
func (h *handlerSpec) kinds() []yaml.KindFields {
	return []yaml.KindFields{
		{Kind: "command", Fields: h.commandFields()}, {Kind: "http", Fields: h.httpFields()}, {Kind: "mcp_tool", Fields: h.toolFields()},
		{Kind: "prompt", Fields: h.promptFields()}, {Kind: "agent", Fields: h.agentFields()},
	}
}

// fields returns the keys of a hook of one type, named as in settings files: those that all
// hooks have, and its own. Keys of other types are included with a message of their own, so
// that they are not reported as misspelled.
func (h *handlerSpec) fields(kind string, own []yaml.Field) []yaml.Field {
	all := append(h.commonFields(kind), own...)
	for _, other := range h.kinds() {
		for _, key := range other.Fields {
			if !slices.ContainsFunc(all, func(f yaml.Field) bool { return f.Key == key.Key }) {
				all = append(all, yaml.Field{Key: key.Key, Part: yaml.BelongsTo(other.Kind),
					Doc: "Belongs to hooks of type " + other.Kind + "."})
			}
		}
	}
	return all
}

// commonFields returns the keys that hooks of all types have. kind is the hook's type.
func (h *handlerSpec) commonFields(kind string) []yaml.Field {
	return []yaml.Field{
		{Key: "type", Need: true, Part: yaml.TypeWord(&h.Type, kind, "command", "http", "mcp_tool", "prompt", "agent"),
			Doc: "The kind of hook: command runs a program, http posts to a URL, mcp_tool calls a tool, prompt asks a " +
				"model, agent asks an agent with tools."},
		{Key: "if", Part: yaml.Into(&h.If, yaml.Text),
			Doc: "A permission rule such as \"Bash(git *)\" that the tool call must match."},
		{Key: "timeout", Part: yaml.Into(&h.Timeout, yaml.Amount),
			Doc: "Seconds that the hook may take. Default: that of the event, mostly 600."},
		{Key: "statusMessage", Part: yaml.Into(&h.StatusMessage, yaml.Text), Doc: "What is shown while the hook runs."},
		{Key: "once", Part: yaml.Into(&h.Once, yaml.Truth), Doc: "Run the hook only once in a session."},
		{Key: "onFailure", Part: yaml.IntoWord(&h.OnFailure, "continue", "block"),
			Doc: "What happens when the hook fails. Default: continue."},
		{Key: "mode", Part: yaml.IntoWord(&h.Mode, "observe"),
			Doc: "observe: record what the hook decides, and do not act on it."},
		{Key: "mandatory", Part: yaml.Into(&h.Mandatory, yaml.Truth),
			Doc: "On PreToolUse and PermissionRequest: refuse the spec if some member's agent makes the calls " +
				"before the hook can refuse them. Default: false."},
	}
}

// commandFields returns the keys of hooks of type command.
func (h *handlerSpec) commandFields() []yaml.Field {
	return []yaml.Field{
		{Key: "command", Need: true, Part: yaml.Into(&h.Command, yaml.Text),
			Doc: "The command line, or with args the program."},
		{Key: "args", Part: yaml.Via(&h.Args, yaml.Args, yaml.Arguments), Doc: "Arguments; with them no shell is used."},
		{Key: "shell", Part: yaml.IntoWord(&h.Shell, "bash", "powershell"), Doc: "The shell. Default: sh."},
		{Key: "windows", Part: yaml.Into(&h.windows, yaml.Text), Doc: "The command on Windows, instead of command."},
		{Key: "linux", Part: yaml.Into(&h.linux, yaml.Text), Doc: "The command on Linux, instead of command."},
		{Key: "osx", Part: yaml.Into(&h.osx, yaml.Text), Doc: "The command on macOS, instead of command."},
		{Key: "cwd", Part: yaml.Into(&h.Cwd, yaml.Text),
			Doc: "The folder that the command runs in, relative to the workspace. Default: the member's."},
		{Key: "env", Part: textsPart(&h.Env, "variables"), Doc: "Variables for the command."},
		{Key: "may_act", Part: yaml.Into(&h.MayAct, yaml.Truth),
			Doc: "true: `covey` below the command may act for the member. Not on hooks that decide about calls. " +
				"Default: false, it may only read."},
		{Key: "sandbox", Part: ownSandboxPart(&h.sandbox),
			Doc: "Run the command in a box of its own, with this level and network, and else with the sandbox of its member. " +
				"Default: as sandbox.hooks."},
		{Key: "async", Part: yaml.Into(&h.Async, yaml.Truth), Doc: "Run the hook in the background; it decides nothing then."},
		{Key: "asyncRewake", Part: yaml.Into(&h.AsyncRewake, yaml.Truth),
			Doc: "Like async, but exit 2 wakes the member with what the hook wrote."},
		{Key: "rewakeMessage", Part: yaml.Into(&h.RewakeMessage, yaml.Text),
			Doc: "With asyncRewake: what the member reads before what the hook wrote."},
		{Key: "rewakeSummary", Part: yaml.Into(&h.RewakeSummary, yaml.Text),
			Doc: "With asyncRewake: one line about it for people."},
	}
}

// httpFields returns the keys of hooks of type http.
func (h *handlerSpec) httpFields() []yaml.Field {
	return []yaml.Field{
		{Key: "url", Need: true, Part: yaml.Into(&h.URL, yaml.Text),
			Doc: "Where the hook's input is posted to. Addresses in private networks must be named in " +
				"allowedHttpHookUrls of a settings file."},
		{Key: "headers", Part: textsPart(&h.Headers, "headers"),
			Doc: "Headers of the request. $NAME stands for a variable of allowedEnvVars."},
		{Key: "allowedEnvVars", Part: yaml.Via(&h.AllowedEnvVars, yaml.Texts, yaml.Words),
			Doc: "Variables of covey's environment that headers may name."},
	}
}

// handler returns the hook as it is for this operating system.
func (h *handlerSpec) handler() hooks.Handler {
	out := h.Handler
	out.Command = settings.PickCommand(runtime.GOOS, h.Command, h.windows, h.linux, h.osx)
	return out
}

// textsPart decodes a mapping to texts; keys names its keys.
func textsPart(to *map[string]string, keys string) yaml.Part {
	return yaml.Via(to, func(entries *[]yaml.Entry[yaml.Value[string]]) yaml.Part {
		return yaml.TextsByKey(entries, keys)
	}, func(entries []yaml.Entry[yaml.Value[string]]) map[string]string {
		out := make(map[string]string, len(entries))
		for _, e := range entries {
			out[e.Name.Text] = e.V.V
		}
		return out
	})
}

// promptFields returns the keys of hooks of type prompt.
func (h *handlerSpec) promptFields() []yaml.Field {
	return append(h.agentFields(), yaml.Field{Key: "continueOnBlock", Part: yaml.Into(&h.ContinueOnBlock, yaml.Truth),
		Doc: "When the model says no: true lets the agent continue with the reason. Default: false."})
}

// agentFields returns the keys of hooks of type agent. continueOnBlock is not one of them:
// hosts have it for prompt hooks only (HOOKS.md section 3).
func (h *handlerSpec) agentFields() []yaml.Field {
	return []yaml.Field{
		{Key: "prompt", Need: true, Part: yaml.Into(&h.Prompt, yaml.Text),
			Doc: "What is to be judged. $ARGUMENTS stands for the hook's input."},
		{Key: "model", Part: yaml.Into(&h.Model, yaml.Text),
			Doc: "A name under models. Default: the member's own model, or the lead's."},
	}
}

// toolFields returns the keys of hooks of type mcp_tool.
func (h *handlerSpec) toolFields() []yaml.Field {
	return []yaml.Field{
		{Key: "server", Need: true, Part: yaml.Into(&h.Server, yaml.Text),
			Doc: "covey for the team's own tools, a name under mcp_servers, or plugin:PLUGIN:SERVER."},
		{Key: "tool", Need: true, Part: yaml.Into(&h.Tool, yaml.Text), Doc: "The tool to call."},
		{Key: "input", Part: inputPart{&h.Input},
			Doc: "The tool's input. ${path} in a text stands for a field of the hook's input."},
	}
}

// inputPart decodes a mapping from names to values of any kind.
type inputPart struct{ to *map[string]json.RawMessage }

// Want returns no more than the kind, because all values are allowed.
func (p inputPart) Want() string { return "a mapping" }

// Decode keeps the values as JSON.
func (p inputPart) Decode(d *yaml.Decoder, key, n *yaml.Node) {
	if n.Kind != yaml.MappingKind {
		d.Wrong(key, n, p.Want())
		return
	}
	values := map[string]json.RawMessage{}
	for _, pair := range d.Unique(n) {
		raw, err := json.Marshal(pair.Value.Plain())
		if err != nil {
			d.Fail(pair.Value.At, "%s cannot be written as JSON: %v", yaml.NameOf(pair.Key), err)
			continue
		}
		values[pair.Key.Text] = raw
	}
	*p.to = values
}

// Schema allows any names.
func (p inputPart) Schema() *yaml.JSON { return yaml.OpenMapping() }
