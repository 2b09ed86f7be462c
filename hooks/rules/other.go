package rules

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// askDomain answers a question about a tool that opens a URL. A rule that forbids a domain
// also forbids its subdomains; a rule that permits one does not permit them.
func (r Rule) askDomain(c Call, q question) bool {
	var input struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(c.Input, &input) != nil {
		return q.doubt()
	}
	target, err := url.Parse(input.URL)
	if err != nil || target.Hostname() == "" {
		return q.doubt()
	}
	host := strings.TrimSuffix(strings.ToLower(target.Hostname()), ".")
	domain := strings.TrimSuffix(strings.ToLower(strings.TrimPrefix(r.Spec, "domain:")), ".")
	if q == permitting && (target.User != nil || strings.ContainsAny(input.URL, "\\\t\r\n ")) {
		return false // parsers of URLs disagree on where the host of such a URL ends
	}
	return texts.Wild(domain, host) || q == forbidding && strings.HasSuffix(host, "."+domain)
}

// askParameter answers a question about any other tool. The specifier is parameter:value,
// where * in the value matches anything, or for Agent the kind of helper and for Skill the
// name. One that cannot be understood permits nothing.
func (r Rule) askParameter(c Call, q question) bool {
	name, value, found := strings.Cut(r.Spec, ":")
	if !found && (c.Tool == "Agent" || c.Tool == "Task") {
		name, value, found = "subagent_type", r.Spec, true
	}
	if c.Tool == "Skill" && name != "skill" && name != "args" { // a plugin's skill has a colon in its name
		name, value, found = "skill", r.Spec, true
	}
	bare, all := strings.CutSuffix(value, ":*") // of Skill: the name with any arguments, or all skills of a plugin
	var fields map[string]json.RawMessage
	if !found || json.Unmarshal(c.Input, &fields) != nil || fields == nil {
		return q.doubt()
	}
	if field, given := fields[name]; given {
		var text string
		if json.Unmarshal(field, &text) != nil || string(field) == "null" {
			text = string(field)
		}
		return texts.Wild(value, text) || all && c.Tool == "Skill" && name == "skill" && texts.Wild(bare, text)
	}
	if c.Tool == "Skill" && name == "skill" {
		return q.doubt() // an agent program's tool of that name may call it something else
	}
	// A parameter that is omitted has its default, which is not known here.
	return false
}
