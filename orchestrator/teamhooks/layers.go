package teamhooks

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/settings"
)

// Layers are the hooks of a team, with the warnings about its settings files.
type Layers struct {
	Sources  []settings.Source
	Settings configs.Permissions // permissions of the settings files, for all members
	Servers  []settings.Server   // MCP servers of plugins
	Files    Files               // all files that were read
	Warnings []error
}

// LoadLayers reads the hooks that a spec names.
func LoadLayers(team *configs.Team) (Layers, error) {
	files := Files{}
	l, err := ReadLayers(team, files.Record)
	l.Files = files
	return l, err
}

// ReadLayers is LoadLayers with another function to read files, which does not fill Files. It fails
// if a file that may forbid something cannot be read, because the team must not run
// without it.
func ReadLayers(team *configs.Team, read settings.ReadFile) (Layers, error) {
	var l Layers
	given := team.Layers(read)
	l.Sources, l.Servers = given.Sources, given.Servers
	l.Warnings = slices.Concat(given.Warnings, given.Ineffective)
	l.Settings = given.Permissions
	if bad := l.Settings.Unreadable; len(bad) > 0 {
		return l, fmt.Errorf("a settings file with permissions cannot be read, so the team does not start:\n%s",
			strings.Join(bad, "\n"))
	}
	if refused := settings.Refused(given.Warnings); len(refused) > 0 {
		return l, fmt.Errorf("what these files forbid cannot be used, so the team does not start:\n%w",
			errors.Join(refused...))
	}
	return l, nil
}

// AddManaged adds an administrator's settings, and warnings about hooks of one layer that
// another disables.
func (l *Layers) AddManaged(m settings.Managed, warnings []error) {
	l.Sources = append(l.Sources, m.Sources...)
	l.Settings.Allow = append(l.Settings.Allow, m.Permissions.Allow...)
	l.Settings.Ask = append(l.Settings.Ask, m.Permissions.Ask...)
	l.Settings.Deny = append(l.Settings.Deny, m.Permissions.Deny...)
	l.Warnings = append(l.Warnings, warnings...)
	for _, note := range settings.LimitsOf(l.Sources).Notes() {
		l.Warnings = append(l.Warnings, errors.New(note))
	}
}
