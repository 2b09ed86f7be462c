package transcript

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/coveyteam/covey/hooks/notation"
)

// ErrDamaged is wrapped by the error of Open and ReadHistory when a transcript
// holds lines that are none, with others behind them. The file stays as it is.
var ErrDamaged = errors.New("the transcript is damaged")

// File is one member's conversation on disk: a JSONL file that hook
// scripts read at transcript_path (DESIGN 7) and that a member resumes from.
//
// Every line goes to the file in one write, so a reader sees whole lines only;
// what a hook may read is there before the hook runs. Lines are on the disk
// itself, safe from power loss, only after a sync, which comes before mail is
// confirmed. One process writes a transcript at a time.
type File struct {
	path string

	mu     sync.Mutex
	file   Disk   // nil once closed
	size   int64  // end of the last whole line
	synced int64  // up to here the file is on the disk itself
	last   string // uuid of the last line; empty: none yet
}

// Disk is the file under a transcript, opened for appending. An *os.File is one.
type Disk interface {
	io.WriteCloser
	Truncate(size int64) error
	Sync() error
}

// Open opens the transcript at path for appending, or creates it
// with its folders, and reads what it holds. A torn last line is cut off: it
// was never acknowledged. A file that is damaged further up is an error and
// stays as it is.
func Open(path string) (*File, History, error) {
	return OpenOn(path, func(file *os.File) Disk { return file })
}

// OpenOn is Open for a caller that puts something between the transcript and its
// file, such as a disk that loses what was not synced.
func OpenOn(path string, disk func(*os.File) Disk) (*File, History, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, History{}, fmt.Errorf("transcript: %w", err)
	}
	_, missing := os.Lstat(path)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, History{}, fmt.Errorf("transcript: %w", err)
	}
	past, err := readTranscript(file)
	if err == nil {
		err = file.Truncate(past.end)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		file.Close()
		return nil, History{}, fmt.Errorf("transcript %s: %w", path, err)
	}
	history := past.history()
	history.New = errors.Is(missing, os.ErrNotExist)
	return &File{path: path, file: disk(file), size: past.end, last: past.last}, history, nil
}

// Path is where the transcript lies.
func (t *File) Path() string { return t.path }

// Close closes the file. Closing twice is fine.
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

// Append writes ln as the next line. If only a part of it could be written (a
// full disk), that part is taken back, so that later lines stay readable.
func (t *File) Append(ln Line) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file == nil {
		return fmt.Errorf("transcript %s: %w", t.path, os.ErrClosed)
	}
	ln.UUID = uuid.NewString()
	ln.Timestamp = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	if t.last != "" {
		ln.ParentUUID = &t.last
	}
	data, err := notation.Marshal(ln)
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

// Sync puts all lines on the disk itself.
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
	t.synced = t.size
	return nil
}

// syncDir makes a file's name in dir as durable as its content.
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
