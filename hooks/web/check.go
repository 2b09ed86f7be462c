package web

import (
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/notation"
)

// Check returns what is wrong with an http handler, whose position is at. A problem that is
// only odd does not keep the hook from running.
func Check(h *hooks.Handler, at hooks.Problem) []hooks.Problem {
	var problems []hooks.Problem
	add := func(odd bool, field, format string, args ...any) {
		at.Field, at.Text, at.Odd = field, fmt.Sprintf(format, args...), odd
		problems = append(problems, at)
	}
	to, err := ParseTarget(h.URL)
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
			add(true, "url", "%s is %s: hooks never connect there", to.addr, what)
		}
	}
	if h.Async || h.AsyncRewake {
		add(true, "async", "only command hooks run in the background: an http hook is waited for")
	}
	// Sorted, so that two runs of a check over the same file print the same
	// text.
	for _, name := range slices.Sorted(maps.Keys(h.Headers)) {
		key := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !isToken(name):
			add(false, "headers", "%q cannot name a header: use letters, digits and -",
				notation.Preview(name, 40))
		case slices.Contains(ownHeaders(), key):
			add(true, "headers", "%s is not for hooks to set: it is left out", key)
		}
		// A variable that no list allows becomes empty (HOOKS.md section 3);
		// seen from outside that is a 401 from the server, and nobody looks for
		// it in the list.
		for _, found := range variableForm.FindAllString(h.Headers[name], -1) {
			if variable := strings.Trim(found, "${}"); !slices.Contains(h.AllowedEnvVars, variable) {
				add(true, "headers", "%s: $%s will be empty: name it in allowedEnvVars",
					notation.Preview(name, 40), variable)
			}
		}
	}
	for _, name := range h.AllowedEnvVars {
		if variableForm.FindString("${"+name+"}") != "${"+name+"}" {
			add(true, "allowedEnvVars", "%q cannot name a variable: use letters, digits and _",
				notation.Preview(name, 40))
		}
	}
	return problems
}
