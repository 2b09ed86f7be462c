package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/coveyteam/covey/configs/hookfiles"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// Layers are the hooks of a team with all that stands beside them in the same
// files, as these are at one moment.
type Layers struct {
	// Sources merge in this order (HOOKS.md section 3): the section `hooks`, the
	// gates, settings files, plugins, the heads of agent files.
	Sources []settings.Source
	// Permissions are those of the settings files, put together; they add to those of
	// every member.
	Permissions Permissions
	Servers     []hookfiles.Server // MCP servers that plugins bring
	Warnings    []error            // what is wrong with the files
	// Powerless tells of permissions that are right and have no effect here.
	Powerless []error
}

// Layers reads the files of the team's hooks with read; nil is hookfiles.Read. A
// file that has vanished or is broken gives a warning and as much of its hooks
// as can be used. The data folders of plugins are for the caller to fill in
// (settings.Source.Data).
func (t *Team) Layers(read hookfiles.ReadFile) Layers {
	if read == nil {
		read = hookfiles.Read
	}
	var l Layers
	l.own(t)
	options := map[string]map[string]string{}
	for _, path := range t.Settings {
		l.settings(path, read, options)
	}
	for _, root := range t.Plugins {
		l.plugin(root, read, options)
	}
	l.heads(t, read)
	l.helpers(t, read)
	return l
}

// own adds what the spec itself has.
func (l *Layers) own(t *Team) {
	if len(t.Hooks) > 0 {
		l.Sources = append(l.Sources, settings.Source{Name: t.File, Settings: t.Hooks})
	}
	if len(t.Gates) > 0 {
		l.Sources = append(l.Sources, settings.Source{Name: "gates of " + t.File, Settings: t.Gates})
	}
}

// settings adds a settings file, and notes what it sets for plugins.
func (l *Layers) settings(path string, read hookfiles.ReadFile, options map[string]map[string]string) {
	file, warnings := hookfiles.ReadSettings(path, read)
	l.Warnings = append(l.Warnings, warnings...)
	if len(file.Hooks) > 0 || file.Restrictions.Any() {
		l.Sources = append(l.Sources, settings.Source{Name: path, Settings: file.Hooks, Restrictions: file.Restrictions})
	}
	p := file.Permissions
	l.Permissions.Allow = append(l.Permissions.Allow, p.Allow...)
	l.Permissions.Ask = append(l.Permissions.Ask, p.Ask...)
	l.Permissions.Deny = append(l.Permissions.Deny, p.Deny...)
	l.Permissions.Unreadable = append(l.Permissions.Unreadable, p.Unreadable...)
	// A file that anybody may have put there must not loosen what the spec says.
	if p.DefaultMode != "" {
		l.Powerless = append(l.Powerless, fmt.Errorf(
			"%s: permissions.defaultMode has no effect; set permission_mode in the spec", path))
	}
	for plugin, values := range file.PluginOptions {
		if options[plugin] == nil {
			options[plugin] = map[string]string{}
		}
		for name, value := range values {
			options[plugin][name] = value
		}
	}
}

// plugin adds a plugin's hooks and servers.
func (l *Layers) plugin(root string, read hookfiles.ReadFile, options map[string]map[string]string) {
	p, warnings := hookfiles.ReadPlugin(root, read)
	l.Warnings = append(l.Warnings, warnings...)
	for name, value := range options[p.Name] {
		p.Options[name] = value
	}
	if len(p.Hooks) > 0 {
		l.Sources = append(l.Sources, p.Source())
	}
	l.Servers = append(l.Servers, p.Servers...)
}

// heads adds the hooks in the heads of members' agent files. They are for that
// member alone.
func (l *Layers) heads(t *Team, read hookfiles.ReadFile) {
	known := map[string]hooks.Settings{}
	for _, m := range t.Members() {
		if m.PromptFile == "" {
			continue
		}
		section, ok := known[m.PromptFile]
		if !ok {
			file, warnings := hookfiles.ReadFront(m.PromptFile, read)
			section, known[m.PromptFile] = file.Hooks, file.Hooks
			l.Warnings = append(l.Warnings, warnings...)
		}
		if len(section) > 0 {
			l.Sources = append(l.Sources, settings.Source{Name: m.PromptFile, Settings: section, Member: m.Name})
		}
	}
}

// helpers adds the hooks in the heads of the workspace's agent files. They are for
// helpers of that kind alone.
func (l *Layers) helpers(t *Team, read hookfiles.ReadFile) {
	for _, h := range t.Helpers() {
		if _, err := read(h.File); errors.Is(err, fs.ErrNotExist) {
			continue // it has come since, and does not count
		}
		file, warnings := hookfiles.ReadFront(h.File, read)
		l.Warnings = append(l.Warnings, warnings...)
		if len(file.Hooks) > 0 {
			l.Sources = append(l.Sources, settings.Source{Name: h.File, Settings: file.Hooks.ForHelper(), Helper: h.Name})
		}
	}
}

// HookFiles lists the files that Layers reads, by absolute paths, each once: those
// of plugins also if they are not there yet.
func (t *Team) HookFiles() []string {
	files := slices.Clone(t.Settings)
	for _, root := range t.Plugins {
		files = append(files, hookfiles.PluginFiles(root, hookfiles.Read)...)
	}
	for _, m := range t.Members() {
		if m.PromptFile != "" {
			files = append(files, m.PromptFile)
		}
	}
	for _, h := range t.Helpers() {
		files = append(files, h.File)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// Sources returns the layers of hooks that the team has, in the order in which
// they merge: those of Layers, with the files as they are on disk.
func (t *Team) Sources() ([]settings.Source, []error) {
	l := t.Layers(nil)
	return l.Sources, l.Warnings
}

// Helpers lists the kinds of helpers that the workspace describes now, by the names of
// their files; none if no member can let helpers work.
func (t *Team) Helpers() []hookfiles.Helper {
	if slices.ContainsFunc(t.Members(), t.lendsHelpers) {
		return hookfiles.Helpers(t.Workspace)
	}
	return nil
}

// lendsHelpers reports whether the member can let helpers work, be it with an agent that
// it falls back to. An agent program has helpers of its own.
func (t *Team) lendsHelpers(m Member) bool {
	own := func(a Agent) bool { return !a.foreign() }
	return slices.ContainsFunc(t.AgentsOf(m), own) && (m.Tools == nil || slices.Contains(m.Tools, "Agent"))
}
