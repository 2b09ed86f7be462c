package runner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
)

// checker checks the types of an object's fields and keeps the first flaw.
type checker struct {
	object map[string]json.RawMessage
	prefix string // precedes names in the flaw
	flaw   string
}

// wrong records that a field has the wrong type. Only the first flaw is kept, because the
// notice has one line and the rest often follows from the first.
func (c *checker) wrong(name, want string, raw json.RawMessage) {
	if c.flaw == "" {
		c.flaw = fmt.Sprintf("%s%s: expected %s, received %s", c.prefix, name, want, texts.Kind(raw))
	}
}

// text reads an optional string.
func (c *checker) text(name string) string {
	raw, ok := c.object[name]
	if !ok {
		return ""
	}
	if texts.Kind(raw) != "string" {
		c.wrong(name, "string", raw)
		return ""
	}
	return texts.Text(raw)
}

// boolean reads an optional boolean.
func (c *checker) boolean(name string, absent bool) bool {
	raw, ok := c.object[name]
	if !ok {
		return absent
	}
	if texts.Kind(raw) != "boolean" {
		c.wrong(name, "boolean", raw)
		return absent
	}
	return string(raw) == "true"
}

// option reads an optional string that is one of a few words. The wording of the flaw is
// that of recorded hosts, on which scripts rely.
func (c *checker) option(name string, words ...string) string {
	raw, ok := c.object[name]
	if !ok {
		return ""
	}
	word := texts.Text(raw)
	if !slices.Contains(words, word) && c.flaw == "" {
		c.flaw = fmt.Sprintf("%s%s: Invalid option: expected one of \"%s\"", c.prefix, name,
			strings.Join(words, `"|"`))
	}
	return word
}

// kind checks that an optional field has one JSON type.
func (c *checker) kind(name, want string) {
	if raw, ok := c.object[name]; ok && texts.Kind(raw) != want {
		c.wrong(name, want, raw)
	}
}

// texts checks an optional array of strings.
func (c *checker) texts(name string) {
	raw, ok := c.object[name]
	if !ok {
		return
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		c.wrong(name, "array", raw)
		return
	}
	for _, item := range list {
		if texts.Kind(item) != "string" {
			c.wrong(name, "array of strings", item)
		}
	}
}

// checkSpecific checks the fields of hookSpecificOutput that have an effect for event.
func (c *checker) checkSpecific(event hooks.Event) {
	for _, name := range hooks.InfoOf(event).Outputs {
		switch name {
		case "permissionDecision":
			words := []string{"allow", "deny", "ask"}
			// Only a call that has not been made yet can be deferred (HOOKS.md section 5,
			// rule 10).
			if event == hooks.PreToolUse {
				words = append(words, "defer")
			}
			c.option(name, words...)
		case "action":
			c.option(name, "accept", "decline", "cancel")
		case "watchPaths":
			c.texts(name)
		case "updatedInput", "content":
			c.kind(name, "object")
		case "decision":
			c.request(c.object[name])
		case "retry", "reloadSkills", "suppressOriginalPrompt":
			c.kind(name, "boolean")
		case "updatedToolOutput", "updatedMCPToolOutput": // of any type
		default:
			c.kind(name, "string")
		}
	}
}

// request checks the decision of a PermissionRequest.
func (c *checker) request(raw json.RawMessage) {
	if raw == nil {
		return
	}
	inner, err := texts.Map(raw)
	if err != nil {
		c.wrong("decision", "object", raw)
		return
	}
	sub := checker{object: inner, prefix: c.prefix + "decision."}
	if sub.option("behavior", "allow", "deny") == "" && sub.flaw == "" {
		sub.flaw = sub.prefix + `behavior: expected one of "allow"|"deny"`
	}
	sub.text("message")
	sub.boolean("interrupt", false)
	sub.kind("updatedInput", "object")
	sub.kind("updatedPermissions", "array")
	if c.flaw == "" {
		c.flaw = sub.flaw
	}
}
