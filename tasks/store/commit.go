package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"

	bolt "go.etcd.io/bbolt"
)

// The layout of a record, in bytes: the length and the checksum of the rest; the
// commit's number and the digests before and after it, 8 bytes each; its entries.
const (
	recordSums = 8
	recordHead = recordSums + 3*8
)

// Commit is the record of one commit, to be written to the log or read from it. The
// committer reuses a single one.
type Commit struct {
	buf []byte
}

// begin starts the record of a transaction on a store with that digest.
func (c *Commit) begin(transaction int, before uint64) {
	const most = 64 << 10 // the largest buffer that is kept
	if cap(c.buf) > most {
		c.buf = nil
	}
	c.buf = append(c.buf[:0], make([]byte, recordHead)...)
	binary.BigEndian.PutUint64(c.buf[recordSums:], uint64(transaction))
	binary.BigEndian.PutUint64(c.buf[recordSums+8:], before)
}

// entry adds a write. A nil value means that the key is deleted.
func (c *Commit) entry(bucket string, key, value []byte) {
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

// end returns the whole record, which is valid until the next begin.
func (c *Commit) end(after uint64) []byte {
	binary.BigEndian.PutUint64(c.buf[recordSums+16:], after)
	binary.BigEndian.PutUint32(c.buf, uint32(len(c.buf)-recordSums))
	binary.BigEndian.PutUint32(c.buf[4:], crc32.Checksum(c.buf[recordSums:], castagnoli))
	return c.buf
}

// Number returns the number of the commit.
func (c *Commit) Number() uint64 { return binary.BigEndian.Uint64(c.buf[recordSums:]) }

// Before returns the digest of the store before the commit.
func (c *Commit) Before() uint64 { return binary.BigEndian.Uint64(c.buf[recordSums+8:]) }

// After returns the digest of the store after the commit.
func (c *Commit) After() uint64 { return binary.BigEndian.Uint64(c.buf[recordSums+16:]) }

// sound reports whether the checksum matches.
func (c *Commit) sound() bool {
	return binary.BigEndian.Uint32(c.buf[4:]) == crc32.Checksum(c.buf[recordSums:], castagnoli)
}

// errRecord: a record has a valid checksum but an unknown layout.
var errRecord = fmt.Errorf("%w: a record in its log of commits cannot be read", ErrCorrupt)

// Apply repeats the commit's writes on a store with the given digest, and returns the
// new digest. It computes the digest instead of taking the record's: if the store was
// damaged when the commit was made, that one is wrong although the writes are right.
func (c *Commit) Apply(tx *bolt.Tx, digest uint64) (uint64, error) {
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
	return digest, meta.Put([]byte(keyDigest), digestValue(int(c.Number()), digest))
}

// cutField cuts a field with its length prefix off the front; extra is what the
// length counts in addition to the bytes. A length of 0 is always an empty field.
func cutField(b []byte, extra uint64) (field, rest []byte, ok bool) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return nil, nil, false
	}
	n -= min(n, extra)
	if b = b[size:]; n > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:n], b[n:], true
}

// ReadLog calls apply for the sound records of a log file whose number is above
// known(). It stops at the end of the file or at the first record that is not sound.
func ReadLog(path string, known func() uint64, apply func(*Commit) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var c Commit
	for at := int64(0); at+recordHead <= info.Size(); at += int64(len(c.buf)) {
		c.buf = append(c.buf[:0], make([]byte, recordHead)...)
		if _, err := f.ReadAt(c.buf, at); err != nil {
			return err
		}
		size := recordSums + int64(binary.BigEndian.Uint32(c.buf))
		if size < recordHead || at+size > info.Size() {
			return nil // torn
		}
		if c.Number() <= known() {
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
		if err := apply(&c); err != nil {
			return err
		}
	}
	return nil
}

// State identifies the content of a store: the number of its last commit, and its
// digest.
type State struct {
	Transaction uint64
	Sum         uint64
}
