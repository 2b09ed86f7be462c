package configs

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/coveyteam/covey/hooks/settings"
)

// maxSettings is the size of the largest settings file that is read, in bytes.
const maxSettings = 1 << 20

// Sources returns the layers of hooks that the team has, in the order in which
// they merge: those of Layers, with the files as they are on disk.
func (t *Team) Sources() ([]settings.Source, []error) {
	l := t.Layers(nil)
	return l.Sources, l.Warnings
}

// ReadSettings reads one settings file: JSON as Claude Code, Codex and VS Code
// write it, Codex's TOML, or the head of an agent's or skill's Markdown file. It
// never fails; a file that cannot be used is empty and has a warning.
func ReadSettings(path string) (settings.File, []error) { return readSettings(path, ReadHookFile) }

// readSettings reads one settings file.
func readSettings(path string, read ReadFile) (settings.File, []error) {
	if isMarkdown(path) {
		return readFront(path, read)
	}
	data, err := read(path)
	if err != nil {
		return settings.File{Broken: true},
			[]error{fmt.Errorf("settings file %s: %s; its hooks do not run", path, cause(err))}
	}
	return settings.Parse(path, data)
}

// errTooLarge is what ReadBounded gives for a file above its limit.
var errTooLarge = errors.New("the file is too large")

// ReadBounded reads a regular file of at most limit bytes.
func ReadBounded(path string, limit int64) ([]byte, error) {
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
