package hooks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
)

// permissions reads the permission rules. They fail closed: an allow rule that is
// none is left out, and of a deny or ask rule that is none counts what it can be
// read to name.
func (r *settingsReader) permissions(into *Permissions, raw json.RawMessage) {
	fields, err := rawjson.Fields(raw)
	if err != nil {
		r.unreadable(into, "permissions", "want an object, got %s", wording.Preview(string(raw), 40))
		return
	}
	for _, f := range fields {
		path := "permissions." + f.Name
		switch f.Name {
		case "allow":
			into.Allow = append(into.Allow, r.allowed(path, f.Value)...)
		case "ask":
			into.Ask = append(into.Ask, r.forbidden(into, path, f.Value)...)
		case "deny":
			into.Deny = append(into.Deny, r.forbidden(into, path, f.Value)...)
		case "defaultMode":
			r.into(path, f.Value, &into.DefaultMode)
			if into.DefaultMode != "" && !slices.Contains(modes(), into.DefaultMode) {
				r.warn(path, "there is no permission mode %q: write %s", into.DefaultMode,
					strings.Join(modes(), ", "))
				into.DefaultMode = ""
			}
		}
	}
}

// modes lists the permission modes of HOOKS.md section 2.
func modes() []string {
	return []string{"default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions"}
}

// unreadable notes that something was to forbid, and nobody can tell what.
func (r *settingsReader) unreadable(into *Permissions, path, format string, args ...any) {
	r.warn(path, format, args...)
	into.Unreadable = append(into.Unreadable, r.warnings[len(r.warnings)-1].Error())
}

// allowed reads the list of what is allowed, entry by entry.
func (r *settingsReader) allowed(path string, raw json.RawMessage) []string {
	var entries []json.RawMessage
	var rules []string
	if !r.into(path, raw, &entries) {
		return nil
	}
	for i, entry := range entries {
		var text string
		at := fmt.Sprintf("%s[%d]", path, i)
		if !r.into(at, entry, &text) {
			continue
		}
		if _, err := ParseRule(text); err != nil {
			r.warn(at, "%v: it is left out", err)
			continue
		}
		r.misspelt(at, text)
		rules = append(rules, text)
	}
	return rules
}

// forbidden reads a list of what is denied or asked for, entry by entry. Nothing
// of it is left out: a rule with a slip in its brackets counts for the whole tool.
func (r *settingsReader) forbidden(into *Permissions, path string, raw json.RawMessage) []string {
	var entries []json.RawMessage
	if rawjson.Kind(raw) == "string" { // one rule where a list is wanted
		r.warn(path, "want a list of rules, got one rule: it counts")
		entries = []json.RawMessage{raw}
	} else if rawjson.Kind(raw) == "null" || json.Unmarshal(raw, &entries) != nil {
		r.unreadable(into, path, "want a list of rules, got %s", wording.Preview(string(raw), 40))
		return nil
	}
	var rules []string
	for i, entry := range entries {
		var text string
		at := fmt.Sprintf("%s[%d]", path, i)
		if rawjson.Kind(entry) == "null" || json.Unmarshal(entry, &text) != nil {
			r.unreadable(into, at, "want a rule, got %s", wording.Preview(string(entry), 40))
			continue
		}
		_, err := ParseRule(text)
		if err == nil {
			r.misspelt(at, text)
			rules = append(rules, text)
			continue
		}
		tool, _, bracket := strings.Cut(strings.TrimSpace(text), "(")
		if _, bare := ParseRule(tool); !bracket || bare != nil {
			r.unreadable(into, at, "%v", err)
			continue
		}
		r.warn(at, "%v: until this is put right the rule counts for all of %s", err, tool)
		rules = append(rules, tool)
	}
	return rules
}
