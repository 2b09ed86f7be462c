package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/rules"
)

// Policy is a member's permission mode and rules. Deny overrides ask, and ask overrides allow,
// whatever a hook decides (HOOKS.md 5.10).
type Policy struct {
	Mode  string // default, plan, acceptEdits, dontAsk or bypassPermissions
	Allow []rules.Rule
	Ask   []rules.Rule
	Deny  []rules.Rule
	// Held are those of Ask and Deny that only a person can answer and that no hook can remove, because a policy
	// that the spec extends has them.
	Held []rules.Rule
	// Modes are those that hooks can give; nil: all.
	Modes []string
	// ByFlags means that `covey run` writes the spec from its flags, so that a person changes those.
	ByFlags bool
}

// The permission modes of a member.
const (
	ModeDefault = "default"           // asks about calls that are neither allowed nor harmless
	ModePlan    = "plan"              // only read-only tools and team tools
	ModeEdits   = "acceptEdits"       // as default, but allows edits in the workspace
	ModeNoAsk   = "dontAsk"           // as default, but denies instead of asking
	ModeBypass  = "bypassPermissions" // allows everything that no rule or hook forbids
)

// Check reports an unknown mode.
func (p Policy) Check() error {
	if slices.Contains([]string{ModeDefault, ModePlan, ModeEdits, ModeNoAsk, ModeBypass}, p.EffectiveMode()) {
		return nil
	}
	return fmt.Errorf("permission mode %q: write default, plan, acceptEdits, dontAsk or bypassPermissions", p.Mode)
}

// EffectiveMode returns the mode, or the default if none is set.
func (p Policy) EffectiveMode() string {
	if p.Mode == "" {
		return ModeDefault
	}
	return p.Mode
}

// Withhold reports whether a deny rule hides a file from a search, that is from a call of Glob
// or Grep.
func (p Policy) Withhold(call rules.Call, file string) bool {
	return slices.ContainsFunc(p.Deny, func(r rules.Rule) bool { return r.ForbidsFile(call, file) })
}

// Names reports whether an allow rule permits a call by a specifier without wildcards, as
// WebFetch(domain:localhost) does.
func (p Policy) Names(call rules.Call) bool {
	_, ok := rules.PermittedBy(slices.DeleteFunc(slices.Clone(p.Allow), func(r rules.Rule) bool {
		return r.Spec == "" || strings.Contains(r.Spec, "*")
	}), call)
	return ok
}
