package configs

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
)

// hookSection is the section `hooks`, with the nodes that it came from: the
// rules about hooks are in package hooks, the places of mistakes are here.
type hookSection struct {
	at     *yaml.Node
	groups map[hooks.Event]list[groupSpec]
}

// hooksPart takes the hooks of a settings file.
type hooksPart struct{ to *hookSection }

// want names the shape that a settings file has.
func (p hooksPart) want() string { return "a mapping from events to lists of groups" }

// decode drops unknown events, after saying so, and keeps everything else.
func (p hooksPart) decode(d *decoder, key, n *yaml.Node) {
	p.to.at = n
	p.to.groups = map[hooks.Event]list[groupSpec]{}
	if n.Kind != yaml.Mapping {
		d.wrong(key, n, p.want())
		return
	}
	for _, pair := range d.unique(n) {
		event := hooks.Event(pair.Key.Text)
		if !event.Known() {
			unknownEvent(d, pair.Key)
			continue
		}
		var groups list[groupSpec]
		groupsPart(&groups).decode(d, pair.Key, pair.Value)
		p.to.groups[event] = groups
	}
}

// schema lists the events, so that editors complete them.
func (p hooksPart) schema() *schema {
	out := of(jsonschema.Schema{
		Type:                 "object",
		Properties:           map[string]*jsonschema.Schema{},
		AdditionalProperties: never(),
	})
	for _, info := range hooks.Events() {
		property := out.take(groupsPart(new(list[groupSpec])).schema())
		property.Description = "Hooks on " + string(info.Event) + "."
		if !info.Fires {
			property.Description += " Not yet in this version, except by `covey hooks run`."
		}
		out.Properties[string(info.Event)] = property
		out.PropertyOrder = append(out.PropertyOrder, string(info.Event))
	}
	return out
}

// unknownEvent reports an event that is none, with the one that was meant.
func unknownEvent(d *decoder, key *yaml.Node) {
	if len(key.Text) <= 60 && len(d.Problems) < 10*listed {
		if near := hooks.Nearest(key.Text); near != "" {
			d.fail(key.At, "unknown event %s; write %s", yaml.Quote(key.Text), near)
			return
		}
	}
	d.fail(key.At, "unknown event %s; the events of turns and tasks are "+
		"PreToolUse, PostToolUse, Stop, TaskCreated, TaskCompleted and TeammateIdle", yaml.Quote(key.Text))
}

// groupSpec is a matcher with the hooks that it guards.
type groupSpec struct {
	at      *yaml.Node
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
func (s *hookSection) node(p hooks.Problem) *yaml.Node {
	groups := s.groups[p.Event]
	if p.Group < 0 || p.Group >= len(groups.items) {
		return orElse(groups.at, s.at)
	}
	g := groups.items[p.Group]
	if p.Hook < 0 || p.Hook >= len(g.hooks.items) {
		return orElse(g.at.Lookup(p.Field), orElse(g.at, groups.at))
	}
	h := g.hooks.items[p.Hook]
	return orElse(h.at.Lookup(p.Field), orElse(h.at, g.at))
}

// orElse returns n, or other if there is no n.
func orElse(n, other *yaml.Node) *yaml.Node {
	if n != nil {
		return n
	}
	return other
}
