package tools

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

var (
	// errIsDir is the error of a file tool that was given a directory.
	errIsDir = errors.New("is a directory, not a file; use Glob to see what is in it")
	// errNotRegular is the error of a file tool that was given a pipe, a device or a socket.
	errNotRegular = errors.New("is not a regular file")
	// errBinary is Read's error for a file that is not text.
	errBinary = errors.New("is a binary file, which cannot be shown; use Bash to look into it")
)

// explain says what went wrong with path and, where it can, what to do. The
// current directory is named because models lose track of it.
func (p paths) explain(path string, err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s: %v", path, cause(err))
	}
	path = p.absolute(path)
	text := fmt.Sprintf("%s does not exist; the current directory is %s", path, p.wd.Dir())
	if like := similar(path); like != "" {
		text += fmt.Sprintf(". Did you mean %s?", like)
	}
	return text
}

// similar looks beside path for a file that it may have been meant for: one
// whose name differs by case or by its ending only.
func similar(path string) string {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return ""
	}
	defer dir.Close()
	// A look must stay cheap in huge directories; a hint is only a hint.
	names, err := dir.Readdirnames(1000)
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	// Readdirnames gives no order; among equals the first by name is taken, so
	// that the same mistake always gets the same answer.
	base := filepath.Base(path)
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	best := ""
	for _, n := range names {
		switch {
		case strings.EqualFold(n, base):
			return filepath.Join(filepath.Dir(path), n)
		case stem != "" && strings.EqualFold(strings.TrimSuffix(n, filepath.Ext(n)), stem) &&
			(best == "" || n < best):
			best = n
		}
	}
	if best == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(path), best)
}
