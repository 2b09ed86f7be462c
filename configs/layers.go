package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// Layers are the hooks of a team and what else the same files configure, as of one moment.
type Layers struct {
	// Sources are in merge order (HOOKS.md section 3): the section `hooks`, the gates,
	// settings files, plugins, the heads of agent files.
	Sources []settings.Source
	// Permissions are those of all settings files. They are added to every member's.
	Permissions Permissions
	Servers     []settings.Server // MCP servers of the spec and of plugins
	Warnings    []error           // what is wrong with the files
	// Ineffective lists permissions that are valid but have no effect here.
	Ineffective []error
	mode        PermissionMode // permissions.defaultMode of the last settings file that has one
	// options are what settings files set for plugins, by plugin and name.
	options map[string]map[string]string
}

// Layers reads the files of the team's hooks with read; nil means settings.Read. A file
// that has vanished or is broken yields a warning and those of its hooks that can be used.
// The caller fills in the data folders of plugins (settings.Source.Data).
func (t *Team) Layers(read settings.ReadFile) Layers {
	if read == nil {
		read = settings.Read
	}
	var l Layers
	l.addSpec(t)
	for _, path := range t.Settings {
		l.AddSettings(path, read)
	}
	for _, root := range t.Plugins {
		l.AddPlugin(root, read)
	}
	// Members have had their mode since the spec was read.
	if known := []PermissionMode{Default, Plan, AcceptEdits, DontAsk}; l.mode != t.DefaultMode && slices.Contains(known, l.mode) {
		l.Ineffective = append(l.Ineffective, fmt.Errorf(
			"permissions.defaultMode of the settings files is %s now; the next covey up takes it up", l.mode))
	}
	l.addMemberHeads(t, read)
	l.addHelperHeads(t, read)
	l.addSkillHeads(t, read)
	return l
}

// addSpec adds the hooks, gates and servers of the spec itself.
func (l *Layers) addSpec(t *Team) {
	if len(t.Hooks) > 0 {
		l.Sources = append(l.Sources, settings.Source{Name: t.File, Settings: t.Hooks})
	}
	l.Sources = append(l.Sources, t.policySources()...)
	if len(t.Gates) > 0 {
		l.Sources = append(l.Sources, settings.Source{Name: "gates of " + t.File, Settings: t.Gates})
	}
	for _, s := range t.MCPServers {
		l.Servers = append(l.Servers, s.Server)
	}
}

// AddSettings adds a settings file, and collects what it sets for plugins.
func (l *Layers) AddSettings(path string, read settings.ReadFile) {
	file, warnings := settings.ReadSettings(path, read)
	l.Warnings = append(l.Warnings, warnings...)
	if len(file.Hooks) > 0 || file.Restrictions.Any() {
		l.Sources = append(l.Sources, settings.Source{Name: path, Settings: file.Hooks, Restrictions: file.Restrictions})
	}
	p := file.Permissions
	l.Permissions.Allow = append(l.Permissions.Allow, p.Allow...)
	l.Permissions.Ask = append(l.Permissions.Ask, p.Ask...)
	l.Permissions.Deny = append(l.Permissions.Deny, p.Deny...)
	l.Permissions.Unreadable = append(l.Permissions.Unreadable, p.Unreadable...)
	if p.DefaultMode != "" {
		l.mode = PermissionMode(p.DefaultMode)
	}
	for plugin, values := range file.PluginOptions {
		if l.options == nil {
			l.options = map[string]map[string]string{}
		}
		if l.options[plugin] == nil {
			l.options[plugin] = map[string]string{}
		}
		maps.Copy(l.options[plugin], values)
	}
}

// AddPlugin adds the hooks and servers of a plugin, which gets what the settings files added before it set.
func (l *Layers) AddPlugin(root string, read settings.ReadFile) {
	p, warnings := settings.ReadPlugin(root, read)
	l.Warnings = append(l.Warnings, warnings...)
	maps.Copy(p.Options, l.options[p.Name])
	if len(p.Hooks) > 0 {
		l.Sources = append(l.Sources, p.Source())
	}
	l.Servers = append(l.Servers, p.Servers...)
}

// addMemberHeads adds the hooks in the heads of members' agent files. Each applies to its
// member only.
func (l *Layers) addMemberHeads(t *Team, read settings.ReadFile) {
	known := map[string]hooks.Settings{}
	for m := range t.EachAndTemplates() {
		if m.PromptFile == "" || m.Template != "" { // what holds for a template holds for its members
			continue
		}
		section, ok := known[m.PromptFile]
		if !ok {
			file, warnings := settings.ReadFront(m.PromptFile, read)
			section, known[m.PromptFile] = file.Hooks, file.Hooks
			l.Warnings = append(l.Warnings, warnings...)
		}
		if len(section) > 0 {
			l.Sources = append(l.Sources, settings.Source{Name: m.PromptFile, Settings: section, Member: m.Name})
		}
	}
}

// addHelperHeads adds the hooks in the heads of the workspace's agent files. Each applies
// to helpers of its kind only. What a plugin's agent file would change beyond its helpers has no
// effect, as in other hosts.
func (l *Layers) addHelperHeads(t *Team, read settings.ReadFile) {
	var ignored []string
	for _, h := range t.Helpers() {
		if h.Plugin {
			if len(h.Ignored) > 0 {
				ignored = append(ignored, h.Name+": "+strings.Join(h.Ignored, ", "))
			}
			continue
		}
		if _, err := read(h.File); errors.Is(err, fs.ErrNotExist) {
			continue // created after the team was started, so it does not count
		}
		file, warnings := settings.ReadFront(h.File, read)
		l.Warnings = append(l.Warnings, warnings...)
		if len(file.Hooks) > 0 {
			l.Sources = append(l.Sources, settings.Source{Name: h.File, Settings: file.Hooks.ForHelper(), Helper: h.Name})
		}
	}
	if len(ignored) > 0 {
		l.Warnings = append(l.Warnings, fmt.Errorf("agents of plugins cannot have these keys, which are ignored: %s",
			strings.Join(ignored, "; ")))
	}
}

// addSkillHeads adds the hooks in the heads of skills. Each applies to sessions that have
// loaded the skill.
func (l *Layers) addSkillHeads(t *Team, read settings.ReadFile) {
	skills, warnings := t.Skills()
	l.Warnings = append(l.Warnings, warnings...)
	for _, s := range skills {
		if slices.Contains(t.Settings, s.File) {
			continue // the spec has its hooks apply always
		}
		if _, err := read(s.File); errors.Is(err, fs.ErrNotExist) {
			continue // as for helpers
		}
		file, warnings := settings.ReadFront(s.File, read)
		l.Warnings = append(l.Warnings, warnings...)
		if len(file.Hooks) > 0 {
			l.Sources = append(l.Sources, settings.Source{Name: s.File, Settings: file.Hooks, Skill: s.Name})
		}
	}
}

// HookFiles lists the files that Layers reads, by absolute path and without duplicates.
// Files of plugins are listed even if they do not exist yet.
func (t *Team) HookFiles() []string {
	files := slices.Clone(t.Settings)
	for _, root := range t.Plugins {
		files = append(files, settings.PluginFiles(root, settings.Read)...)
	}
	for m := range t.EachAndTemplates() {
		if m.PromptFile != "" {
			files = append(files, m.PromptFile)
		}
	}
	for _, h := range t.Helpers() {
		files = append(files, h.File)
	}
	skills, _ := t.Skills()
	for _, s := range skills {
		files = append(files, s.File)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// Sources returns the layers of hooks that the team has, in merge order: those of Layers,
// with the files as they are on disk.
func (t *Team) Sources() ([]settings.Source, []error) {
	l := t.Layers(nil)
	return l.Sources, l.Warnings
}

// Helpers lists the kinds of helpers that the workspace and the plugins describe now. It
// lists none if no member can use helpers.
func (t *Team) Helpers() []settings.Helper {
	if t.anyMayUse("Agent") {
		return settings.Helpers(t.Workspace, t.Plugins)
	}
	return nil
}

// Skills lists the skills that the workspace and the plugins have now, with what is wrong
// with others. It lists none if no member can use skills.
func (t *Team) Skills() ([]settings.Skill, []error) {
	if t.anyMayUse("Skill") {
		return settings.Skills(t.Workspace, t.Plugins)
	}
	return nil, nil
}

// anyMayUse reports whether a member can use a tool that only covey's own agent has, perhaps
// only with an agent that it falls back to. Agent programs have their own.
func (t *Team) anyMayUse(tool string) bool {
	own := func(a Agent) bool { return !a.foreign() }
	for m := range t.EachAndTemplates() {
		if (m.Tools == nil || slices.Contains(m.Tools, tool)) && slices.ContainsFunc(t.AgentsOf(*m), own) {
			return true
		}
	}
	return false
}
