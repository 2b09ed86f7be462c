package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/coveyteam/covey/tasks/store"
)

// The log of commits holds what each commit since a backup has put and deleted, entry
// by entry. A backup and the commits after it reproduce the store exactly: values,
// receipts, verdicts and everything else that no event describes.
//
// A record is written after the commit and before any caller is answered, with one
// write and without a sync of its own. Killing covey loses nothing of it, and a power
// cut loses at most the last second, while the store itself survives one. Only damage
// together with a power cut loses anything, and that is reported.
//
// A record holds the commit's number, and the digest of the store before and after
// it. So it is never applied to a store that it was not made on.

// logSuffix is the suffix of the names of parts of the log, after their number. A
// part holds all commits that the backup of the same number lacks, and continues
// where the part before it ends.
const logSuffix = ".log"

// maxLog is the size in bytes of a part of the log above which the store is backed up
// early. If it cannot be backed up, the log is given up at four times that size.
const maxLog = 64 << 20

// errLogFull: a log is given up because no backup could be made.
var errLogFull = errors.New("the log of commits is too long and no backup could be made")

// commitLog writes the newest part of the log. The committer appends; Backups
// begins new parts and syncs. The zero value has no file and ignores commits.
type commitLog struct {
	unsynced chan struct{} // holds a token when there is something to sync or to report

	mu     sync.Mutex
	file   *os.File
	number int
	size   int64
	broken error // why commits are not logged until the next part begins; nil: they are logged
}

// append logs a commit. An error does not fail the commit: the next backup makes up
// for it, and broken says until then that there is a gap.
func (l *commitLog) append(record []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil || l.file == nil {
		return
	}
	n, err := l.file.WriteAt(record, l.size)
	if l.size += int64(n); l.size > 4*maxLog {
		err = errors.Join(err, errLogFull)
	}
	if err != nil {
		l.broken = fmt.Errorf("the log of commits has a gap: %w", err)
	}
	select {
	case l.unsynced <- struct{}{}:
	default:
	}
}

// state returns the number and size of the current part, and whether it has a gap.
func (l *commitLog) state() (number int, size int64, broken error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.number, l.size, l.broken
}

// giveUp ends logging until the next part begins.
func (l *commitLog) giveUp(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = why
}

// begin starts the next part for all later commits; the previous part is synced and
// closed. If the file cannot be created, the previous part
// stays in use.
func (l *commitLog) begin(path string, number int) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	l.mu.Lock()
	before, broken := l.file, l.broken
	l.file, l.number, l.size, l.broken = file, number, 0, nil
	l.mu.Unlock()
	if before == nil {
		return nil
	}
	err = errors.Join(before.Sync(), before.Close())
	if broken != nil {
		return nil // the gap is known, and the next backup ends it
	}
	return err
}

// sync makes the appended records durable.
func (l *commitLog) sync() error {
	l.mu.Lock()
	file := l.file
	l.mu.Unlock()
	if file == nil {
		return nil
	}
	// Not under the lock: the committer must not wait for the disk twice. Only the
	// caller of sync closes the file.
	return file.Sync()
}

// close ends the log. Nothing may be appended after it.
func (l *commitLog) close() error {
	if err := l.sync(); err != nil || l.file == nil {
		return err
	}
	return l.file.Close()
}

// follow calls apply for the records that continue the given state, in order: the one
// made on that state, the one made on its result, and so on. It returns their number.
// Earlier records, records of other stores and records after a gap do not count.
// apply may be nil.
func (b *Backups) follow(at store.State, apply func(*store.Commit) error) (n int, err error) {
	step := func(c *store.Commit) error {
		if c.Number() != at.Transaction+1 || c.Before() != at.Sum {
			return nil
		}
		if apply != nil {
			if err := apply(c); err != nil {
				return err
			}
		}
		at = store.State{Transaction: c.Number(), Sum: c.After()}
		n++
		return nil
	}
	list := b.numbered(logSuffix)
	for i := len(list) - 1; i >= 0; i-- { // oldest first
		err := store.ReadLog(b.logPath(list[i]), func() uint64 { return at.Transaction }, step)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, fmt.Errorf("log of commits %d: %w", list[i], err)
		}
	}
	return n, nil
}
