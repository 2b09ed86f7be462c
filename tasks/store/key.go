package store

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// The buckets of this package. The caller names all other buckets in Options.Buckets.
const (
	bucketMeta   = "meta"       // format, identity, digest and counters
	bucketRefs   = "references" // payload file, bucket and key of a record that needs it
	OutboxBucket = "outbox"     // event id -> event; see Tx.Emit
)

// A number in a key is 8 bytes, big-endian, so that keys sort as numbers. A name in a
// key ends with a zero byte, which no name contains, so that the keys of one name are
// adjacent.

// NumKey returns the key of a number.
func NumKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// PairKey returns the key of two numbers.
func PairKey(a, b uint64) []byte { return binary.BigEndian.AppendUint64(NumKey(a), b) }

// NameKey returns the key of a name followed by rest.
func NameKey(name string, rest ...byte) []byte {
	k := make([]byte, 0, len(name)+1+len(rest))
	return append(append(append(k, name...), 0), rest...)
}

// NameNumKey returns the key of a name and a number.
func NameNumKey(name string, n uint64) []byte { return NameKey(name, NumKey(n)...) }

// LastNum returns the number at the end of a key, or 0 if the key is too short.
func LastNum(key []byte) uint64 {
	if len(key) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key[len(key)-8:])
}

// SplitName splits the name off a key; ok is false if there is none.
func SplitName(key []byte) (name string, rest []byte, ok bool) {
	before, after, ok := bytes.Cut(key, []byte{0})
	if !ok {
		return "", nil, false
	}
	return string(before), after, true
}

// ParseID parses an id: a decimal number from 1 without leading zeros, so that each
// record has one spelling.
func ParseID(id string) (uint64, bool) {
	n, err := strconv.ParseUint(id, 10, 64)
	return n, err == nil && n > 0 && FormatID(n) == id
}

// FormatID formats a number as an id.
func FormatID(n uint64) string { return strconv.FormatUint(n, 10) }

// FormatIDs formats numbers as ids.
func FormatIDs(numbers []uint64) []string {
	ids := make([]string, len(numbers))
	for i, n := range numbers {
		ids[i] = FormatID(n)
	}
	return ids
}
