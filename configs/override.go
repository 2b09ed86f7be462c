package configs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// OverridePath is where the local override of a spec lies: team.override.yaml
// beside team.yaml. It is for what one person or one machine wants otherwise.
func OverridePath(spec string) string {
	ext := filepath.Ext(spec)
	return strings.TrimSuffix(spec, ext) + ".override" + ext
}

// readOverride reads the local override of a spec; nil if there is none.
func readOverride(spec string) ([]byte, error) {
	data, err := readSpec(OverridePath(spec))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}
