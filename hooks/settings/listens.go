package settings

import "github.com/coveyteam/covey/hooks"

// Listens reports whether the group's matcher takes in a subject of an event: a
// tool's name, for PreToolUse. A matcher that cannot be read, or not be
// decided, takes it in, so that a policy is not lost.
func Listens(g hooks.Group, event hooks.Event, subject string) bool {
	m, err := Matcher(&g, hooks.InfoOf(event))
	if err != nil {
		return true
	}
	yes, _ := m.Matches(subject)
	return yes
}
