package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// maxFaults is the number of faults after which a check stops listing them.
const maxFaults = 100

// Checker collects the faults of a store, and the entries that its indexes must hold.
type Checker struct {
	Reader
	faults []error
	want   map[string]map[string]bool // index bucket -> keys
	lost   map[string]int64           // payload files that are missing: their sizes by name
}

// A Walk checks some of the records.
type Walk func(*Checker)

// Check runs the walks over the records and then compares the indexes with the
// entries that the walks expect. It joins all faults into one error that wraps
// ErrCorrupt.
func (db *DB) Check(ctx context.Context, indexes []string, walks ...Walk) error {
	var faults []error
	err := db.View(ctx, func(r Reader) error {
		c := &Checker{Reader: r, want: map[string]map[string]bool{}, lost: map[string]int64{}}
		err := c.run(db.layout(Format).buckets, indexes, walks)
		if faults = c.faults; err == nil && len(c.lost) > 0 {
			return ErrBlobGone // removed by a newer commit, or lost: View tries again
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("check: %w", errors.Join(err, errors.Join(faults...)))
	}
	return errors.Join(faults...)
}

// Replace writes a placeholder for each missing payload file and returns their
// number, so that a restored store can be opened although a text is lost. No change
// may be made meanwhile.
func (db *DB) Replace(ctx context.Context, indexes []string, walks ...Walk) (int, error) {
	lost := map[string]int64{}
	err := db.Read(func(tx *bolt.Tx) error {
		c := &Checker{
			Reader: Reader{tx: tx, blobs: db.opts.Blobs, stop: ctx.Err}, want: map[string]map[string]bool{}, lost: lost,
		}
		return c.run(db.layout(Format).buckets, indexes, walks)
	})
	for name, size := range lost {
		err = errors.Join(err, db.opts.Blobs.writePlaceholder(name, size))
	}
	return len(lost), err
}

// run checks everything. The indexes come last, when all their entries are known.
func (c *Checker) run(buckets, indexes []string, walks []Walk) error {
	for _, name := range buckets {
		if c.Bucket(name).bolt == nil {
			c.Fault("bucket %s is missing", name)
			return nil
		}
	}
	c.checkBucketNames(buckets)
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

// Fault records one fault, as an error that wraps ErrCorrupt.
func (c *Checker) Fault(format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, fmt.Errorf("%w: "+format, slices.Concat([]any{ErrCorrupt}, args)...))
	}
}

// Expect says that an index must hold a key.
func (c *Checker) Expect(bucket string, key []byte) {
	if c.want[bucket] == nil {
		c.want[bucket] = map[string]bool{}
	}
	c.want[bucket][string(key)] = true
}

// Needs says that a record needs payload files.
func (c *Checker) Needs(p Place, refs []BlobRef) {
	for _, ref := range refs {
		c.Expect(bucketRefs, NameKey(ref.Name, p.owner()...))
		if err := c.blobs.check(ref); err != nil {
			if errors.Is(err, ErrBlobGone) {
				c.lost[ref.Name] = ref.Size
			}
			c.Fault("%v", err)
		}
	}
}

// SameKey reports a record that is stored under a wrong key.
func (c *Checker) SameKey(what string, have, want []byte) {
	if !bytes.Equal(have, want) {
		c.Fault("%s is stored under key %q instead of %q", what, have, want)
	}
}

// CheckAll decodes the records of a bucket and calls check for each. format formats a
// record's key into its name for errors.
func CheckAll[R any](c *Checker, bucket, format string, check func(key []byte, r *R)) {
	for k, v := range c.Bucket(bucket).Each(nil) {
		if r, err := Decode[R](fmt.Sprintf(format, k), v); err != nil {
			c.Fault("%v", err)
		} else {
			check(k, r)
		}
	}
}

// checkBucketNames looks for unknown buckets.
func (c *Checker) checkBucketNames(known []string) {
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

// checkDigest compares the stored digest with the content.
func (c *Checker) checkDigest() {
	want := c.Bucket(bucketMeta).Get([]byte(keyDigest))
	have, err := digestOf(c.tx)
	if found := digestValue(c.tx.ID(), have); err != nil || !bytes.Equal(found, want) {
		c.Fault("its content is not what was committed: digest %x, recorded as %x (%v)", found, want, err)
	}
}

// checkIndex compares an index with the entries that the walks expect.
func (c *Checker) checkIndex(bucket string) {
	want := c.want[bucket]
	found := 0
	for k := range c.Bucket(bucket).Each(nil) {
		if want[string(k)] {
			found++
		} else {
			c.Fault("index %s holds %q, which no record explains", bucket, k)
		}
	}
	if found == len(want) {
		return
	}
	for key := range want {
		if c.Bucket(bucket).Get([]byte(key)) == nil {
			c.Fault("index %s lacks %q", bucket, key)
		}
	}
}
