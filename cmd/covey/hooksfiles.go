package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator"
)

// hookFile reads the hooks of a settings file. An entry with a mistake is left
// out with a warning, as in a team; only a file that cannot be read is an error.
func (c *cli) hookFile(path string) (hooks.SettingsFile, error) {
	_, err := os.Stat(c.path(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return hooks.SettingsFile{}, usagef("there is no settings file %s", path)
	case err != nil:
		return hooks.SettingsFile{}, usagef("--settings %s: %v", path, err)
	}
	file, warnings := configs.ReadSettings(c.path(path))
	c.warnAll(warnings)
	return file, nil
}

// pluginSource reads the hooks of the plugin in dir as a team would. What it keeps
// between runs goes below covey's state, not into the plugin, which may be
// read-only.
func (c *cli) pluginSource(dir string) (hooks.Source, error) {
	root, err := filepath.Abs(c.path(dir))
	if err != nil {
		return hooks.Source{}, usagef("--plugin %s: %v", dir, err)
	}
	info, err := os.Stat(root)
	switch {
	case err != nil:
		return hooks.Source{}, usagef("there is no plugin %s", dir)
	case !info.IsDir():
		return hooks.Source{}, usagef("--plugin %s: it is a file; name the plugin's folder", dir)
	}
	plugin, warnings := configs.ReadPlugin(root, nil)
	c.warnAll(warnings)
	sources := []hooks.Source{plugin.Source()}
	if err := orchestrator.PreparePlugins(sources); err != nil {
		return hooks.Source{}, err
	}
	return sources[0], nil
}
