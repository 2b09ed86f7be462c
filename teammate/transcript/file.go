package transcript

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
)

// ErrDamaged is wrapped by the error of Open and ReadHistory if a transcript has invalid
// lines with others after them. The file is not changed.
var ErrDamaged = errors.New("the transcript is damaged")

// ErrNewer is wrapped by the error of Open and ReadHistory if a newer covey has written the
// transcript. The file is not changed.
var ErrNewer = errors.New("written by a newer covey; update covey")

// File is one member's stored conversation: a JSONL file that hook scripts read at
// transcript_path and that a member resumes from.
//
// Each line is written in one write, so a reader sees only whole lines; what a hook may
// read is written before the hook runs. Lines survive a power loss only after a sync,
// which precedes the confirmation of mail. Only one process may write a transcript.
type File struct {
	path string

	mu     sync.Mutex
	file   Disk   // nil once closed
	size   int64  // end of the last whole line
	synced int64  // end of the synced part
	last   string // uuid of the last line; empty: none yet
}

// Disk is the file under a transcript, opened for appending. *os.File implements it.
type Disk interface {
	io.WriteCloser
	Truncate(size int64) error
	Sync() error
}

// Open opens the transcript at path for appending, or creates it with its folders, and
// reads its history. It removes a torn last line, which was never acknowledged. A file
// with other damage is an error and is not changed.
func Open(path string) (*File, History, error) {
	return OpenOn(path, func(file *os.File) Disk { return file })
}

// OpenOn is Open with a wrapper around the file, such as a disk that loses what was not
// synced.
func OpenOn(path string, disk func(*os.File) Disk) (*File, History, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, History{}, fmt.Errorf("transcript: %w", err)
	}
	_, missing := os.Lstat(path)
	file, err := proc.OpenOwn(path, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, History{}, fmt.Errorf("transcript: %w", err)
	}
	past, err := readTranscript(file)
	if err == nil {
		err = file.Truncate(past.end)
	}
	if err != nil {
		file.Close()
		return nil, History{}, fmt.Errorf("transcript %s: %w", path, err)
	}
	history := past.history()
	history.New = errors.Is(missing, os.ErrNotExist)
	return &File{path: file.Name(), file: disk(file), size: past.end, last: past.last}, history, nil
}

// OfHelper returns the path of a helper's transcript, next to that of its member as in recorded
// hosts.
func OfHelper(member, id string) string {
	return filepath.Join(strings.TrimSuffix(member, ".jsonl"), "subagents", "agent-"+id+".jsonl")
}

// Path returns the path of the transcript.
func (t *File) Path() string { return t.path }

// Close closes the file. It may be called twice.
func (t *File) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return nil
	}
	file := t.file
	t.file = nil
	return file.Close()
}

// Append writes ln as the next line. If only a part could be written (a full disk),
// Append removes it, so that later lines stay readable.
func (t *File) Append(ln Line) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return fmt.Errorf("transcript %s: %w", t.path, os.ErrClosed)
	}
	ln.UUID, ln.Format = uuid.NewString(), Format
	ln.Timestamp = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	if t.last != "" {
		ln.ParentUUID = &t.last
	}
	data, err := texts.Marshal(ln)
	if err != nil {
		return fmt.Errorf("transcript %s: %w", t.path, err)
	}
	n, err := t.file.Write(append(data, '\n'))
	if err != nil {
		if n > 0 {
			err = errors.Join(err, t.file.Truncate(t.size))
		}
		return fmt.Errorf("transcript: %w", err)
	}
	t.size += int64(n)
	t.last = ln.UUID
	return nil
}

// Sync commits all lines to stable storage.
func (t *File) Sync() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return fmt.Errorf("transcript %s: %w", t.path, os.ErrClosed)
	}
	if t.synced == t.size {
		return nil
	}
	if err := t.file.Sync(); err != nil {
		return fmt.Errorf("transcript: %w", err)
	}
	if t.synced == 0 { // the file may be new
		if err := syncDir(filepath.Dir(t.path)); err != nil {
			return fmt.Errorf("transcript %s: %w", t.path, err)
		}
	}
	t.synced = t.size
	return nil
}

// syncDir makes a new file's entry in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
