package runner

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// Configured is one configured hook, its place, and whether it runs.
type Configured struct {
	Event   hooks.Event
	Matcher string // as written
	Group   int    // index in the event's list of its source
	Hook    int    // index in the group's hooks
	Handler hooks.Handler
	Source  settings.Source
	Label   string // what it runs, as one text: the command line, URL, prompt or tool
	// Never is why the hook cannot run for any input, such as a limit that a settings
	// file sets, or an equal hook of a later layer; empty if it can.
	Never string
	// Not is why the hook does not run for the input given to Inspect; empty if it runs
	// or there was no input.
	Not string
	// Only names a condition for running that the input leaves open; empty if there is
	// none.
	Only string
}

// Path returns the hook's place below its source's hooks section.
func (c *Configured) Path() string {
	return hooks.Problem{Event: c.Event, Group: c.Group, Hook: c.Hook}.Path()
}

// Runs reports whether the hook runs, as far as Inspect can tell.
func (c *Configured) Runs() bool { return c.Never == "" && c.Not == "" }

// Inspect reports for all hooks of the sources whether they run, without running any.
// Sources are in merge order, as for New. The hooks come by event in the order of
// hooks.Events, then in the order in which they are written. With an input, only the hooks
// of its event are listed and matched against it; a tool call without tool_input leaves
// the result of an `if` open. The error is that of New.
func Inspect(sources []settings.Source, in *hooks.Input, opts *Options) ([]Configured, error) {
	// Hooks are prepared as a Runner prepares them, so that the two cannot differ.
	r, err := New(nil, opts)
	if err != nil {
		return nil, err
	}
	r.limits = settings.LimitsOf(sources)
	i := inspection{Runner: r, in: in, last: map[string]int{}}
	if in != nil {
		r.personal = true
		i.want = r.wantOf(in)
	}
	for _, t := range hooks.Events() {
		if in != nil && in.Payload.Event() != t.Event {
			continue
		}
		for _, managed := range []bool{false, true} {
			for at := range sources {
				if sources[at].Managed == managed {
					i.source(&t, &sources[at])
				}
			}
		}
	}
	return i.found, nil
}

// inspection collects what Inspect finds.
type inspection struct {
	*Runner
	in    *hooks.Input
	want  want // of in
	found []Configured
	last  map[string]int // index in found of the last hook with a key
}

// source inspects a layer's hooks of one event.
func (i *inspection) source(known *hooks.EventInfo, source *settings.Source) {
	for g, group := range source.Settings[known.Event] {
		m, err := settings.Matcher(&group, known)
		for h, handler := range group.Hooks {
			c := Configured{Event: known.Event, Matcher: group.Matcher, Group: g, Hook: h, Handler: handler,
				Source: *source, Label: labelOf(&handler)}
			if err != nil {
				c.Never = err.Error()
				i.found = append(i.found, c)
				continue
			}
			a := i.armOne(known, source, m, handler)
			c.Never = i.never(known, a)
			if c.Never == "" && i.in != nil {
				c.Not, c.Only = i.fit(a, &i.want).texts(a, &i.want)
			}
			i.markReplaced(&c, a)
			i.found = append(i.found, c)
		}
	}
}

// never returns why a hook can never run, other hooks aside.
func (i *inspection) never(known *hooks.EventInfo, a *armed) string {
	barred := i.limits.Bars(a.source.Managed, a.Handler)
	switch {
	case barred != "" && a.Binding():
		return barred + ": it is binding, so it refuses"
	case barred != "":
		return barred
	case a.never && !known.AboutTool():
		return fmt.Sprintf("`if` is only evaluated on tool events, and %s is not one", known.Event)
	case a.never:
		return "its `if` is not a rule"
	case a.endpoint != nil && a.endpoint.Fault != "":
		return a.endpoint.Fault
	}
	return ""
}

// markReplaced marks an earlier equal hook as replaced by this one.
func (i *inspection) markReplaced(c *Configured, a *armed) {
	if !c.Runs() {
		return
	}
	key := string(c.Event) + "\x00" + a.key
	if i.in == nil || c.Only != "" { // else hooks that do not match the input are out already
		key += "\x00" + strings.Join([]string{a.source.Member, a.source.Helper, a.source.Skill, c.Matcher, c.Only}, "\x00")
	}
	if before, twice := i.last[key]; twice {
		i.found[before].Never = fmt.Sprintf("an equal hook of %s runs in its place", c.Source.Name)
	}
	i.last[key] = len(i.found)
}

// Callbacks lists the callbacks that a Registry has now, by event and in the order in which
// they were added. A nil Registry has none.
func Callbacks(r *hooks.Registry) []Configured {
	var list []Configured
	for _, t := range hooks.Events() {
		for _, c := range r.Of(t.Event) {
			list = append(list, Configured{Event: t.Event, Matcher: c.Matcher.String(), Handler: c.Handler,
				Source: settings.Source{Name: c.Source}, Label: c.Label})
		}
	}
	return list
}
