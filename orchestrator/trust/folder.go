package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a trusted folder, and of the text that is kept to show a difference later.
const (
	maxFolderFiles = 20_000
	maxFolderBytes = 256 << 20
	maxFolderText  = 256 << 10
	maxFileText    = 32 << 10
)

// errFolderSize reports a folder that is too large to review.
var errFolderSize = errors.New("the folder holds too much to be trusted")

// File is one file of a folder that is trusted as a whole.
type File struct {
	Name string `json:"name"`           // slash-separated, relative to the folder
	Hash string `json:"hash"`           // of the content, or of a link's target
	Text string `json:"text,omitempty"` // only of short text files
}

// folderReader reads a folder, following links.
type folderReader struct {
	files   []File
	bytes   int64
	text    int
	visited map[string]bool // real paths of folders
}

// readFolder reads all files of a folder except those that running it creates.
func (i *Item) readFolder() error {
	r := folderReader{visited: map[string]bool{}}
	if err := r.folder(i.Path, ""); err != nil {
		return err
	}
	slices.SortFunc(r.files, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	sum := sha256.New()
	for _, f := range r.files {
		fmt.Fprintf(sum, "%q %s\n", f.Name, f.Hash)
	}
	i.Files, i.Hash = r.files, hex.EncodeToString(sum.Sum(nil))
	return nil
}

// folder reads one folder. A folder that is reached twice is read once, so that cyclic
// links end.
func (r *folderReader) folder(path, name string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || r.visited[real] {
		return err
	}
	r.visited[real] = true
	entries, err := os.ReadDir(real)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if writtenByRun(name, e, entries) {
			continue
		}
		if err := r.entry(filepath.Join(real, e.Name()), strings.TrimPrefix(name+"/"+e.Name(), "/")); err != nil {
			return err
		}
	}
	return nil
}

// entry reads a file, a folder, or the target of a link. Anything else, such as a
// socket, cannot be run.
func (r *folderReader) entry(path, name string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // a dangling link
		target, _ := os.Readlink(path)
		return r.add(File{Name: name, Hash: "link to " + target})
	case err != nil:
		return err
	case info.IsDir():
		return r.folder(path, name)
	case !info.Mode().IsRegular():
		return nil
	}
	r.bytes += info.Size()
	if r.bytes > maxFolderBytes {
		return fmt.Errorf("%w: more than %d MiB", errFolderSize, maxFolderBytes>>20)
	}
	item := Item{}
	item.Path = path
	if err := item.read(); err != nil {
		return err
	}
	f := File{Name: name, Hash: item.Hash}
	if n := len(item.Text); n <= maxFileText && r.text+n <= maxFolderText && utf8.ValidString(item.Text) {
		f.Text, r.text = item.Text, r.text+n
	}
	return r.add(f)
}

// add adds a file.
func (r *folderReader) add(f File) error {
	r.files = append(r.files, f)
	if len(r.files) > maxFolderFiles {
		return fmt.Errorf("%w: more than %d files", errFolderSize, maxFolderFiles)
	}
	return nil
}

// writtenByRun reports whether an entry is a cache that running programs write, and
// from which nothing is loaded without a source next to it: a module that has only its
// compiled form is not a cache.
func writtenByRun(folder string, e fs.DirEntry, siblings []fs.DirEntry) bool {
	name := e.Name()
	switch {
	case name == ".git", e.IsDir() && name == "__pycache__", name == ".DS_Store":
		return true
	case e.IsDir() && name == ".cache":
		return filepath.Base(folder) == "node_modules"
	}
	source, compiled := strings.CutSuffix(name, ".pyc")
	return compiled && slices.ContainsFunc(siblings, func(o fs.DirEntry) bool { return o.Name() == source+".py" })
}

// folderDiff lists the files of a folder that are new, removed or changed, with their
// lines where known.
func folderDiff(before, now Item) string {
	was := map[string]File{}
	for _, f := range before.Files {
		was[f.Name] = f
	}
	var b strings.Builder
	for _, f := range now.Files {
		old, there := was[f.Name]
		delete(was, f.Name)
		switch {
		case !there:
			fmt.Fprintf(&b, "new file %s\n", f.Name)
			for line := range strings.Lines(f.Text) {
				b.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
			}
		case old.Hash == f.Hash:
		case old.Text == "" || f.Text == "":
			fmt.Fprintf(&b, "changed file %s\n", f.Name)
		default:
			b.WriteString(unified(f.Name, old.Text, f.Text))
		}
	}
	for _, f := range before.Files {
		if _, gone := was[f.Name]; gone {
			fmt.Fprintf(&b, "removed file %s\n", f.Name)
		}
	}
	return b.String()
}
