package hooks

// SettingsFile is what covey reads of a Claude Code settings file.
type SettingsFile struct {
	Hooks           Settings
	Permissions     Permissions
	DisableAllHooks bool
}

// Permissions holds the permission rules of a settings file or a member.
type Permissions struct {
	Allow       []string `json:"allow,omitempty" yaml:"allow,omitempty"`
	Ask         []string `json:"ask,omitempty" yaml:"ask,omitempty"`
	Deny        []string `json:"deny,omitempty" yaml:"deny,omitempty"`
	DefaultMode string   `json:"defaultMode,omitempty" yaml:"defaultMode,omitempty"`
}

// ParseSettings reads a settings file; what is wrong in it is left out and warned of.
func ParseSettings(name string, data []byte) (SettingsFile, []error) { return SettingsFile{}, nil }

// Problem is a mistake in configured hooks, with its place.
type Problem struct {
	Event Event  // as it was written
	Group int    // index in the event's list; -1: the event itself
	Hook  int    // index in the group's hooks; -1: the group itself
	Field string // JSON name of the field; empty: the whole
	Text  string // what is wrong, and what to write instead
}

// Validate finds all mistakes in s, in the order of events, groups and hooks.
func Validate(s Settings) []Problem { return nil }

// Implemented reports whether this version runs handlers of that type.
func Implemented(handlerType string) bool { return handlerType == "command" }

// ParseRule reads one permission rule.
func ParseRule(s string) (Rule, error) { return Rule{text: s}, nil }

// Fires reports whether a hook with r as its `if` runs for c.
func (r Rule) Fires(c Call) bool { return true }

// Permits reports whether r, standing in an allow list, allows c.
func (r Rule) Permits(c Call) bool { return false }

// Forbids reports whether r, standing in a deny or ask list, catches c.
func (r Rule) Forbids(c Call) bool { return true }
