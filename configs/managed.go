package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/coveyteam/covey/hooks/settings"
)

// ErrManaged is wrapped by LoadManaged's error: a managed settings file is there
// and cannot be read.
var ErrManaged = errors.New("managed settings cannot be read")

// managedFile is the name of the settings file of an administrator.
const managedFile = "managed-settings.json"

// Managed is what an administrator has laid down for all teams of a machine.
type Managed struct {
	Sources     []settings.Source // one for each file, with Managed set
	Permissions Permissions       // rules for all members
}

// ManagedFolders lists the folders in which administrators keep managed settings
// on this system, in the order in which the files merge: Claude Code's first, as
// its rules are meant for covey's hooks as well, then covey's own. Nothing that
// a user sets can change the list.
func ManagedFolders() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"/Library/Application Support/ClaudeCode", "/Library/Application Support/covey"}
	case "windows":
		return []string{`C:\Program Files\ClaudeCode`, `C:\Program Files\covey`}
	}
	return []string{"/etc/claude-code", "/etc/covey"}
}

// ManagedFiles lists the managed settings files in folders, be they there or not.
func ManagedFiles(folders []string) []string {
	files := make([]string, len(folders))
	for i, folder := range folders {
		files[i] = filepath.Join(folder, managedFile)
	}
	return files
}

// LoadManaged reads the managed settings in folders; a folder without the file
// has none. Unlike other settings files, one that is there and cannot be read
// is an error, ErrManaged: covey must not run as if it had said nothing. The
// warnings are about single entries.
func LoadManaged(folders []string) (Managed, []error, error) {
	var m Managed
	var warnings []error
	for _, folder := range folders {
		path := filepath.Join(folder, managedFile)
		// A folder that may not be looked into counts as one that holds the file.
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		data, err := ReadBounded(path, maxSettings)
		if err != nil {
			return Managed{}, warnings, fmt.Errorf("%w: %s: %s; ask whoever looks after this machine",
				ErrManaged, path, cause(err))
		}
		file, errs := settings.Parse(path, data)
		if file.Broken {
			return Managed{}, warnings, fmt.Errorf("%w: %w; ask whoever looks after this machine", ErrManaged,
				errors.Join(errs...))
		}
		if len(file.Permissions.Unreadable) > 0 {
			return Managed{}, warnings, fmt.Errorf("%w: %s; ask whoever looks after this machine", ErrManaged,
				strings.Join(file.Permissions.Unreadable, "; "))
		}
		if refused := settings.Refused(errs); len(refused) > 0 {
			return Managed{}, warnings, fmt.Errorf("%w: %w; ask whoever looks after this machine", ErrManaged,
				errors.Join(refused...))
		}
		warnings = append(warnings, errs...)
		m.Sources = append(m.Sources, settings.Source{Name: path, Settings: file.Hooks, Managed: true,
			Restrictions: file.Restrictions})
		m.Permissions.Allow = append(m.Permissions.Allow, file.Permissions.Allow...)
		m.Permissions.Ask = append(m.Permissions.Ask, file.Permissions.Ask...)
		m.Permissions.Deny = append(m.Permissions.Deny, file.Permissions.Deny...)
		if file.Permissions.DefaultMode != "" {
			warnings = append(warnings, fmt.Errorf(
				"%s: permissions.defaultMode has no effect; set permission_mode in the spec", path))
		}
	}
	return m, warnings, nil
}
