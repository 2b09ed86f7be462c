package hooks

// ParseRule reads one permission rule.
func ParseRule(s string) (Rule, error) { return Rule{text: s}, nil }

// Fires reports whether a hook with r as its `if` runs for c.
func (r Rule) Fires(c Call) bool { return true }

// Permits reports whether r, standing in an allow list, allows c.
func (r Rule) Permits(c Call) bool { return false }

// Forbids reports whether r, standing in a deny or ask list, catches c.
func (r Rule) Forbids(c Call) bool { return true }
