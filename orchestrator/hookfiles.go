package orchestrator

import (
	"bytes"
	"io/fs"
	"maps"
	"slices"

	"github.com/coveyteam/covey/configs/hookfiles"
)

// hookFiles is what the files of a team's hooks hold, by path: what counts, which
// need not be what is on disk.
type hookFiles map[string]hookFile

// hookFile is one of them.
type hookFile struct {
	data []byte
	err  error // why there is no data
}

// readHookFile reads a file from disk.
func readHookFile(path string) hookFile {
	data, err := hookfiles.Read(path)
	return hookFile{data, err}
}

// record reads a file from disk and notes it.
func (f hookFiles) record(path string) ([]byte, error) {
	file := readHookFile(path)
	f[path] = file
	return file.data, file.err
}

// read gives what counts. What is not known does not count: it has come since.
func (f hookFiles) read(path string) ([]byte, error) {
	file, ok := f[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return file.data, file.err
}

// with is f with other files in their places.
func (f hookFiles) with(changed hookFiles) hookFiles {
	out := maps.Clone(f)
	maps.Copy(out, changed)
	return out
}

// paths lists the files of f and more, each once, in order.
func (f hookFiles) paths(more []string) []string {
	all := append(slices.Collect(maps.Keys(f)), more...)
	slices.Sort(all)
	return slices.Compact(all)
}

// same reports whether two files hold the same; two that cannot be read do.
func (f hookFile) same(o hookFile) bool {
	if f.err != nil || o.err != nil {
		return f.err != nil && o.err != nil
	}
	return bytes.Equal(f.data, o.data)
}
