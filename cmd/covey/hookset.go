package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator"
)

// hookFlags name the hooks that a command is about. Where nothing is named, the
// spec of the folder is meant.
type hookFlags struct {
	spec     string
	settings []string
	plugins  []string
}

// add adds the flags to a command.
func (f *hookFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.spec, "spec", "", "take hooks and gates of the spec `FILE`")
	flags.StringArrayVar(&f.settings, "settings", nil, "take hooks of the settings `FILE`; may be given more than once")
	flags.StringArrayVar(&f.plugins, "plugin", nil, "take hooks of the plugin in `DIR`; may be given more than once")
}

// none reports whether nothing is named.
func (f *hookFlags) none() bool { return f.spec == "" && len(f.settings)+len(f.plugins) == 0 }

// hookSet are the hooks that a command is about.
type hookSet struct {
	team      *configs.Team // nil: files were named, and no spec
	workspace string
	folder    string // of the person, from which relative names are seen
	sources   []settings.Source
	servers   []configs.PluginServer // MCP servers that plugins bring
	warnings  []error                // what is wrong with single entries, and what is switched off
}

// hookSet reads what the flags name, and managed settings. It changes nothing.
func (c *cli) hookSet(f hookFlags) (*hookSet, error) {
	workspace, err := c.folder()
	if err != nil {
		return nil, err
	}
	set := &hookSet{workspace: workspace, folder: workspace}
	if f.spec != "" || f.none() {
		path := c.specPath(nil)
		if f.spec != "" {
			path = c.specPath([]string{f.spec})
		}
		// A spec that is there beside named files has its hooks merge before theirs.
		if err := set.addSpec(path); err != nil {
			return nil, err
		}
	}
	options := map[string]map[string]string{}
	for _, path := range f.settings {
		if err := set.addSettings(c, path, options); err != nil {
			return nil, err
		}
	}
	for _, dir := range f.plugins {
		if err := set.addPlugin(c, dir, options); err != nil {
			return nil, err
		}
	}
	return set, set.addManaged(c.managed)
}

// teamHooks are the hooks of a team, with the managed ones. folder is that of the
// person.
func teamHooks(team *configs.Team, managed []string, folder string) (*hookSet, error) {
	set := &hookSet{folder: folder}
	set.take(team)
	return set, set.addManaged(managed)
}

// addSpec adds the hooks of a spec's team.
func (s *hookSet) addSpec(path string) error {
	team, err := configs.Load(path)
	if err != nil {
		return specTrouble(path, err)
	}
	s.take(team)
	return nil
}

// take adds the hooks of a team, which is the only one.
func (s *hookSet) take(team *configs.Team) {
	layers := team.Layers(nil)
	s.team, s.workspace = team, team.Workspace
	s.sources = append(s.sources, layers.Sources...)
	s.servers = append(s.servers, layers.Servers...)
	s.warnings = append(s.warnings, layers.Warnings...)
}

// addSettings adds the hooks of a settings file, and notes what it sets for
// plugins. An entry with a mistake is left out with a warning, as in a team; only
// a file that cannot be read is an error.
func (s *hookSet) addSettings(c *cli, path string, options map[string]map[string]string) error {
	data, err := os.ReadFile(c.path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("there is no settings file %s", path)
	}
	if err != nil {
		return usagef("--settings %s: %v", path, err)
	}
	file, warnings := settings.Parse(path, data)
	s.warnings = append(s.warnings, warnings...)
	s.sources = append(s.sources, settings.Source{Name: path, Settings: file.Hooks, Restrictions: file.Restrictions})
	for plugin, values := range file.PluginOptions {
		if options[plugin] == nil {
			options[plugin] = map[string]string{}
		}
		for name, value := range values {
			options[plugin][name] = value
		}
	}
	return nil
}

// addPlugin adds the hooks of a plugin, as a spec's key `plugins` does.
func (s *hookSet) addPlugin(c *cli, dir string, options map[string]map[string]string) error {
	root, err := filepath.Abs(c.path(dir))
	if err != nil {
		return usagef("--plugin %s: %v", dir, err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return usagef("there is no plugin folder %s", dir)
	}
	plugin, warnings := configs.ReadPlugin(root, nil)
	s.warnings = append(s.warnings, warnings...)
	for name, value := range options[plugin.Name] {
		plugin.Options[name] = value
	}
	s.sources = append(s.sources, plugin.Source())
	s.servers = append(s.servers, plugin.Servers...)
	return nil
}

// addManaged adds the layers of managed settings, and notes what the layers
// switch off in each other.
func (s *hookSet) addManaged(folders []string) error {
	managed, warnings, err := configs.LoadManaged(folders)
	if err != nil {
		return err
	}
	s.warnings = append(s.warnings, warnings...)
	s.sources = append(s.sources, managed.Sources...)
	for _, note := range settings.LimitsOf(s.sources).Notes() {
		s.warnings = append(s.warnings, errors.New(note))
	}
	return nil
}

// keep gives plugins the folders in which they may keep things, and makes them.
// They are the ones that a team's run gives them.
func (s *hookSet) keep() error {
	home, err := orchestrator.StateHome()
	if err != nil {
		return fmt.Errorf("a place for what plugins keep: %w", err)
	}
	return orchestrator.PreparePlugins(home, s.sources)
}

// warnAll tells of what is wrong and does not keep anything from going on. They
// go to stderr, so that the JSON on stdout stays one object.
func (c *cli) warnAll(warnings []error) {
	for _, w := range warnings {
		c.err.printf("%s\n", plain(fmt.Sprintf("warning: %v", w)))
	}
}
