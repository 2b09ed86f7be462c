package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// maxFaults is where a check stops listing: a store with more is damaged as a whole.
const maxFaults = 100

// Checker collects what is wrong with a store, and what its indexes ought to
// hold.
type Checker struct {
	Reader
	faults []error
	want   map[string]map[string]bool // index bucket -> keys
	lost   map[string]int64           // payload files that are missing: their sizes by name
}

// A Walk looks at some of the records.
type Walk func(*Checker)

// Check walks everything that is stored: the walks look at the records, and then
// the indexes are compared with what they have noted. All that is wrong is joined
// into one error that is ErrCorrupt.
func (db *DB) Check(ctx context.Context, indexes []string, walks ...Walk) error {
	var faults []error
	err := db.View(ctx, func(r Reader) error {
		c := &Checker{Reader: r, want: map[string]map[string]bool{}, lost: map[string]int64{}}
		err := c.run(db.layout(formatNow).buckets, indexes, walks)
		if faults = c.faults; err == nil && len(c.lost) > 0 {
			return ErrBlobGone // by a commit since this transaction began, or for good: look again
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("check: %w", errors.Join(err, errors.Join(faults...)))
	}
	return errors.Join(faults...)
}

// Replace puts a text that says so in the place of each payload file that is missing,
// and says how many those are: a restored store must not stay shut for a text. No
// change may be made meanwhile.
func (db *DB) Replace(ctx context.Context, indexes []string, walks ...Walk) (int, error) {
	lost := map[string]int64{}
	err := db.Read(func(tx *bolt.Tx) error {
		c := &Checker{
			Reader: Reader{tx: tx, blobs: db.opts.Blobs, stop: ctx.Err}, want: map[string]map[string]bool{}, lost: lost,
		}
		return c.run(db.layout(formatNow).buckets, indexes, walks)
	})
	for name, size := range lost {
		err = errors.Join(err, db.opts.Blobs.standIn(name, size))
	}
	return len(lost), err
}

// run walks everything. The indexes come when all has been noted.
func (c *Checker) run(buckets, indexes []string, walks []Walk) error {
	for _, name := range buckets {
		if c.Bucket(name).bolt == nil {
			c.Fault("bucket %s is missing", name)
			return nil
		}
	}
	c.strangers(buckets)
	c.checkDigest()
	for _, walk := range walks {
		if err := c.Stopped(0); err != nil {
			return err
		}
		walk(c)
	}
	for _, bucket := range append(slices.Clone(indexes), bucketRefs) {
		c.checkIndex(bucket)
	}
	return nil
}

// Fault notes one thing that is wrong, as an error that is ErrCorrupt.
func (c *Checker) Fault(format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, fmt.Errorf("%w: "+format, slices.Concat([]any{ErrCorrupt}, args)...))
	}
}

// Note says that an index must hold a key.
func (c *Checker) Note(bucket string, key []byte) {
	if c.want[bucket] == nil {
		c.want[bucket] = map[string]bool{}
	}
	c.want[bucket][string(key)] = true
}

// Needs notes the payload files of a record.
func (c *Checker) Needs(p Place, refs []BlobRef) {
	for _, ref := range refs {
		c.Note(bucketRefs, NameKey(ref.Name, p.owner()...))
		if err := c.blobs.check(ref); err != nil {
			if errors.Is(err, ErrBlobGone) {
				c.lost[ref.Name] = ref.Size
			}
			c.Fault("%v", err)
		}
	}
}

// SameKey reports a record that stands under another key than its own.
func (c *Checker) SameKey(what string, have, want []byte) {
	if !bytes.Equal(have, want) {
		c.Fault("%s stands under key %q instead of %q", what, have, want)
	}
}

// CheckAll decodes the records of a bucket and shows each to look. The name of a record in
// errors is what and its key, as format has it.
func CheckAll[R any](c *Checker, bucket, format string, look func(key []byte, r *R)) {
	c.Bucket(bucket).Each(nil, func(k, v []byte) bool {
		if r, err := Decode[R](fmt.Sprintf(format, k), v); err != nil {
			c.Fault("%v", err)
		} else {
			look(k, r)
		}
		return true
	})
}

// strangers looks for buckets that are not ours.
func (c *Checker) strangers(known []string) {
	err := c.tx.ForEach(func(name []byte, _ *bolt.Bucket) error {
		if !slices.Contains(known, string(name)) {
			c.Fault("unknown bucket %q", name)
		}
		return nil
	})
	if err != nil {
		c.Fault("list of buckets: %v", err)
	}
}

// checkDigest compares the digest with what is there.
func (c *Checker) checkDigest() {
	want := c.Bucket(bucketMeta).Get([]byte(keyDigest))
	if len(want) != digestSize {
		return // an older store that was only read so far
	}
	have, err := digestOf(c.tx)
	if found := digestValue(c.tx.ID(), have); err != nil || !bytes.Equal(found, want) {
		c.Fault("its content is not what was committed: digest %x, noted as %x (%v)", found, want, err)
	}
}

// checkIndex compares an index with what was noted for it.
func (c *Checker) checkIndex(bucket string) {
	want := c.want[bucket]
	found := 0
	c.Bucket(bucket).Each(nil, func(k, _ []byte) bool {
		if want[string(k)] {
			found++
		} else {
			c.Fault("index %s holds %q, which nothing backs", bucket, k)
		}
		return true
	})
	if found == len(want) {
		return
	}
	for key := range want {
		if c.Bucket(bucket).Get([]byte(key)) == nil {
			c.Fault("index %s lacks %q", bucket, key)
		}
	}
}
