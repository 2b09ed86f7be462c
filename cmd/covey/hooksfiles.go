package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/orchestrator"
)

// hookFile reads the hooks of a settings file, or of a plugin's hooks.json,
// which has the same shape. given is what the flag said. An entry with a
// mistake is left out with a warning, as in a team; only a file that cannot be
// read is an error.
func (c *cli) hookFile(flag, given, path string) (hooks.SettingsFile, error) {
	data, err := os.ReadFile(c.path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return hooks.SettingsFile{}, usagef("there is no %s file %s", flag, path)
	}
	if err != nil {
		return hooks.SettingsFile{}, usagef("--%s %s: %v", flag, given, err)
	}
	file, warnings := hooks.ParseSettings(path, data)
	c.warnAll(warnings)
	return file, nil
}

// pluginSource reads the hooks of the plugin in dir. What it keeps between runs
// goes below covey's state, not into the plugin, which may be read-only. Two
// plugins whose folders have one name share what they keep.
func (c *cli) pluginSource(dir string) (hooks.Source, error) {
	file, err := c.hookFile("plugin", dir, filepath.Join(dir, "hooks", "hooks.json"))
	if err != nil {
		return hooks.Source{}, err
	}
	root, err := filepath.Abs(c.path(dir))
	if err != nil {
		return hooks.Source{}, usagef("--plugin %s: %v", dir, err)
	}
	home, err := orchestrator.StateHome()
	if err != nil {
		return hooks.Source{}, fmt.Errorf("a place for what plugin %s keeps: %w", dir, err)
	}
	name := filepath.Base(root)
	data := filepath.Join(home, "plugins", name)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return hooks.Source{}, fmt.Errorf("a place for what plugin %s keeps: %w", dir, err)
	}
	return hooks.Source{Name: name, Root: root, Data: data, Settings: file.Hooks}, nil
}
