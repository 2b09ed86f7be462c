package tasks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"sync"

	bolt "go.etcd.io/bbolt"
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

// Sizes in a record: length and checksum of what follows, then the commit's number and
// the digests before and after it, 8 bytes each; then its entries.
const (
	recordSums = 8
	recordHead = recordSums + 3*8
)

// commitRecord is one record, on its way into the log or out of it. The committer has
// one and uses it again and again; a nil one takes nothing down.
type commitRecord struct {
	buf []byte
}

// begin starts the record of a transaction on a store with that digest.
func (c *commitRecord) begin(transaction int, before uint64) {
	if c == nil {
		return
	}
	const most = 1 << 20 // of what is kept for the next one
	if cap(c.buf) > most {
		c.buf = nil
	}
	c.buf = append(c.buf[:0], make([]byte, recordHead)...)
	binary.BigEndian.PutUint64(c.buf[recordSums:], uint64(transaction))
	binary.BigEndian.PutUint64(c.buf[recordSums+8:], before)
}

// entry notes a write. A nil value stands for a key that is deleted.
func (c *commitRecord) entry(bucket string, key, value []byte) {
	if c == nil {
		return
	}
	c.buf = binary.AppendUvarint(c.buf, uint64(len(bucket)))
	c.buf = append(c.buf, bucket...)
	c.buf = binary.AppendUvarint(c.buf, uint64(len(key)))
	c.buf = append(c.buf, key...)
	if value == nil {
		c.buf = append(c.buf, 0)
		return
	}
	c.buf = binary.AppendUvarint(c.buf, uint64(len(value))+1)
	c.buf = append(c.buf, value...)
}

// end gives the whole record, good until the next begin.
func (c *commitRecord) end(after uint64) []byte {
	binary.BigEndian.PutUint64(c.buf[recordSums+16:], after)
	binary.BigEndian.PutUint32(c.buf, uint32(len(c.buf)-recordSums))
	binary.BigEndian.PutUint32(c.buf[4:], crc32.Checksum(c.buf[recordSums:], castagnoli))
	return c.buf
}

func (c *commitRecord) number() uint64 { return binary.BigEndian.Uint64(c.buf[recordSums:]) }
func (c *commitRecord) before() uint64 { return binary.BigEndian.Uint64(c.buf[recordSums+8:]) }
func (c *commitRecord) after() uint64  { return binary.BigEndian.Uint64(c.buf[recordSums+16:]) }

// sound says whether the record is what was written.
func (c *commitRecord) sound() bool {
	return binary.BigEndian.Uint32(c.buf[4:]) == crc32.Checksum(c.buf[recordSums:], castagnoli)
}

// errRecord: a record that is sound and cannot be read was written by another covey.
var errRecord = fmt.Errorf("%w: a record in its log of commits cannot be read", ErrCorrupt)

// apply makes the commit's writes again on a store with that digest, and gives the new
// one. It is counted anew: a store that was damaged when the commit was made may have
// noted another one, and the writes are right all the same.
func (c *commitRecord) apply(tx *bolt.Tx, digest uint64) (uint64, error) {
	for rest := c.buf[recordHead:]; len(rest) > 0; {
		var bucket, key, value []byte
		var n uint64
		var ok bool
		if bucket, rest, ok = cutField(rest, 0); !ok {
			return 0, errRecord
		}
		if key, rest, ok = cutField(rest, 0); !ok {
			return 0, errRecord
		}
		n, _ = binary.Uvarint(rest)
		if value, rest, ok = cutField(rest, 1); !ok {
			return 0, errRecord
		}
		b := tx.Bucket(bucket)
		if b == nil {
			return 0, errRecord
		}
		name := string(bucket)
		if old := b.Get(key); old != nil && counted(name, key) {
			digest ^= entrySum(name, key, old)
		}
		var err error
		if n == 0 {
			err = b.Delete(key)
		} else {
			if err = b.Put(key, value); counted(name, key) {
				digest ^= entrySum(name, key, value)
			}
		}
		if err != nil {
			return 0, fmt.Errorf("write to %s: %w", bucket, err)
		}
	}
	meta := tx.Bucket([]byte(bucketMeta))
	return digest, meta.Put([]byte(keyDigest), digestValue(int(c.number()), digest))
}

// cutField takes a field with its length off the front; more is what the length counts
// beside the bytes. A length of 0 is an empty field always.
func cutField(b []byte, more uint64) (field, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return nil, nil, false
	}
	n -= min(n, more)
	if b = b[size:]; n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

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
func (b *backups) follow(at commitState, apply func(*commitRecord) error) (n int, err error) {
	take := func(c *commitRecord) error {
		if c.number() != at.transaction+1 || c.before() != at.sum {
			return nil
		}
		if apply != nil {
			if err := apply(c); err != nil {
				return err
			}
		}
		at = commitState{c.number(), c.after()}
		n++
		return nil
	}
	list := b.numbered(logSuffix)
	for i := len(list) - 1; i >= 0; i-- { // oldest first
		err := readLog(b.logPath(list[i]), func() uint64 { return at.transaction }, take)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n, fmt.Errorf("log of commits %d: %w", list[i], err)
		}
	}
	return n, nil
}

// readLog gives the sound records of a part whose number is above known, until the file
// ends or makes no sense any more.
func readLog(path string, known func() uint64, take func(*commitRecord) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var c commitRecord
	for at := int64(0); at+recordHead <= info.Size(); at += int64(len(c.buf)) {
		c.buf = append(c.buf[:0], make([]byte, recordHead)...)
		if _, err := f.ReadAt(c.buf, at); err != nil {
			return err
		}
		size := recordSums + int64(binary.BigEndian.Uint32(c.buf))
		if size < recordHead || at+size > info.Size() {
			return nil // torn
		}
		if c.number() <= known() {
			at += size - recordHead
			continue
		}
		c.buf = append(c.buf, make([]byte, size-recordHead)...)
		if _, err := f.ReadAt(c.buf[recordHead:], at+recordHead); err != nil {
			return err
		}
		if !c.sound() {
			return nil
		}
		if err := take(&c); err != nil {
			return err
		}
	}
	return nil
}

// commitState is what a store holds: the number of its last commit, and the digest of it all.
type commitState struct {
	transaction uint64
	sum         uint64
}
