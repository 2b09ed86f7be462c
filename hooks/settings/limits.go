package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/hooks/web"
)

// Restrictions are the keys of a settings file that limit hooks, its own and those of other
// layers (HOOKS.md section 7). A nil list means that the file does not have the key; an
// empty one allows nothing.
type Restrictions struct {
	DisableAllHooks *bool // nil if the file does not set it
	// AllowManagedHooksOnly only has an effect in managed files.
	AllowManagedHooksOnly bool
	// AllowedHTTPHookURLs are patterns of the URLs that http hooks may call; "*" matches
	// any characters within its part of the URL.
	AllowedHTTPHookURLs []string
	// HTTPHookAllowedEnvVars are the variables that http hooks may use in headers.
	HTTPHookAllowedEnvVars []string
}

// Any reports whether the file has any of the keys.
func (r Restrictions) Any() bool {
	return r.DisableAllHooks != nil || r.AllowManagedHooksOnly || r.AllowedHTTPHookURLs != nil ||
		r.HTTPHookAllowedEnvVars != nil
}

// Source is one layer of configured hooks: the spec, a settings file or a plugin.
type Source struct {
	Name     string         // for people: a file's path, "spec", or a plugin's name
	Root     string         // a plugin's root folder (CLAUDE_PLUGIN_ROOT); empty for other layers
	Data     string         // where a plugin may keep data (CLAUDE_PLUGIN_DATA); empty for other layers
	Settings hooks.Settings // what the layer configures
	// Managed means that the layer is the administrator's. Such layers merge after all
	// others, wherever they are, and no other layer can switch them off.
	Managed      bool
	Restrictions Restrictions // what the layer forbids, itself and others
	// Options are the values that the user has set for a plugin, by name:
	// ${user_config.NAME} and CLAUDE_PLUGIN_OPTION_NAME.
	Options map[string]string
	// Member is the member that the layer's hooks are for, as with those in the head of
	// its agent file; empty means all. See Options.Who of package runner.
	Member string
	// Helper is the kind of helper (agent_type) that the layer's hooks are for; empty
	// means that they are not only for helpers.
	Helper string
	// Skill is the skill that the layer's hooks are for; empty for other layers. They apply
	// to sessions that have loaded it, from then on. See Options.Skill of package runner.
	Skill string
}

// Limits combines the restrictions of all layers. No other layer can allow what a managed
// layer forbids, and what another layer forbids does not apply to the hooks of managed
// layers. The zero value limits nothing.
type Limits struct {
	all    string // why no hook runs at all; empty if some may
	others string // why no hook of a layer that is not managed runs
	only   bool   // others comes from a managed layer, so gates are affected, too
	// Lists of managed layers and of all others, indexed by layerOf.
	urls  [2]*allowList
	env   [2]*allowList
	notes []string
}

// allowList is what several layers together allow.
type allowList struct {
	entries  []string
	patterns []web.Pattern // of entries, for lists of URLs
	from     []string      // names of the layers
}

// layerOf returns 0 for managed layers and 1 for others.
func layerOf(managed bool) int {
	if managed {
		return 0
	}
	return 1
}

// LimitsOf combines the restrictions of all layers, which are in merge order.
func LimitsOf(sources []Source) Limits {
	var l Limits
	var off [2]string // the layer that disables all hooks; the last one that has the key decides
	var set [2]bool
	for i := range sources {
		s := &sources[i]
		layer, r := layerOf(s.Managed), &s.Restrictions
		if r.DisableAllHooks != nil {
			set[layer], off[layer] = true, ""
			if *r.DisableAllHooks {
				off[layer] = s.Name
			}
		}
		switch {
		case r.AllowManagedHooksOnly && !s.Managed:
			l.notes = append(l.notes, s.Name+": allowManagedHooksOnly has no effect: only managed settings can set it")
		case r.AllowManagedHooksOnly && l.others == "":
			l.others, l.only = "allowManagedHooksOnly in "+s.Name, true
		}
		l.urls[layer] = l.urls[layer].with(s.Name, r.AllowedHTTPHookURLs)
		l.env[layer] = l.env[layer].with(s.Name, r.HTTPHookAllowedEnvVars)
	}
	l.compile()
	switch {
	case off[0] != "":
		l.all = "disableAllHooks in " + off[0]
	case off[1] != "" && set[0]:
		l.notes = append(l.notes, off[1]+": disableAllHooks has no effect: managed settings enable hooks")
	case off[1] != "" && l.others == "":
		l.others = "disableAllHooks in " + off[1]
	}
	return l
}

// with adds a layer's entries. nil adds nothing; an empty list adds a list without entries.
func (a *allowList) with(name string, entries []string) *allowList {
	if entries == nil {
		return a
	}
	if a == nil {
		a = &allowList{}
	}
	a.entries = append(a.entries, entries...)
	a.from = append(a.from, name)
	return a
}

// compile parses the patterns of URLs. It records a note for one that can match nothing.
func (l *Limits) compile() {
	for _, list := range l.urls {
		if list == nil {
			continue
		}
		for _, text := range list.entries {
			p, err := web.ParsePattern(text)
			if err != nil {
				l.notes = append(l.notes, fmt.Sprintf("%s: allowedHttpHookUrls: %q matches nothing: %v",
					strings.Join(list.from, ", "), texts.Preview(text, 80), err))
				continue
			}
			list.patterns = append(list.patterns, p)
		}
	}
}

// Notes returns for people what is switched off and by whom, and which keys have no effect.
func (l Limits) Notes() []string {
	notes := slices.Clone(l.notes)
	switch {
	case l.all != "":
		notes = append(notes, l.all+": no hooks run, and gates refuse")
	case l.only:
		notes = append(notes, l.others+": of the configured hooks only managed ones run, and gates refuse")
	case l.others != "":
		notes = append(notes, l.others+": of the configured hooks only managed and mandatory ones and gates run")
	}
	return notes
}

// Bars returns why a configured hook of a layer does not run, or "". Policies that ship with
// covey always run. A settings file cannot switch off the gates and mandatory hooks of the
// spec; managed settings can, and these hooks refuse then, as gates that cannot run do.
func (l Limits) Bars(managed bool, h hooks.Handler) string {
	switch {
	case h.Policy != "":
		return ""
	case l.all != "":
		return l.all
	case managed || l.others == "":
		return ""
	case h.Binding() && !l.only:
		return ""
	}
	return l.others
}

// Layer is the limits as they apply to the hooks of one layer.
type Layer struct {
	limits  Limits
	managed bool
}

// Of returns the limits as they apply to a layer.
func (l Limits) Of(managed bool) Layer { return Layer{l, managed} }

// URL returns why an http hook of the layer may not call u, or "". listed reports that a
// layer names the host, or that the hook is the administrator's: its address may be a
// private one then.
func (l Layer) URL(u *web.Target) (why string, listed bool) {
	listed = l.managed
	for _, list := range l.bindingOn(l.limits.urls) {
		match, literal := list.matches(u)
		if !match {
			return fmt.Sprintf("the URL matches no pattern of allowedHttpHookUrls in %s",
				strings.Join(list.from, ", ")), listed
		}
		listed = listed || literal
	}
	return "", listed
}

// Variable reports whether an http hook of the layer may use a variable.
func (l Layer) Variable(name string) bool {
	return !slices.ContainsFunc(l.bindingOn(l.limits.env), func(list *allowList) bool {
		return !slices.Contains(list.entries, name)
	})
}

// bindingOn returns the lists that apply to the hooks of a layer. All of them must allow, so
// that a lower list cannot widen a managed one.
func (l Layer) bindingOn(lists [2]*allowList) []*allowList {
	var bind []*allowList
	if lists[0] != nil {
		bind = append(bind, lists[0])
	}
	if lists[1] != nil && !l.managed {
		bind = append(bind, lists[1])
	}
	return bind
}

// matches reports whether a pattern matches u, and whether one of those names the whole
// host.
func (a *allowList) matches(u *web.Target) (match, literal bool) {
	for _, p := range a.patterns {
		if p.Matches(u) {
			match, literal = true, literal || p.LiteralHost()
		}
	}
	return match, literal
}

// restriction reads one of the keys that limit hooks, and ignores others. A value that
// cannot be read limits as much as possible, because a mistake must not allow what the file
// was to forbid.
func (r *settingsReader) restriction(into *Restrictions, f texts.Field) {
	switch f.Name {
	case "disableAllHooks":
		var off bool
		if r.into(f.Name, f.Value, &off) {
			into.DisableAllHooks = &off
		}
	case "allowManagedHooksOnly":
		if !r.into(f.Name, f.Value, &into.AllowManagedHooksOnly) {
			r.warn(f.Name, "it counts as true until this is corrected")
			into.AllowManagedHooksOnly = true
		}
	case "allowedHttpHookUrls":
		into.AllowedHTTPHookURLs = r.allowList(f, "no URL is allowed")
	case "httpHookAllowedEnvVars":
		into.HTTPHookAllowedEnvVars = r.allowList(f, "no variable is allowed")
	}
}

// allowList reads a list of what is allowed, entry by entry. It never returns nil: a list
// that cannot be read allows nothing.
func (r *settingsReader) allowList(f texts.Field, otherwise string) []string {
	allowed := []string{}
	var entries []json.RawMessage
	if !r.into(f.Name, f.Value, &entries) {
		r.warn(f.Name, "%s until this is corrected", otherwise)
		return allowed
	}
	for _, entry := range entries {
		var text string
		if r.into(f.Name, entry, &text) {
			allowed = append(allowed, text)
		}
	}
	return allowed
}
