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
