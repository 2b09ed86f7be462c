package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Each value is stored with a checksum of its bucket, its key and itself. The digest
// of the whole store is compared only when the store is opened; the checksum is
// compared each time an entry is read, so an entry that is damaged while the team
// runs does not spread to a changed record, the outbox, a backup or the log of
// commits.

// sealSize is the length of the checksum at the end of each stored value.
const sealSize = 4

// sumOf returns the checksum of an entry.
func sumOf(bucket string, key, value []byte) uint32 {
	sum := crc32.Update(0, castagnoli, []byte(bucket))
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, value)
}

// seal returns a value as it is stored. The two entries that the digest does not
// count have no checksum: the format must be readable in all formats, and the digest
// is compared with the one of the last commit.
func seal(bucket string, key, value []byte) []byte {
	if !counted(bucket, key) {
		return value
	}
	stored := make([]byte, 0, len(value)+sealSize)
	return binary.BigEndian.AppendUint32(append(stored, value...), sumOf(bucket, key, value))
}

// unseal returns the value of a stored entry. It panics with damage if the checksum
// does not match; readers and the committer turn that into an error.
func unseal(bucket string, key, stored []byte) []byte {
	if !counted(bucket, key) {
		return stored
	}
	n := len(stored) - sealSize
	if n < 0 || binary.BigEndian.Uint32(stored[n:]) != sumOf(bucket, key, stored[:n]) {
		panic(damage{bucket: bucket, key: bytes.Clone(key)})
	}
	return stored[:n:n]
}

// damage is the panic value for an entry with a wrong checksum.
type damage struct {
	bucket string
	key    []byte
	about  string // the entry, for people; set when the panic is recovered
}

// Error names the entry in words for people, who do not know buckets.
func (d damage) Error() string {
	return fmt.Sprintf("%v: %s has a wrong checksum; open the store again to restore it from its last backup",
		ErrCorrupt, d.about)
}

// Unwrap returns ErrCorrupt.
func (d damage) Unwrap() error { return ErrCorrupt }

// recovered turns a panic while the store was read or written into an error: a
// damaged entry or page, or a file that became shorter under its mapping.
func (db *DB) recovered(doing string, r any) error {
	if d, ok := r.(damage); ok {
		d.about = cmp.Or(db.opts.Describe(d.bucket, d.key), fmt.Sprintf("an entry of %s (%.40q)", d.bucket, d.key))
		return d
	}
	return fmt.Errorf("%w: %s: %v", ErrCorrupt, doing, r)
}
