package configs

import "github.com/coveyteam/covey/hooks"

// hookSection is the section `hooks`, with the nodes that it came from: the
// rules about hooks are in package hooks, the places of mistakes are here.
type hookSection struct {
	at     *node
	groups map[hooks.Event]list[groupSpec]
}

// hooksPart takes the hooks of a settings file.
type hooksPart struct{ to *hookSection }

// want names the shape that a settings file has.
func (p hooksPart) want() string { return "a mapping from events to lists of groups" }

// decode drops unknown events, after saying so, and keeps everything else.
func (p hooksPart) decode(d *decoder, key, n *node) {
	p.to.at = n
	p.to.groups = map[hooks.Event]list[groupSpec]{}
	if n.kind != kindMapping {
		d.wrong(key, n, p.want())
		return
	}
	for _, pair := range d.unique(n) {
		event := hooks.Event(pair.key.text)
		if !event.Known() {
			d.unknownEvent(pair.key)
			continue
		}
		var groups list[groupSpec]
		groupsPart(&groups).decode(d, pair.key, pair.value)
		p.to.groups[event] = groups
	}
}

// unknownEvent reports an event that is none, with the one that was meant.
func (d *decoder) unknownEvent(key *node) {
	if len(key.text) <= clipped && len(d.problems) < 10*listed {
		if near := hooks.Nearest(key.text); near != "" {
			d.fail(key.at, "unknown event %s; write %s", quote(key.text), near)
			return
		}
	}
	d.fail(key.at, "unknown event %s; the events of turns and tasks are "+
		"PreToolUse, PostToolUse, Stop, TaskCreated, TaskCompleted and TeammateIdle", quote(key.text))
}

// groupSpec is a matcher with the hooks that it guards.
type groupSpec struct {
	at      *node
	matcher value[string]
	hooks   list[handlerSpec]
}

// groupsPart takes all that listens to one event.
func groupsPart(to *list[groupSpec]) part {
	return listOf(to, "a list of groups such as {matcher: Bash, hooks: [...]}", func(g *groupSpec) part {
		return shared("hookGroup", object(&g.at, g.fields()))
	})
}

// fields are the keys of a group. An empty matcher is one: it matches everything.
func (g *groupSpec) fields() []field {
	return []field{
		{key: "matcher", part: anyText(&g.matcher),
			doc: "What the event must be about: a name, names with | between them, or a regular expression. " +
				"Default: everything."},
		{key: "hooks", need: true, part: listOf(&g.hooks, "a list of hooks", handlerPart),
			doc: "The hooks; they run at the same time."},
	}
}

// handlerSpec is one hook.
type handlerSpec struct {
	at            *node
	kind          value[string]
	condition     value[string]
	timeout       value[float64]
	statusMessage value[string]
	once          value[bool]
	onFailure     value[string]
	command       value[string]
	args          list[value[string]]
	shell         value[string]
	async         value[bool]
	asyncRewake   value[bool]
	mandatory     value[bool]
}

// handlerPart takes a hook. One of a type that comes later gets one message, at
// its type.
func handlerPart(h *handlerSpec) part {
	return shared("hook", unless{
		part: object(&h.at, h.fields()),
		key:  "type", words: []string{"http", "mcp_tool", "prompt", "agent"},
		hint: "write type: command with a command",
	})
}

// fields are the keys of a hook, named as in settings files. Those of other
// types are known, so that nobody is told they were misspelt.
func (h *handlerSpec) fields() []field {
	own := []field{
		{key: "type", need: true, part: oneOf(&h.kind, "command"),
			doc: "The kind of hook. This version has one kind, command."},
		{key: "if", part: text(&h.condition),
			doc: "A permission rule such as \"Bash(git *)\" that the tool call must match."},
		{key: "timeout", part: amount(&h.timeout),
			doc: "Seconds that the hook may take. Default: that of the event, mostly 600."},
		{key: "statusMessage", part: text(&h.statusMessage), doc: "What is shown while the hook runs."},
		{key: "once", part: truth(&h.once), doc: "Run the hook once only."},
		{key: "onFailure", part: oneOf(&h.onFailure, "continue", "block"),
			doc: "What a hook that fails means. Default: continue."},
		{key: "command", need: true, part: text(&h.command),
			doc: "The command line, or with args the program."},
		{key: "args", part: argsPart(&h.args), doc: "Arguments; with them no shell is used."},
		{key: "shell", part: oneOf(&h.shell, "bash", "powershell"), doc: "The shell. Default: sh."},
		{key: "async", part: truth(&h.async), doc: "Do not wait for the hook; it has no say then."},
		{key: "asyncRewake", part: truth(&h.asyncRewake),
			doc: "Like async, but exit 2 wakes the member with what the hook wrote."},
		{key: "mandatory", part: truth(&h.mandatory),
			doc: "On PreToolUse and PermissionRequest: refuse the spec if some member's agent makes the calls " +
				"before the hook can refuse them. Default: false."},
	}
	for _, key := range []string{"url", "headers", "allowedEnvVars", "prompt", "model", "continueOnBlock",
		"server", "tool", "input"} {
		own = append(own, field{key: key, part: later("it belongs to hooks of other types"),
			doc: "Belongs to hooks of types http, mcp_tool, prompt and agent."})
	}
	return own
}

// settings returns the section as package hooks knows it. Lists keep their
// order and length, so that indices in a hooks.Problem lead back to nodes.
func (s *hookSection) settings() hooks.Settings {
	out := hooks.Settings{}
	for event, groups := range s.groups {
		for _, g := range groups.items {
			group := hooks.Group{Matcher: g.matcher.v}
			for _, h := range g.hooks.items {
				group.Hooks = append(group.Hooks, h.handler())
			}
			out[event] = append(out[event], group)
		}
	}
	return out
}

// handler is the hook as package hooks knows it.
func (h *handlerSpec) handler() hooks.Handler {
	return hooks.Handler{
		Type:          h.kind.v,
		If:            h.condition.v,
		Timeout:       h.timeout.v,
		StatusMessage: h.statusMessage.v,
		Once:          h.once.v,
		OnFailure:     h.onFailure.v,
		Command:       h.command.v,
		Args:          argWords(h.args),
		Shell:         h.shell.v,
		Async:         h.async.v,
		AsyncRewake:   h.asyncRewake.v,
		Mandatory:     h.mandatory.v,
	}
}

// argWords keeps empty arguments, which words drops.
func argWords(args list[value[string]]) []string {
	var out []string
	if args.given() {
		out = []string{}
	}
	for _, arg := range args.items {
		out = append(out, arg.v)
	}
	return out
}

// node returns the place of a mistake that package hooks found.
func (s *hookSection) node(p hooks.Problem) *node {
	groups := s.groups[p.Event]
	if p.Group < 0 || p.Group >= len(groups.items) {
		return orElse(groups.at, s.at)
	}
	g := groups.items[p.Group]
	if p.Hook < 0 || p.Hook >= len(g.hooks.items) {
		return orElse(g.at.field(p.Field), orElse(g.at, groups.at))
	}
	h := g.hooks.items[p.Hook]
	return orElse(h.at.field(p.Field), orElse(h.at, g.at))
}

// orElse returns n, or other if there is no n.
func orElse(n, other *node) *node {
	if n != nil {
		return n
	}
	return other
}

// field is lookup for a node that may be nil.
func (n *node) field(key string) *node {
	if n == nil || key == "" {
		return nil
	}
	return n.lookup(key)
}
