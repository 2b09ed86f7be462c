package permission

import (
	"fmt"
	"slices"

	"github.com/coveyteam/covey/hooks/rules"
)

// Policy is a member's permission mode and rules. Deny beats ask, ask
// beats allow, whatever a hook says (HOOKS.md 5.10).
type Policy struct {
	Mode  string // default, plan, acceptEdits, dontAsk or bypassPermissions
	Allow []rules.Rule
	Ask   []rules.Rule
	Deny  []rules.Rule
}

// The permission modes of a member.
const (
	ModeDefault = "default"           // what is neither allowed nor harmless asks
	ModePlan    = "plan"              // only tools that change nothing, and team tools
	ModeEdits   = "acceptEdits"       // as default, but edits in the workspace pass
	ModeNoAsk   = "dontAsk"           // as default, but what would ask is denied
	ModeBypass  = "bypassPermissions" // everything that no rule or hook stops
)

// Check finds a mode that does not exist.
func (p Policy) Check() error {
	if slices.Contains([]string{ModeDefault, ModePlan, ModeEdits, ModeNoAsk, ModeBypass}, p.EffectiveMode()) {
		return nil
	}
	return fmt.Errorf("permission mode %q: write default, plan, acceptEdits, dontAsk or bypassPermissions", p.Mode)
}

// EffectiveMode returns the mode, with the default for none.
func (p Policy) EffectiveMode() string {
	if p.Mode == "" {
		return ModeDefault
	}
	return p.Mode
}

// Withhold reports whether a deny rule keeps a search, a call of Glob or Grep,
// from a file that it comes to.
func (p Policy) Withhold(call rules.Call, file string) bool {
	return slices.ContainsFunc(p.Deny, func(r rules.Rule) bool { return r.ForbidsFile(call, file) })
}
