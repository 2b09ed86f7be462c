package runner

import (
	"time"

	"github.com/coveyteam/covey/hooks"
)

// defaultTimeout returns how long a handler of a type may take for an event if it does not
// set a timeout (HOOKS.md section 3).
func defaultTimeout(event hooks.Event, handlerType string) time.Duration {
	switch handlerType {
	case "prompt":
		return 30 * time.Second
	case "agent":
		return 60 * time.Second
	}
	switch event {
	case hooks.UserPromptSubmit, hooks.PreModelSwitch, hooks.PostModelSwitch:
		return 30 * time.Second
	case hooks.MessageDisplay:
		return 10 * time.Second
	case hooks.SessionEnd:
		return sessionEndBudget
	}
	return 600 * time.Second
}
