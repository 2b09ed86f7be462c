package settings

import "github.com/coveyteam/covey/hooks"

// Listens reports whether the group's matcher matches a subject of an event, such
// as a tool's name for PreToolUse. It returns true for a matcher that is invalid or
// cannot be evaluated, so that a policy is not lost.
func Listens(g hooks.Group, event hooks.Event, subject string) bool {
	m, err := Matcher(&g, hooks.InfoOf(event))
	if err != nil {
		return true
	}
	yes, _ := m.Matches(subject)
	return yes
}
