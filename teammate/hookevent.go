package teammate

import (
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// HookEvent is the journal's line about a hook that started or ended, for whoever
// runs hooks for a member that has not begun its session.
func HookEvent(p hooks.Progress) agent.EventData { return progressEvent(p) }
