package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/coveyteam/covey/tasks/kv"
)

// The log of commits holds what each commit since a backup has put and deleted, entry
// by entry. A backup and the commits that follow on it give the store again as it was,
// bit by bit: values, receipts, verdicts and all else that no event tells of.
//
// It is written after the commit and before anybody is told of it, with one write and
// without a sync of its own: whoever kills covey takes nothing of it away, and a power
// cut takes at most what was not synced yet, a second, while the store itself is whole
// after one. Only damage and a power cut at once lose anything, and that is said.
//
// A record names the commit's number, and the digest of the store before and after it.
// So nothing is ever applied to a store that it was not made on.

// logSuffix is what names of parts of the log end with; before it stands a number. A
// part holds all commits that the backup of the same number lacks, and goes on where the
// part before it ends.
const logSuffix = ".log"

// maxLog is how many bytes a part of the log may have before the store is backed up
// early, and while it cannot be, four times as much is when the log is given up.
const maxLog = 64 << 20

// errLogFull is why a log is given up that no backup makes short again.
var errLogFull = errors.New("the log of commits is too long and no backup could be made")

// commitLog writes the newest part of the log. The committer appends; whoever makes
// backups begins new parts and syncs. Its zero value has no file and notes nothing.
type commitLog struct {
	unsynced chan struct{} // holds a token when there is something to sync or to say

	mu     sync.Mutex
	file   *os.File
	number int
	size   int64
	broken error // why commits are not noted until the next part is begun; nil: they are
}

// append notes a commit. That it fails fails no commit: the next backup makes up for it,
// and broken says until then that there is a gap.
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

// state gives the number and size of the part that is written, and whether it has a gap.
func (l *commitLog) state() (number int, size int64, broken error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.number, l.size, l.broken
}

// giveUp notes no more commits until the next part is begun.
func (l *commitLog) giveUp(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = why
}

// begin makes the next part. What is committed from now on goes there; the part before
// it is synced and closed. After an error the part before it goes on.
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
		return nil // that there is a gap is known, and the backup that comes now ends it
	}
	return err
}

// sync makes what was appended durable.
func (l *commitLog) sync() error {
	l.mu.Lock()
	file := l.file
	l.mu.Unlock()
	if file == nil {
		return nil
	}
	// Not under the lock: the committer must not wait for the disk twice. Nobody but
	// whoever calls this closes the file.
	return file.Sync()
}

// close ends the log. Nothing is appended any more.
func (l *commitLog) close() error {
	if err := l.sync(); err != nil || l.file == nil {
		return err
	}
	return l.file.Close()
}

// follow goes through the records that follow on a store, in order: the one that was
// made on what the store holds, the one that was made on that, and so on. It gives how
// many there are. Records of before, of other stores, and behind a gap do not count.
// apply may be nil.
func (b *Keeper) follow(at kv.State, apply func(*kv.Commit) error) (n int, err error) {
	take := func(c *kv.Commit) error {
		if c.Number() != at.Transaction+1 || c.Before() != at.Sum {
			return nil
		}
		if apply != nil {
			if err := apply(c); err != nil {
				return err
			}
		}
		at = kv.State{Transaction: c.Number(), Sum: c.After()}
		n++
		return nil
	}
	list := b.numbered(logSuffix)
	for i := len(list) - 1; i >= 0; i-- { // oldest first
		err := kv.ReadLog(b.logPath(list[i]), func() uint64 { return at.Transaction }, take)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, fmt.Errorf("log of commits %d: %w", list[i], err)
		}
	}
	return n, nil
}
