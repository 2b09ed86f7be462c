package yaml

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// ReadFile reads a spec: at most one byte more than MaxSize, so that Parse can tell that the
// file is too large. It only opens regular files: a named pipe would block.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w; `covey init` writes a spec that runs", err)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; name the spec file in it, such as %s",
			path, filepath.Join(path, "team.yaml"))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file; write the spec to a file", path)
	}
	return texts.ReadStart(path, MaxSize+1)
}

// OverridePath returns the path of a spec's local override: team.override.yaml next to
// team. It holds what one person or one machine wants to differ.
func OverridePath(spec string) string {
	ext := filepath.Ext(spec)
	return strings.TrimSuffix(spec, ext) + ".override" + ext
}

// ReadOverride reads the local override of a spec, or returns nil if there is none.
func ReadOverride(spec string) ([]byte, error) {
	data, err := ReadFile(OverridePath(spec))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}
