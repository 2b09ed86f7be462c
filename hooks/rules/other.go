package rules

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
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
	return Wild(domain, host) || q == forbidding && strings.HasSuffix(host, "."+domain)
}

// askParameter answers a question about any other tool. The specifier is parameter:value,
// where * in the value matches anything, or for Agent the kind of helper. One that cannot
// be understood permits nothing.
func (r Rule) askParameter(c Call, q question) bool {
	name, value, found := strings.Cut(r.Spec, ":")
	if !found && (c.Tool == "Agent" || c.Tool == "Task") {
		name, value, found = "subagent_type", r.Spec, true
	}
	fields, err := notation.Fields(c.Input)
	if !found || err != nil {
		return q.doubt()
	}
	for _, f := range fields {
		if f.Name != name {
			continue
		}
		text := notation.Text(f.Value)
		if notation.Kind(f.Value) != "string" {
			text = string(f.Value)
		}
		return Wild(value, text)
	}
	// A parameter that is omitted has its default, which is not known here.
	return false
}
