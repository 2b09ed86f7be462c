package web

import (
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"
)

// Problem is something wrong with a field of a request. One that is only odd does not keep
// the request from being made.
type Problem struct {
	Field, Text string
	Odd         bool
}

// Check returns what is wrong with a request.
func (r *Request) Check() []Problem {
	var problems []Problem
	add := func(odd bool, field, format string, args ...any) {
		problems = append(problems, Problem{field, fmt.Sprintf(format, args...), odd})
	}
	to, err := ParseTarget(r.URL)
	switch {
	case err != nil:
		add(false, "url", "%v", err)
	// Odd and no mistake: the request can be made, so a hook pasted from
	// elsewhere must not be refused for it.
	case to.url.User != nil:
		add(true, "url", "a name or password in a URL is shown wherever the hook is: send it in a header")
	case to.addr.IsValid():
		// Only addresses written as numbers can be judged now. What a name
		// leads to is decided when it is dialled, since it may change in
		// between.
		if reach, what := reachOf(to.addr); reach == nobody {
			add(true, "url", "%s is %s: covey never connects there", to.addr, what)
		}
	}
	// Sorted, so that two runs of a check over the same file print the same
	// text.
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		key := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !isToken(name):
			add(false, "headers", "%.40q cannot name a header: use letters, digits and -", name)
		case slices.Contains(ownHeaders(), key):
			add(true, "headers", "%s is not for hooks to set: it is left out", key)
		}
		// A variable that no list allows becomes empty (HOOKS.md section 3);
		// seen from outside that is a 401 from the server, and nobody looks for
		// it in the list.
		for _, found := range variableForm().FindAllString(r.Headers[name], -1) {
			if variable := strings.Trim(found, "${}"); !slices.Contains(r.AllowedEnvVars, variable) {
				add(true, "headers", "%.40s: $%s will be empty: name it in allowedEnvVars", name, variable)
			}
		}
	}
	for _, name := range r.AllowedEnvVars {
		if variableForm().FindString("${"+name+"}") != "${"+name+"}" {
			add(true, "allowedEnvVars", "%.40q cannot name a variable: use letters, digits and _", name)
		}
	}
	return problems
}
