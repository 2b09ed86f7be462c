package settings

import (
	"github.com/coveyteam/covey/hooks"
)

// commands returns the commands of sources on an event.
func commands(sources []Source, event hooks.Event) []string {
	var out []string
	for _, s := range sources {
		for _, g := range s.Settings[event] {
			for _, h := range g.Hooks {
				out = append(out, h.Command)
			}
		}
	}
	return out
}
