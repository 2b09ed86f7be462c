package kv

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"

	bolt "go.etcd.io/bbolt"
)

// Sizes in a record: length and checksum of what follows, then the commit's number and
// the digests before and after it, 8 bytes each; then its entries.
const (
	recordSums = 8
	recordHead = recordSums + 3*8
)

// Commit is the record of one commit, on its way into the log or out of it. The committer has
// one and uses it again and again.
type Commit struct {
	buf []byte
}

// begin starts the record of a transaction on a store with that digest.
func (c *Commit) begin(transaction int, before uint64) {
	const most = 1 << 20 // of what is kept for the next one
	if cap(c.buf) > most {
		c.buf = nil
	}
	c.buf = append(c.buf[:0], make([]byte, recordHead)...)
	binary.BigEndian.PutUint64(c.buf[recordSums:], uint64(transaction))
	binary.BigEndian.PutUint64(c.buf[recordSums+8:], before)
}

// entry notes a write. A nil value stands for a key that is deleted.
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

// end gives the whole record, good until the next begin.
func (c *Commit) end(after uint64) []byte {
	binary.BigEndian.PutUint64(c.buf[recordSums+16:], after)
	binary.BigEndian.PutUint32(c.buf, uint32(len(c.buf)-recordSums))
	binary.BigEndian.PutUint32(c.buf[4:], crc32.Checksum(c.buf[recordSums:], castagnoli))
	return c.buf
}

// Number is the number of the commit.
func (c *Commit) Number() uint64 { return binary.BigEndian.Uint64(c.buf[recordSums:]) }

// Before is the digest of the store before the commit.
func (c *Commit) Before() uint64 { return binary.BigEndian.Uint64(c.buf[recordSums+8:]) }

// After is the digest of the store after the commit.
func (c *Commit) After() uint64 { return binary.BigEndian.Uint64(c.buf[recordSums+16:]) }

// sound says whether the record is what was written.
func (c *Commit) sound() bool {
	return binary.BigEndian.Uint32(c.buf[4:]) == crc32.Checksum(c.buf[recordSums:], castagnoli)
}

// errRecord: a record that is sound and cannot be read was written by another covey.
var errRecord = fmt.Errorf("%w: a record in its log of commits cannot be read", ErrCorrupt)

// Apply makes the commit's writes again on a store with that digest, and gives the new
// one. It is counted anew: a store that was damaged when the commit was made may have
// noted another one, and the writes are right all the same.
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

// ReadLog gives the sound records of a part whose number is above known, until the file
// ends or makes no sense any more.
func ReadLog(path string, known func() uint64, take func(*Commit) error) error {
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
		if err := take(&c); err != nil {
			return err
		}
	}
	return nil
}

// State is what a store holds: the number of its last commit, and the digest of it all.
type State struct {
	Transaction uint64
	Sum         uint64
}
