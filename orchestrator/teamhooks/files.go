package teamhooks

import (
	"bytes"
	"io/fs"
	"maps"
	"slices"

	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/texts"
)

// Files holds the contents of a team's hook files by path, as the team uses them. The
// files on disk may have changed since.
type Files map[string]File

// File is the content of one hook file.
type File struct {
	Data []byte
	Err  error // why Data is missing
}

// ReadFile reads a file from disk.
func ReadFile(path string) File {
	data, err := settings.Read(path)
	return File{data, err}
}

// Record reads a file from disk and keeps its content.
func (f Files) Record(path string) ([]byte, error) {
	file := ReadFile(path)
	f[path] = file
	return file.Data, file.Err
}

// Read returns the kept content. A file that is not in f does not exist.
func (f Files) Read(path string) ([]byte, error) {
	file, ok := f[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return file.Data, file.Err
}

// With returns a copy of f with the files of changed added or replaced.
func (f Files) With(changed Files) Files {
	out := maps.Clone(f)
	maps.Copy(out, changed)
	return out
}

// Paths lists the files of f and more, without duplicates, in order.
func (f Files) Paths(more []string) []string {
	all := append(slices.Collect(maps.Keys(f)), more...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Same reports whether two files have the same content. Two unreadable files are the
// same.
func (f File) Same(o File) bool {
	if f.Err != nil || o.Err != nil {
		return f.Err != nil && o.Err != nil
	}
	return bytes.Equal(f.Data, o.Data)
}

// Hash returns a hash of the content; empty: the file cannot be read.
func (f File) Hash() string {
	if f.Err != nil {
		return ""
	}
	return texts.Digest(f.Data)
}
