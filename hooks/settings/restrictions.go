package settings

import (
	"encoding/json"

	"github.com/coveyteam/covey/hooks/notation"
)

// restriction reads one of the keys that limit hooks, and ignores others. A value that
// cannot be read limits as much as possible, because a mistake must not allow what the file
// was to forbid.
func (r *settingsReader) restriction(into *Restrictions, f notation.Field) {
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
func (r *settingsReader) allowList(f notation.Field, otherwise string) []string {
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
