package launch

import (
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
)

// ModelAtHost returns the full name of a model and its host. One name at two hosts is two models
// here, because the host reads the conversation.
func ModelAtHost(m configs.Model) string {
	if m.BaseURL == "" {
		return m.FullName()
	}
	return m.FullName() + " at " + m.BaseURL
}

// WithoutHost returns the full name of a model, and its host if that is known.
func WithoutHost(stored string) (name, host string) {
	// A name may have these letters, too; a host has no spaces.
	if i := strings.LastIndex(stored, " at http"); i >= 0 {
		return stored[:i], stored[i+len(" at "):]
	}
	return stored, ""
}

// StoredModel finds a model of a spec by its ModelAtHost.
//
// The section models is searched first, in the order of the names there, and then the agents,
// whose models may be written in place.
func StoredModel(team *configs.Team, stored string) (configs.Model, bool) {
	var list []configs.Model
	for _, name := range slices.Sorted(maps.Keys(team.Models)) {
		list = append(list, team.Models[name])
	}
	for _, a := range AgentsInUse(team) {
		if a.Kind == configs.Builtin {
			list = append(list, a.Model)
		}
	}
	i := slices.IndexFunc(list, func(m configs.Model) bool { return ModelAtHost(m) == stored })
	if i < 0 {
		return configs.Model{}, false
	}
	return list[i], true
}
