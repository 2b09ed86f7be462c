package configs

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/coveyteam/covey/hooks"
)

// maxSettings is the size of the largest settings file that is read, in bytes.
const maxSettings = 1 << 20

// Sources returns the layers of hooks that the team has, in the order in which
// they merge (HOOKS.md section 3): the section `hooks`, the gates, and the
// settings files in the spec's order. The files are read on every call, so
// that a caller can take up a change. A file that has vanished or is broken
// gives warnings and as much of its hooks as can be used.
func (t *Team) Sources() ([]hooks.Source, []error) {
	var out []hooks.Source
	if len(t.Hooks) > 0 {
		out = append(out, hooks.Source{Name: t.File, Settings: t.Hooks})
	}
	if len(t.Gates) > 0 {
		out = append(out, hooks.Source{Name: "gates of " + t.File, Settings: t.Gates})
	}
	var warnings []error
	for _, path := range t.Settings {
		file, errs := readSettings(path)
		warnings = append(warnings, errs...)
		if file.DisableAllHooks {
			warnings = append(warnings, fmt.Errorf(
				"%s: disableAllHooks has no effect here; take the file off the spec's settings", path))
		}
		if len(file.Hooks) > 0 {
			out = append(out, hooks.Source{Name: path, Settings: file.Hooks})
		}
	}
	return out, warnings
}

// SettingsPermissions returns the permission rules of the settings files, put
// together. They add to those of every member. What is wrong with a file is in
// the warnings of Sources; the warnings here are about the rules alone.
func (t *Team) SettingsPermissions() (Permissions, []error) {
	var out Permissions
	var warnings []error
	for _, path := range t.Settings {
		file, _ := readSettings(path)
		keep := func(rules []string) []string {
			kept, errs := readableRules(path, rules)
			warnings = append(warnings, errs...)
			return kept
		}
		out.Allow = append(out.Allow, keep(file.Permissions.Allow)...)
		out.Ask = append(out.Ask, keep(file.Permissions.Ask)...)
		out.Deny = append(out.Deny, keep(file.Permissions.Deny)...)
	}
	return out, warnings
}

// readableRules returns the rules that can be read.
func readableRules(path string, rules []string) (kept []string, warnings []error) {
	for _, rule := range rules {
		if _, err := hooks.ParseRule(rule); err != nil {
			warnings = append(warnings, fmt.Errorf("%s: permission rule %s: %s; it has no effect",
				path, quote(rule), sentence(err)))
			continue
		}
		kept = append(kept, rule)
	}
	return kept, warnings
}

// readSettings reads one settings file.
func readSettings(path string) (hooks.SettingsFile, []error) {
	data, err := readBounded(path, maxSettings)
	if err != nil {
		return hooks.SettingsFile{}, []error{fmt.Errorf("settings file %s: %s; its hooks do not run", path, cause(err))}
	}
	return hooks.ParseSettings(path, data)
}

// errTooLarge is what readBounded gives for a file above its limit.
var errTooLarge = errors.New("the file is too large")

// readBounded reads a regular file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errTooLarge
	}
	return data, err
}
