package hooks

// Listens reports whether the group's matcher takes in a subject of an event: a
// tool's name, for PreToolUse. A matcher that cannot be read, or not be
// decided, takes it in, as it does when hooks run.
func (g Group) Listens(event Event, subject string) bool {
	known, ok := traitsOf(event)
	if !ok {
		return false
	}
	m, err := newMatcher(known, g.Matcher)
	if err != nil {
		return true
	}
	yes, _ := m.matches(subject)
	return yes
}
