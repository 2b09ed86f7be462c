package writes

import (
	"io/fs"
	"os"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
)

// Print identifies the state of a path, to detect writes. The zero value stands for a
// path that does not exist.
type Print struct {
	Mode    fs.FileMode `json:"mode,omitempty"`
	Size    int64       `json:"size,omitempty"`   // bytes
	Time    time.Time   `json:"time,omitzero"`    // modification time, which programs can set
	Changed time.Time   `json:"changed,omitzero"` // change time of the kernel; zero: not known
	ID      uint64      `json:"id,omitempty"`     // inode number: distinguishes a replaced file
	Sum     string      `json:"sum,omitempty"`    // hash of the content, or of a link's target; empty: not known
}

// maxSum is the size in bytes up to which files are hashed, so that a file rewritten
// with the same content counts as unchanged.
const maxSum = 1 << 20

// there reports whether the path exists.
func (p Print) there() bool { return p.Mode != 0 || !p.Time.IsZero() }

// Same reports whether nothing was written between two prints of one path: content and
// mode are equal. If a content is not known, the kernel's times decide, and rewriting a
// file with the same content counts as a write.
func (p Print) Same(q Print) bool {
	if p.Mode != q.Mode || p.there() != q.there() {
		return false
	}
	if p.Mode.IsDir() || p.Sum != "" && q.Sum != "" {
		return p.Sum == q.Sum
	}
	return p.untouched(q)
}

// untouched reports whether the kernel has seen no change.
func (p Print) untouched(q Print) bool {
	return p.Size == q.Size && p.Time.Equal(q.Time) && p.Changed.Equal(q.Changed) && p.ID == q.ID && p.Mode == q.Mode
}

// printOf returns the print of a path. Content is not read again if the file was not
// touched since last. A path that cannot be read has no Sum.
func printOf(path string, last Print) Print {
	info, err := os.Lstat(path)
	if err != nil {
		return Print{}
	}
	p := Print{Mode: info.Mode(), Size: info.Size(), Time: info.ModTime().Round(0)}
	p.ID, p.Changed = kernelSays(info)
	switch {
	case info.IsDir(): // a nested repository: its content does not count
		return Print{Mode: info.Mode()}
	case p.untouched(last) && last.Sum != "":
		p.Sum = last.Sum
	case info.Mode()&fs.ModeSymlink != 0:
		if to, err := os.Readlink(path); err == nil {
			p.Sum = texts.Digest(to)
		}
	case info.Mode().IsRegular() && info.Size() <= maxSum:
		if data, err := texts.ReadStart(path, maxSum); err == nil {
			p.Sum = texts.Digest(data)
		}
	}
	return p
}
