package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/coveyteam/covey/hooks/texts"
)

// ErrManaged is wrapped by LoadManaged's error: a managed settings file exists and
// cannot be read.
var ErrManaged = errors.New("managed settings cannot be read")

// managedFile is the name of the settings file of an administrator.
const managedFile = "managed-settings.json"

// Managed holds the hooks and rules of an administrator for all teams of a machine.
type Managed struct {
	Sources     []Source    // one for each file, with Managed set
	Permissions Permissions // rules for all members
}

// ManagedFolders lists the folders of managed settings on this system, in the order in
// which the files merge: Claude Code's first, because its rules apply to covey's hooks
// as well, then covey's own. No setting of a user changes the list.
func ManagedFolders() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"/Library/Application Support/ClaudeCode", "/Library/Application Support/covey"}
	case "windows":
		return []string{`C:\Program Files\ClaudeCode`, `C:\Program Files\covey`}
	}
	return []string{"/etc/claude-code", "/etc/covey"}
}

// ManagedFiles lists the managed settings files of folders, whether they exist or not.
func ManagedFiles(folders []string) []string {
	files := make([]string, len(folders))
	for i, folder := range folders {
		files[i] = filepath.Join(folder, managedFile)
	}
	return files
}

// LoadManaged reads the managed settings in folders; a folder without the file
// has none. Unlike other settings files, one that exists and cannot be read is an
// error, ErrManaged, because covey must not run without its rules. The warnings are
// about single entries.
func LoadManaged(folders []string) (Managed, []error, error) {
	var m Managed
	var warnings []error
	for _, folder := range folders {
		path := filepath.Join(folder, managedFile)
		// A folder that cannot be read counts as one that holds the file.
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var file File
		var errs []error
		data, err := texts.ReadFile(path, maxSettings)
		if err != nil {
			err = fmt.Errorf("%s: %s", path, texts.Cause(err))
		} else {
			file, errs = Parse(path, data)
			err = unusable(file, errs)
		}
		if err != nil {
			return Managed{}, warnings,
				fmt.Errorf("%w: %w; ask the administrator of this machine", ErrManaged, err)
		}
		warnings = append(warnings, errs...)
		m.Sources = append(m.Sources, Source{Name: path, Settings: file.Hooks, Managed: true,
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
