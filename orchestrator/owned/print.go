package owned

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Print tells whether a path has been written to. Its zero value stands for a path
// where nothing is.
type Print struct {
	Mode    fs.FileMode `json:"mode,omitempty"`
	Size    int64       `json:"size,omitempty"`   // bytes
	Time    time.Time   `json:"time,omitzero"`    // when it was written to, as programs may set it
	Changed time.Time   `json:"changed,omitzero"` // when anything of it changed, by the kernel's clock; zero: it does not say
	ID      uint64      `json:"id,omitempty"`     // tells it apart from a file that took its place
	Sum     string      `json:"sum,omitempty"`    // of what it holds, or of where a link leads; empty: not known
}

// maxSum is the size in bytes up to which files are read, so that one that was written
// anew with what it held counts as the same.
const maxSum = 1 << 20

// there reports whether anything is at the path.
func (p Print) there() bool { return p.Mode != 0 || !p.Time.IsZero() }

// Same reports whether nothing was written between two prints of one path: neither
// content nor mode differ. Where the content of one is not known the kernel's word
// counts, and then a file that was written anew with what it held has been written.
func (p Print) Same(q Print) bool {
	if p.Mode != q.Mode || p.there() != q.there() {
		return false
	}
	if p.Mode.IsDir() || p.Sum != "" && q.Sum != "" {
		return p.Sum == q.Sum
	}
	return p.untouched(q)
}

// untouched reports whether the kernel has not seen anybody change anything.
func (p Print) untouched(q Print) bool {
	return p.Size == q.Size && p.Time.Equal(q.Time) && p.Changed.Equal(q.Changed) && p.ID == q.ID && p.Mode == q.Mode
}

// printOf takes the print of a path. What it held when it was last looked at need not be
// read again if nobody has touched it since. Something that cannot be read has no Sum.
func printOf(path string, last Print) Print {
	info, err := os.Lstat(path)
	if err != nil {
		return Print{}
	}
	p := Print{Mode: info.Mode(), Size: info.Size(), Time: info.ModTime().Round(0)}
	p.ID, p.Changed = kernelSays(info)
	switch {
	case info.IsDir(): // a repository of its own: what is in it is no business of ours
		return Print{Mode: info.Mode()}
	case p.untouched(last) && last.Sum != "":
		p.Sum = last.Sum
	case info.Mode()&fs.ModeSymlink != 0:
		if to, err := os.Readlink(path); err == nil {
			p.Sum = sumOf([]byte(to))
		}
	case info.Mode().IsRegular() && info.Size() <= maxSum:
		if data, err := readAtMost(path, maxSum); err == nil {
			p.Sum = sumOf(data)
		}
	}
	return p
}

// readAtMost reads a file that may grow while it is read.
func readAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// writtenAt is when the last write below root that p may have seen was: its own time, or,
// where that lies before a moment or p is gone, the latest of the folders above it. One that was
// moved along with its folder has an old time, and one that is gone has none.
func writtenAt(root, path string, p Print, since time.Time) time.Time {
	at := p.Changed
	if !at.IsZero() && !at.Before(since) {
		return at
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(root, dir)); err == nil {
			if _, changed := kernelSays(info); changed.After(at) {
				at = changed
			}
			if !p.there() && !at.Before(since) {
				return at // the nearest folder that is left has lost it
			}
		}
		if dir == "." {
			return at
		}
	}
}
