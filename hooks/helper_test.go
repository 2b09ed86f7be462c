package hooks

// on is a settings section of one event with command hooks that match all.
func on(event Event, commands ...string) Settings {
	group := Group{}
	for _, command := range commands {
		group.Hooks = append(group.Hooks, Handler{Type: "command", Command: command})
	}
	return Settings{event: {group}}
}

// gateOn is the same with gates.
func gateOn(event Event, commands ...string) Settings {
	settings := on(event, commands...)
	for i := range settings[event][0].Hooks {
		settings[event][0].Hooks[i].Gate = true
	}
	return settings
}
