package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/texts"
)

// permissions reads the permission rules. They fail closed: an invalid allow rule is left
// out, and an invalid deny or ask rule applies to the whole tool that it names.
func (r *settingsReader) permissions(into *Permissions, raw json.RawMessage) {
	fields, err := texts.Fields(raw)
	if err != nil {
		r.unreadable(into, "permissions", "want an object, got %s", texts.Preview(string(raw), 40))
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

// unreadable records an entry that was to forbid something but cannot be parsed.
func (r *settingsReader) unreadable(into *Permissions, path, format string, args ...any) {
	r.warn(path, format, args...)
	into.Unreadable = append(into.Unreadable, r.warnings[len(r.warnings)-1].Error())
}

// allowed reads a list of allow rules, entry by entry.
func (r *settingsReader) allowed(path string, raw json.RawMessage) []string {
	var entries []json.RawMessage
	var list []string
	if !r.into(path, raw, &entries) {
		return nil
	}
	for i, entry := range entries {
		var text string
		at := fmt.Sprintf("%s[%d]", path, i)
		if !r.into(at, entry, &text) {
			continue
		}
		rule, err := rules.Parse(text)
		if err != nil {
			r.warn(at, "%v: it is left out", err)
			continue
		}
		r.misspelt(at, text, rule)
		list = append(list, text)
	}
	return list
}

// forbidden reads a list of deny or ask rules, entry by entry. It leaves nothing out: a rule
// with a mistake in its brackets applies to the whole tool.
func (r *settingsReader) forbidden(into *Permissions, path string, raw json.RawMessage) []string {
	var entries []json.RawMessage
	if texts.Kind(raw) == "string" { // one rule where a list is wanted
		r.warn(path, "want a list of rules, got one rule: it is used")
		entries = []json.RawMessage{raw}
	} else if texts.Kind(raw) == "null" || json.Unmarshal(raw, &entries) != nil {
		r.unreadable(into, path, "want a list of rules, got %s", texts.Preview(string(raw), 40))
		return nil
	}
	var list []string
	for i, entry := range entries {
		var text string
		at := fmt.Sprintf("%s[%d]", path, i)
		if texts.Kind(entry) == "null" || json.Unmarshal(entry, &text) != nil {
			r.unreadable(into, at, "want a rule, got %s", texts.Preview(string(entry), 40))
			continue
		}
		rule, err := rules.Parse(text)
		if err == nil {
			r.misspelt(at, text, rule)
			list = append(list, text)
			continue
		}
		whole, ok := rules.WholeTool(text)
		if !ok {
			r.unreadable(into, at, "%v", err)
			continue
		}
		r.warn(at, "%v: until this is corrected the rule applies to all of %s", err, whole.Tool)
		list = append(list, whole.Tool)
	}
	return list
}

// misspelt warns of a rule with an unknown tool. The rule stays in its list, because an
// agent program may have a tool that covey does not know.
func (r *settingsReader) misspelt(path, text string, rule rules.Rule) {
	known, near := KnownTool(rule.Tool)
	if known {
		return
	}
	if near == "" {
		r.warn(path, "covey knows no tool %s, so the rule %q may have no effect", rule.Tool, text)
	} else {
		r.warn(path, "there is no tool %s, so the rule %q has no effect: write %s", rule.Tool, text, near)
	}
}
