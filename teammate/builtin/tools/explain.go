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
	// errIsDir is the error of a file tool whose path is a directory.
	errIsDir = errors.New("is a directory, not a file; use Glob to see what is in it")
	// errNotRegular is the error of a file tool whose path is a pipe, a device or a socket.
	errNotRegular = errors.New("is not a regular file")
	// errBinary is Read's error for a file that is not text.
	errBinary = errors.New("is a binary file, which cannot be shown; use Bash to look into it")
)

// explain describes what is wrong with path and, if possible, what to do. It names the
// current directory because models lose track of it.
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

// similar returns a file next to path whose name differs only by case or by its
// extension, or "".
func similar(path string) string {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return ""
	}
	defer dir.Close()
	// This must stay cheap in huge directories, since the result is only a hint.
	names, err := dir.Readdirnames(1000)
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	// Readdirnames returns names in no order; the first by name is chosen, so that the
	// same mistake always gets the same hint.
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
