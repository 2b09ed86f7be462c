package runner

import (
	"strconv"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/settings"
)

// maxSessionEndBudget bounds how long settings can delay the end of a session.
const maxSessionEndBudget = 60 * time.Second

// budgetOf returns how long the hooks of a SessionEnd may take together: 1.5 s, or the
// longest timeout that a settings file gives one of them (plugins do not count), up to a
// minute. CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS takes precedence over both.
func budgetOf(sources []settings.Source, env []string) time.Duration {
	if ms, err := strconv.ParseInt(proc.Getenv(env, "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS"), 10,
		32); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	budget := sessionEndBudget
	for _, source := range sources {
		if source.Root != "" {
			continue
		}
		for _, group := range source.Settings[hooks.SessionEnd] {
			for _, h := range group.Hooks {
				asked := time.Duration(min(h.Timeout, maxSessionEndBudget.Seconds()) * float64(time.Second))
				budget = max(budget, asked)
			}
		}
	}
	return budget
}
