package configs

import (
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
	if len(key.Text) <= 60 && len(d.Problems) < 10*listed {
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
	section := s.settings()
	for _, p := range settings.Validate(section) {
		n := s.node(p)
		if r.Said(n.At) || n.Kind == yaml.MappingKind && n.Broken {
			continue
		}
		r.Fail(n.At, "%s", p.Text)
	}
	r.mandatoryHooks(s)
	r.actingHooks(s)
	r.warnSilentEvents(s)
	return section
}

// mandatoryHooks refuses `mandatory` on hooks that can never hold a call back.
func (r *hookRules) mandatoryHooks(s *hookSection) {
	for event, groups := range s.groups {
		for _, g := range groups.Items {
			for _, h := range g.hooks.Items {
				switch {
				case !h.mandatory.V:
				case event != hooks.PreToolUse && event != hooks.PermissionRequest:
					r.Fail(h.mandatory.At.At, "only hooks on PreToolUse and PermissionRequest can be mandatory, "+
						"not those on %s; remove it", event)
				case h.async.V || h.asyncRewake.V:
					r.Fail(h.mandatory.At.At, "a hook in the background cannot be mandatory; remove async, or mandatory")
				}
			}
		}
	}
}

// actingHooks refuses may_act on hooks that run on tool calls: such a hook would run again
// on each call that it makes, without end.
func (r *hookRules) actingHooks(s *hookSection) {
	for event, groups := range s.groups {
		if !slices.Contains([]hooks.Event{hooks.PreToolUse, hooks.PermissionRequest, hooks.PermissionDenied}, event) {
			continue
		}
		for _, g := range groups.Items {
			for _, h := range g.hooks.Items {
				if h.mayAct.V {
					r.Fail(h.mayAct.At.At, "a hook on %s cannot act, because it would run on its own calls; remove it", event)
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
