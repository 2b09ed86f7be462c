package kv

import (
	"fmt"
	"hash/crc32"

	bolt "go.etcd.io/bbolt"
)

// The digest tells whether the store holds what was committed, bit by bit. bbolt has
// a checksum for its two meta pages only, and a flipped bit in a text is valid JSON
// more often than not. Each entry has a hash, and the digest is all of them combined
// by exclusive or: so it follows each write at the cost of one look-up, and reading
// all entries once gives it again. It is for accidents, not for attackers.
//
// Beside it stands the number of the transaction that wrote it, which the meta page has as
// well: or a disk that forgot its last writes could show an older state, whole and sound.

// keyDigest is the digest's key in bucketMeta; it and the format are no part of it.
const keyDigest = "digest"

// digestSize is how long the value is.
const digestSize = 16

// digestValue is the digest as it is stored by a transaction.
func digestValue(transaction int, sum uint64) []byte { return PairKey(uint64(transaction), sum) }

// castagnoli has its own instruction on the machines that we know.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entrySum is the hash of one entry. The two checksums go through a mixer, because
// checksums alone are linear: two entries that swapped values would cancel out.
func entrySum(bucket string, key, value []byte) uint64 {
	where := crc32.Update(crc32.ChecksumIEEE([]byte(bucket)), castagnoli, key)
	x := uint64(where)<<32 | uint64(crc32.Checksum(value, castagnoli))
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// counted says whether an entry is part of the digest.
func counted(bucket string, key []byte) bool {
	return bucket != bucketMeta || string(key) != keyDigest && string(key) != keyFormat
}

// account keeps the digest in step with a write of a sealed value. A nil value is none.
func (t *Tx) account(bucket string, key, value []byte) {
	if !counted(bucket, key) {
		return
	}
	b := t.Bucket(bucket)
	if old := b.bolt.Get(key); old != nil {
		unseal(bucket, key, old) // it panics if that is not what was written
		t.digest ^= entrySum(bucket, key, old)
	}
	if value != nil {
		t.digest ^= entrySum(bucket, key, value)
	}
}

// digestOf reads all entries.
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

// layDigest gives a store of before there were digests its first one.
func layDigest(db *bolt.DB) error {
	has := false
	err := db.View(func(tx *bolt.Tx) error {
		has = len(tx.Bucket([]byte(bucketMeta)).Get([]byte(keyDigest))) == digestSize
		return nil
	})
	if err != nil || has {
		return err
	}
	return db.Update(noteDigest)
}

// noteDigest notes the digest of all that a transaction leaves.
func noteDigest(tx *bolt.Tx) error {
	sum, err := digestOf(tx)
	if err != nil {
		return fmt.Errorf("read what the digest is of: %w", err)
	}
	return tx.Bucket([]byte(bucketMeta)).Put([]byte(keyDigest), digestValue(tx.ID(), sum))
}
