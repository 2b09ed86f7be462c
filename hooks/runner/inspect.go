package runner

import (
	"fmt"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/dialect"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/wording"
)

// Configured is one configured hook, where it stands, and what becomes of it.
type Configured struct {
	Event   hooks.Event
	Matcher string // as it was written
	Group   int    // index in the event's list of its source
	Hook    int    // index in the group's hooks
	Handler hooks.Handler
	Source  settings.Source
	Label   string // what it runs, in one text: the command line, URL, prompt or tool
	// Never says why the hook cannot run whatever happens, such as a limit that a
	// settings file sets, or an equal hook of a later layer; empty: it can.
	Never string
	// Not says why it does not run for the input that Inspect was given; empty: it
	// runs, or there was none.
	Not string
	// Only says on what it depends whether it runs for that input, which does not
	// tell; empty: on nothing.
	Only string
}

// Path is the hook's place below its source's hooks section.
func (c *Configured) Path() string {
	return hooks.Problem{Event: c.Event, Group: c.Group, Hook: c.Hook}.Path()
}

// Runs reports whether the hook runs, as far as Inspect could know.
func (c *Configured) Runs() bool { return c.Never == "" && c.Not == "" }

// Inspect says of all hooks of the sources what becomes of them, and runs none.
// Sources are in the order in which they merge, as for NewRunner; the hooks come
// by event in the order of Events, then in the order in which they stand. With an
// input only the hooks of its event are listed, and held against it; a tool call
// without tool_input leaves open what an `if` would say. The error is that of
// NewRunner.
func Inspect(sources []settings.Source, in *hooks.Input, opts *Options) ([]Configured, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.complete(); err != nil {
		return nil, err
	}
	// Hooks are armed as a Runner arms them, so that the two cannot differ.
	r := newRunner(o)
	r.limits = settings.LimitsOf(sources)
	i := inspection{Runner: r, in: in, last: map[string]int{}}
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
	found []Configured
	last  map[string]int // the last hook of a key and a matcher, in found
}

// source looks at a layer's hooks of one event.
func (i *inspection) source(known *hooks.EventInfo, source *settings.Source) {
	for g, group := range source.Settings[known.Event] {
		m, err := dialect.Matcher(&group, known)
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
				c.Not, c.Only = i.against(a)
			}
			i.overrule(&c, a)
			i.found = append(i.found, c)
		}
	}
}

// never says why a hook cannot run, as far as it is not another hook's doing.
func (i *inspection) never(known *hooks.EventInfo, a *armed) string {
	barred := i.limits.Bars(a.source.Managed, a.Handler)
	switch {
	case barred != "" && a.Binding():
		return barred + ": it is binding, so it refuses"
	case barred != "":
		return barred
	case a.never && !known.AboutTool():
		return fmt.Sprintf("`if` is evaluated on tool events alone, and %s is none", known.Event)
	case a.never:
		return "its `if` is no rule"
	case a.endpoint != nil && a.endpoint.Fault != "":
		return a.endpoint.Fault
	}
	return ""
}

// against holds a hook against the input.
func (i *inspection) against(a *armed) (not, only string) {
	member := i.memberOfAny(a)
	if a.source.Member != "" && a.source.Member != member {
		if member != "" {
			return "it is for " + a.source.Member + " alone", ""
		}
		only = "for " + a.source.Member
	}
	subject := i.in.Subject()
	yes, doubt := a.matcher.Matches(subject)
	switch {
	case !yes && subject == "":
		return "its matcher needs a subject, and there is none", ""
	case !yes:
		return fmt.Sprintf("its matcher does not fit %s", wording.Preview(subject, 60)), ""
	case doubt != "":
		only = doubt
	}
	if a.rule == nil {
		return "", only
	}
	call, _ := i.in.Call(i.opts.rootOf(*i.in))
	switch {
	case len(call.Input) > 0 && !a.rule.Fires(call), !a.rule.MayFire(call.Tool):
		return "its `if` does not hold: " + a.If, ""
	case len(call.Input) == 0 && a.rule.Spec != "":
		only = "if " + a.If
	}
	return "", only
}

// memberOfAny is the member that the input is about, if the hook's layer wants to
// know.
func (i *inspection) memberOfAny(a *armed) string {
	i.personal = a.source.Member != ""
	return i.memberOf(*i.in)
}

// overrule notes of an earlier hook that this one, which is equal, runs in its
// place.
func (i *inspection) overrule(c *Configured, a *armed) {
	if !c.Runs() {
		return
	}
	key := string(c.Event) + "\x00" + a.key + "\x00" + a.source.Member
	if i.in == nil { // with one, those that do not fit it are out already
		key += "\x00" + c.Matcher
	}
	if before, twice := i.last[key]; twice {
		i.found[before].Never = fmt.Sprintf("an equal hook of %s runs in its place", c.Source.Name)
	}
	i.last[key] = len(i.found)
}

// Callbacks lists the callbacks that a Registry has now, by event and in the
// order in which they were added. A nil Registry has none.
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
