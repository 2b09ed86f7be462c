package teamhooks

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/coveyteam/covey/orchestrator/state"
)

// GateSettings are copies of tool settings in the operator's home, where a member could change
// them: `go env -w GOFLAGS=-run=none` would make a failing gate pass. Gates read the copies,
// which are made when the team first starts. They stay after restarts, since a member may have
// changed the settings in between. The zero value has no files.
type GateSettings struct {
	dir   string
	files []file
}

// file is one file of settings.
type file struct {
	name     string // of the copy
	variable string // names the copy to the tool
	what     string // for people
	from     string // the operator's file
	text     []byte // the content of the copy; empty if there was no such file
}

// Open makes the missing copies in a folder, and returns which of the operator's files differ
// from their copies. It must be called once, before any gate runs.
func (s *GateSettings) Open(dir string) (changed []string, err error) {
	s.dir, s.files = dir, operatorsFiles()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("settings for gates: %w", err)
	}
	for i := range s.files {
		f := &s.files[i]
		now, err := readIfThere(f.from)
		if err != nil {
			return nil, fmt.Errorf("settings for gates: %w", err)
		}
		copied := filepath.Join(s.dir, f.name)
		// The copy counts, not the operator's file: it is from before any member ran.
		f.text, err = os.ReadFile(copied)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.text = now
		case err != nil:
			return nil, fmt.Errorf("settings for gates: %w", err)
		case !bytes.Equal(f.text, now):
			changed = append(changed, fmt.Sprintf("%s (%s) has changed since the team first came up, and a member could have "+
				"done that: gates go by the settings of then; if it was you, covey down, remove %s, covey up", f.from, f.what, copied))
		}
	}
	return changed, s.write()
}

// readIfThere reads a file. A missing file counts as empty.
func readIfThere(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// operatorsFiles lists the settings, with the paths where tools read them.
func operatorsFiles() []file {
	var files []file
	config, err := os.UserConfigDir()
	home, homeErr := os.UserHomeDir()
	if goenv := os.Getenv("GOENV"); goenv != "off" && (goenv != "" || err == nil) {
		if goenv == "" {
			goenv = filepath.Join(config, "go", "env")
		}
		files = append(files, file{name: "goenv", variable: "GOENV", what: "go env -w", from: goenv})
	}
	if homeErr != nil {
		return files
	}
	files = append(files, file{name: "npmrc", variable: "NPM_CONFIG_USERCONFIG", what: "npm", from: filepath.Join(home, ".npmrc")})
	pip := []string{filepath.Join(home, ".config", "pip", "pip.conf"), filepath.Join(home, ".pip", "pip.conf")}
	if err == nil {
		pip = append([]string{filepath.Join(config, "pip", "pip.conf")}, pip...)
	}
	there := slices.IndexFunc(pip, func(path string) bool { _, err := os.Stat(path); return err == nil })
	return append(files, file{name: "pip.conf", variable: "PIP_CONFIG_FILE", what: "pip", from: pip[max(there, 0)]})
}

// write restores copies that have changed, since a member may have found them.
func (s *GateSettings) write() error {
	for _, f := range s.files {
		path := filepath.Join(s.dir, f.name)
		if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, f.text) {
			continue
		}
		// Atomically: gates read it meanwhile, and a part that a kill leaves of the first copy would
		// count from then on.
		if err := state.WriteAtomic(path, f.text); err != nil {
			return fmt.Errorf("settings for gates: %w", err)
		}
	}
	return nil
}

// Environ returns the variables by which a gate finds the copies. If it fails, the copies
// cannot be restored, and no gate may run.
func (s *GateSettings) Environ() ([]string, error) {
	var env []string
	for _, f := range s.files {
		env = append(env, f.variable+"="+filepath.Join(s.dir, f.name))
	}
	return env, s.write()
}
