package proc

import (
	"fmt"
	"os"
	"path/filepath"
)

// OpenOwn opens a file that covey keeps in a folder of its own, and makes it if it is missing. It follows no link:
// a member of a team runs as the same user, and could have put one there that leads to a file of the user's.
func OpenOwn(path string, flag int) (*os.File, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	name := filepath.Base(path)
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file, although covey keeps one there; remove it", path)
	}
	// A link that is put there only now leads at most to another file of the folder.
	return root.OpenFile(name, flag|os.O_CREATE, 0o600)
}
