package store

import (
	"encoding/binary"
	"slices"
	"sync"
)

// maxChanges is how many changes are remembered at least.
const maxChanges = 8192

// changes remembers which records of Options.Followed the last commits changed, so that
// who has read all of them needs to read only those again.
type changes struct {
	mu     sync.Mutex
	forgot uint64   // the last commit of which changes were dropped
	list   []change // in the order of commits
}

// change names the commit that changed a record.
type change struct{ commit, number uint64 }

// add remembers the changes of a transaction. It is called before the transaction is
// committed: who sees its writes then also finds them here. If the commit fails, the list has
// records that did not change, which are read in vain.
func (c *changes) add(commit uint64, numbers []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range numbers {
		c.list = append(c.list, change{commit, n})
	}
	if drop := len(c.list) - maxChanges; drop > maxChanges {
		c.forgot = max(c.forgot, c.list[drop-1].commit)
		c.list = slices.Clone(c.list[drop:])
	}
}

// between returns the numbers of the records that changed after one commit and up to
// another. It is not ok if changes since then are forgotten.
func (c *changes) between(after, last uint64) (numbers []uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if after < c.forgot {
		return nil, false
	}
	for i := len(c.list) - 1; i >= 0 && c.list[i].commit > after; i-- {
		if c.list[i].commit <= last {
			numbers = append(numbers, c.list[i].number)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), true
}

// Changed returns the numbers of the records of Options.Followed that were changed since an
// earlier transaction, in order, and now, which identifies the transaction of r for later
// calls. It is not ok if that is not known any more; a since of 0 never is.
func (db *DB) Changed(r Reader, since uint64) (numbers []uint64, now uint64, ok bool) {
	now = uint64(r.tx.ID())
	numbers, ok = db.changes.between(since, now)
	return numbers, now, ok
}

// follow notes that a write changes a record of Options.Followed.
func (t *Tx) follow(bucket string, key []byte) {
	if slices.Contains(t.db.opts.Followed, bucket) {
		t.changed = append(t.changed, binary.BigEndian.Uint64(key))
	}
}
