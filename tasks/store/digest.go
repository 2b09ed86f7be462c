package store

import (
	"fmt"
	"hash/crc32"

	bolt "go.etcd.io/bbolt"
)

// The digest shows whether the store holds exactly what was committed. bbolt has a
// checksum for its two meta pages only, and a text with a flipped bit is often still
// valid JSON. Each entry has a hash, and the digest combines all of them by exclusive
// or: so each write updates it at the cost of one look-up, and reading all entries
// once recomputes it. It protects against accidents, not against attackers.
//
// It is stored with the number of the transaction that wrote it, which the meta page
// holds as well: otherwise a disk that lost its last writes could show an older,
// consistent state.

// keyDigest is the digest's key in bucketMeta. It and the format are not part of the
// digest.
const keyDigest = "digest"

// digestValue returns the value that a transaction stores for the digest.
func digestValue(transaction int, sum uint64) []byte { return PairKey(uint64(transaction), sum) }

// castagnoli is computed by a single instruction on amd64 and arm64.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entrySum returns the hash of one entry. The two checksums pass through a mixer,
// because checksums alone are linear: two entries that swapped values would cancel
// out.
func entrySum(bucket string, key, value []byte) uint64 {
	where := crc32.Update(crc32.ChecksumIEEE([]byte(bucket)), castagnoli, key)
	x := uint64(where)<<32 | uint64(crc32.Checksum(value, castagnoli))
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// counted reports whether an entry is part of the digest.
func counted(bucket string, key []byte) bool {
	return bucket != bucketMeta || string(key) != keyDigest && string(key) != keyFormat
}

// updateDigest updates the digest for a write of a sealed value. A nil value deletes
// the key.
func (t *Tx) updateDigest(bucket string, key, value []byte) {
	if !counted(bucket, key) {
		return
	}
	b := t.Bucket(bucket)
	if old := b.bolt.Get(key); old != nil {
		unseal(bucket, key, old) // panics if the entry is damaged
		t.digest ^= entrySum(bucket, key, old)
	}
	if value != nil {
		t.digest ^= entrySum(bucket, key, value)
	}
}

// digestOf computes the digest of all entries.
func digestOf(tx *bolt.Tx) (uint64, error) {
	var sum uint64
	err := tx.ForEach(func(name []byte, b *bolt.Bucket) error {
		bucket := string(name)
		return b.ForEach(func(k, v []byte) error {
			if counted(bucket, k) {
				sum ^= entrySum(bucket, k, v)
			}
			return nil
		})
	})
	return sum, err
}

// storeDigest stores the digest of the transaction's state.
func storeDigest(tx *bolt.Tx) error {
	sum, err := digestOf(tx)
	if err != nil {
		return fmt.Errorf("compute the digest: %w", err)
	}
	return tx.Bucket([]byte(bucketMeta)).Put([]byte(keyDigest), digestValue(tx.ID(), sum))
}
