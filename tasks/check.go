package tasks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// maxFaults is where Check stops listing: a store with more is damaged as a whole.
const maxFaults = 100

// Check walks everything that is stored and reports what breaks an invariant:
//
//   - every record can be read and stands under its own key;
//   - ids and sequence numbers lie below their counters;
//   - a task in progress has an owner, and no task waits for itself;
//   - dependencies exist, and blocks mirrors blockedBy;
//   - the indexes say what the tasks say, no more and no less;
//   - mailboxes, their counts and their ids agree, in order of sending;
//   - every payload file that a record needs is there, whole, and noted;
//   - all of it is what was committed, bit by bit.
//
// All faults are joined into one error that is ErrCorrupt. The walk holds one
// read transaction and keeps the tasks in memory, so it is for tests, doctors
// and starts, not for every turn.
func (s *Store) Check(ctx context.Context) error {
	var faults []error
	err := s.view(ctx, func(r reader) error {
		c := &checker{reader: r, want: map[string]map[string]bool{}}
		err := c.run()
		faults = c.faults
		return err
	})
	if err != nil {
		return fmt.Errorf("check: %w", errors.Join(err, errors.Join(faults...)))
	}
	return errors.Join(faults...)
}

// checker collects what is wrong, and what the indexes ought to hold.
type checker struct {
	reader
	faults []error
	counts counters
	tasks  map[uint64]*taskRecord
	want   map[string]map[string]bool // index bucket -> keys
	gone   bool                       // a payload file is missing
	lost   map[string]int64           // their sizes by name, for who asks; nil: nobody does
}

// run walks everything. The order matters in two places: tasks come before what
// is said about them, and the indexes come when all has been noted.
func (c *checker) run() error {
	for _, name := range bucketNames() {
		if c.bucket(name).Bucket == nil {
			c.fault("bucket %s is missing", name)
			return nil
		}
	}
	c.counts = readCounters(c.bucket(bucketMeta))
	for _, walk := range []func(){
		c.strangers, c.checkDigest, c.readTasks, c.checkTasks, c.checkGraph, c.checkLosses, c.checkMail, c.checkMembers,
		c.checkOutbox, c.checkReceipts, c.checkValues, c.checkVerdicts, c.checkMerges, c.checkRequests, c.checkNotes,
		c.checkIndexes,
	} {
		if c.stop != nil && c.stop() != nil {
			return c.stop()
		}
		walk()
	}
	if c.gone { // by a commit since this transaction began, or for good: look again
		return errBlobGone
	}
	return nil
}

// fault notes one thing that is wrong, as an error that is ErrCorrupt.
func (c *checker) fault(format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, fmt.Errorf("%w: "+format, slices.Concat([]any{ErrCorrupt}, args)...))
	}
}

// note says that an index must hold a key.
func (c *checker) note(bucket string, key []byte) {
	if c.want[bucket] == nil {
		c.want[bucket] = map[string]bool{}
	}
	c.want[bucket][string(key)] = true
}

// needs notes the payload files of a record.
func (c *checker) needs(p place, refs []blobRef) {
	for _, ref := range refs {
		c.note(bucketRefs, nameKey(ref.Name, p.owner()...))
		if err := c.files.check(ref); err != nil {
			c.gone = c.gone || errors.Is(err, errBlobGone)
			if c.lost != nil && errors.Is(err, errBlobGone) {
				c.lost[ref.Name] = ref.Size
			}
			c.fault("%v", err)
		}
	}
}

// strangers looks for buckets that are not ours.
func (c *checker) strangers() {
	known := bucketNames()
	err := c.tx.ForEach(func(name []byte, _ *bolt.Bucket) error {
		if !slices.Contains(known, string(name)) {
			c.fault("unknown bucket %q", name)
		}
		return nil
	})
	if err != nil {
		c.fault("list of buckets: %v", err)
	}
}

// readTasks decodes both task buckets and keeps the confirmed tasks.
func (c *checker) readTasks() {
	c.tasks = map[uint64]*taskRecord{}
	for _, bucket := range []string{bucketTasks, bucketProposed} {
		each(c.bucket(bucket), nil, func(k, v []byte) bool {
			rec, err := decodeTask(fmt.Sprintf("%s %x", bucket, k), v)
			switch {
			case err != nil:
				c.fault("%v", err)
				return true
			case len(k) != 8 || rec.ID != formatID(lastNum(k)):
				c.fault("%s: key %x holds task %q", bucket, k, rec.ID)
				return true
			case lastNum(k) > c.counts.task:
				c.fault("task %s is above the high-water mark %d", rec.ID, c.counts.task)
			case (rec.Status == Proposed) != (bucket == bucketProposed):
				c.fault("task %s with status %s is in bucket %s", rec.ID, rec.Status, bucket)
			}
			c.needs(place{bucket, k}, rec.blobs())
			if bucket == bucketTasks {
				c.tasks[lastNum(k)] = rec
			} else if c.bucket(bucketTasks).Get(k) != nil {
				c.fault("task %s is both proposed and confirmed", rec.ID)
			}
			return true
		})
	}
}

// checkTasks looks at each task and notes what the indexes must say about it.
func (c *checker) checkTasks() {
	for _, n := range slices.Sorted(maps.Keys(c.tasks)) {
		rec := c.tasks[n]
		if !rec.Status.open() && rec.Status != Completed {
			c.fault("task %s has status %q", rec.ID, rec.Status)
		}
		if rec.Status == InProgress && rec.Owner == "" {
			c.fault("task %s is in progress and has no owner", rec.ID)
		}
		if rec.Version == 0 || len(rec.Blocks) > 0 {
			c.fault("task %s is stored with version %d and blocks %v", rec.ID, rec.Version, rec.Blocks)
		}
		if waits := c.checkBlockers(rec); rec.Status == Pending && rec.Owner == "" && !waits {
			c.note(bucketReady, numKey(n))
		}
		if key := rec.ownerKey(); key != nil {
			c.note(bucketOwner, key)
		}
		if key := rec.progressKey(); key != nil {
			c.note(bucketProgress, key)
		}
	}
}

// checkBlockers looks at what a task waits for, and says whether it still does.
func (c *checker) checkBlockers(rec *taskRecord) (waits bool) {
	seen := map[string]bool{}
	for _, id := range rec.BlockedBy {
		b, ok := parseID(id)
		blocker := c.tasks[b]
		if !ok || blocker == nil {
			c.fault("task %s waits for %q, which is no task", rec.ID, id)
			continue
		}
		if seen[id] {
			c.fault("task %s names blocker %s twice", rec.ID, id)
		}
		seen[id] = true
		c.note(bucketDeps, pairKey(b, rec.number()))
		if blocker.Status != Completed {
			waits = true
			c.note(bucketWaits, pairKey(rec.number(), b))
		}
	}
	return waits
}

// checkGraph looks for cycles in the tasks themselves, not in the index that the
// changes rely on.
func (c *checker) checkGraph() {
	order := formatIDs(slices.Sorted(maps.Keys(c.tasks)))
	blockers := func(id string) []string {
		n, _ := parseID(id)
		if rec := c.tasks[n]; rec != nil {
			return rec.BlockedBy
		}
		return nil
	}
	if cycle := acyclic(order, blockers); cycle != nil {
		slices.Reverse(cycle)
		c.fault("%v", cycleError(cycle))
	}
}

// checkIndexes compares each index with what was noted for it.
func (c *checker) checkIndexes() {
	for _, bucket := range []string{
		bucketReady, bucketOwner, bucketProgress, bucketDeps, bucketWaits, bucketMailID, bucketCalls, bucketRefs,
		bucketJudged,
		bucketOpen, bucketClosed,
	} {
		want := c.want[bucket]
		found := 0
		each(c.bucket(bucket), nil, func(k, _ []byte) bool {
			if want[string(k)] {
				found++
			} else {
				c.fault("index %s holds %q, which nothing backs", bucket, k)
			}
			return true
		})
		if found == len(want) {
			continue
		}
		for key := range want {
			if c.bucket(bucket).Get([]byte(key)) == nil {
				c.fault("index %s lacks %q", bucket, key)
			}
		}
	}
}

// sameKey reports a record that stands under another key than its own.
func (c *checker) sameKey(what string, have, want []byte) {
	if !bytes.Equal(have, want) {
		c.fault("%s stands under key %q instead of %q", what, have, want)
	}
}
