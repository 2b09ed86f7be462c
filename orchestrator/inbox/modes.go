package inbox

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
)

// usualMode returns a member's permission mode once its plan is approved. Mode
// plan without PlanRequired is permanent.
func usualMode(m *members.Member) configs.PermissionMode {
	if m.PermissionMode == "" || m.PermissionMode == configs.Plan && m.PlanRequired {
		return configs.Default
	}
	return m.PermissionMode
}

// MayHaveMode returns an error for a mode that does not exist, or that only a
// person may give the member.
func MayHaveMode(byPerson bool, m *members.Member, mode string) error {
	want := modeRank(mode)
	if want < 0 {
		return noSuchMode(mode)
	}
	if m != nil && m.Modes != nil && !slices.Contains(m.Modes, configs.PermissionMode(mode)) {
		return texts.Errorf(tasks.ErrInvalid, "a policy does not allow %s the permission mode %s; it may have %s", m.Name, mode, modesText(m.Modes))
	}
	if byPerson || want <= modeRank(string(usualMode(m))) {
		return nil
	}
	return texts.Errorf(tasks.ErrNotAsked, "%s has permission mode %s in the spec, and only a person can give it %s",
		m.Name, usualMode(m), mode)
}

// modesText lists permission modes.
func modesText(modes []configs.PermissionMode) string {
	var names []string
	for _, mode := range modes {
		names = append(names, string(mode))
	}
	return strings.Join(names, ", ")
}

// modeRank orders permission modes by what they allow. It is negative for unknown
// modes.
func modeRank(mode string) int {
	return slices.Index([]configs.PermissionMode{
		configs.Plan, configs.DontAsk, configs.Default, configs.AcceptEdits, configs.BypassPermissions,
	}, configs.PermissionMode(mode))
}

// noSuchMode is the error for an unknown permission mode.
func noSuchMode(mode string) error {
	return texts.Errorf(tasks.ErrInvalid, "permission mode %q: write default, plan, acceptEdits, dontAsk or bypassPermissions", mode)
}
