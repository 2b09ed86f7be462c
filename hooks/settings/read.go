package settings

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/hooks/notation"
)

// maxSettings is the size of the largest settings file that is read, in bytes.
const maxSettings = 1 << 20

// ReadSettings reads one settings file: JSON as Claude Code, Codex and VS Code
// write it, Codex's TOML, or the head of an agent's or skill's Markdown file. It
// never fails; a file that cannot be used is empty and has a warning, see Refused.
func ReadSettings(path string, read ReadFile) (File, []error) {
	if isMarkdown(path) {
		return ReadFront(path, read)
	}
	data, err := read(path)
	if err != nil {
		return broken(path, notation.Cause(err))
	}
	return Parse(path, data)
}

// errTooLarge is ReadBounded's error for a file above its limit.
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

// ReadFile reads one file of a team's hooks. A function other than Read may return
// content that differs from the disk, such as an earlier version.
type ReadFile func(path string) ([]byte, error)

// Read is the ReadFile for the disk: it reads regular files of at most 1 MiB.
func Read(path string) ([]byte, error) { return ReadBounded(path, maxSettings) }

// isMarkdown reports whether the hooks of a file are in its head.
func isMarkdown(path string) bool { return filepath.Ext(path) == ".md" }

// MayHook reports whether a file with this content may bring hooks. Most Markdown files
// have none in their head.
func MayHook(path string, data []byte) bool {
	if !isMarkdown(path) {
		return true
	}
	file, _ := ReadFront(path, func(string) ([]byte, error) { return data, nil })
	return file.Broken || len(file.Hooks) > 0
}

// Fault returns why a file of hooks cannot be used at all, or why its prohibitions
// cannot be read, or "".
func Fault(path string, data []byte) string {
	file, warnings := ReadSettings(path, func(string) ([]byte, error) { return data, nil })
	if err := unusable(file, warnings); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return first
	}
	return ""
}

// unusable returns why a file that was read must not be used, or nil.
func unusable(file File, warnings []error) error {
	switch refused := Refused(warnings); {
	case file.Broken:
		return errors.Join(warnings...)
	case len(file.Permissions.Unreadable) > 0:
		return errors.New(strings.Join(file.Permissions.Unreadable, "; "))
	default:
		return errors.Join(refused...)
	}
}
