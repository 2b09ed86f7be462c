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
		if len(file.Hooks) > 0 || file.Restrictions.Any() {
			out = append(out, hooks.Source{Name: path, Settings: file.Hooks, Restrictions: file.Restrictions})
		}
	}
	return out, warnings
}

// SettingsPermissions returns the permission rules of the settings files, put
// together; they add to those of every member. The warnings are about what of
// a file's permissions has no effect here; what is wrong with a file itself is
// among the warnings of Sources.
func (t *Team) SettingsPermissions() (Permissions, []error) {
	var out Permissions
	var warnings []error
	for _, path := range t.Settings {
		file, _ := readSettings(path)
		out.Allow = append(out.Allow, file.Permissions.Allow...)
		out.Ask = append(out.Ask, file.Permissions.Ask...)
		out.Deny = append(out.Deny, file.Permissions.Deny...)
		// A file that anybody may have put there must not loosen what the
		// spec says.
		if file.Permissions.DefaultMode != "" {
			warnings = append(warnings, fmt.Errorf(
				"%s: permissions.defaultMode has no effect; set permission_mode in the spec", path))
		}
	}
	return out, warnings
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
