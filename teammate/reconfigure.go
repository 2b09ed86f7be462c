package teammate

import (
	"slices"

	"github.com/coveyteam/covey/hooks/rules"
)

// Reconfigure puts other configured rules in the place of those that the member
// was made with, or that the last Reconfigure gave: from the next decision on
// they count. What was changed for the session since, such as by a
// PermissionRequest hook, stays. The mode is the session's and stays, too. It may
// be called at any time from any goroutine.
func (t *Teammate) Reconfigure(was, now Permissions) {
	r := t.rights
	r.mu.Lock()
	defer r.mu.Unlock()
	r.p.Allow = rebase(r.p.Allow, was.Allow, now.Allow)
	r.p.Ask = rebase(r.p.Ask, was.Ask, now.Ask)
	r.p.Deny = rebase(r.p.Deny, was.Deny, now.Deny)
}

// rebase is now, with what was added to was and without what was removed from it.
func rebase(have, was, now []rules.Rule) []rules.Rule {
	out := slices.DeleteFunc(slices.Clone(now), func(r rules.Rule) bool {
		return hasRule(was, r) && !hasRule(have, r)
	})
	for _, r := range have {
		if !hasRule(was, r) && !hasRule(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// hasRule reports whether a list has a rule of that text.
func hasRule(list []rules.Rule, rule rules.Rule) bool {
	return slices.ContainsFunc(list, func(r rules.Rule) bool { return r.String() == rule.String() })
}
