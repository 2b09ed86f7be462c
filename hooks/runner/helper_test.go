package runner

import "github.com/coveyteam/covey/hooks"

// on is a settings section of one event with command hooks that match all.
func on(event hooks.Event, commands ...string) hooks.Settings {
	group := hooks.Group{}
	for _, command := range commands {
		group.Hooks = append(group.Hooks, hooks.Handler{Type: "command", Command: command})
	}
	return hooks.Settings{event: {group}}
}

// gateOn is the same with gates.
func gateOn(event hooks.Event, commands ...string) hooks.Settings {
	settings := on(event, commands...)
	for i := range settings[event][0].Hooks {
		settings[event][0].Hooks[i].Gate = true
	}
	return settings
}
