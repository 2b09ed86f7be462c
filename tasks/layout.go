package tasks

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// The buckets of the file. Records come first, then indexes. An index entry is
// a key without a value wherever the key says it all, so that keeping it in
// step is putting or deleting a key, and asking it is looking for a prefix.
//
// A number in a key is 8 bytes, big-endian, so that
// keys sort as numbers; a name in a key ends with a zero byte, which no name
// holds, so that the keys of one name stand together.
const (
	bucketMeta     = "meta"     // format and the counters of txn.go
	bucketTasks    = "tasks"    // id -> taskRecord
	bucketProposed = "proposed" // id -> taskRecord that waits for Confirm; in no index
	bucketMembers  = "members"  // name -> Member
	bucketValues   = "values"   // key -> valueRecord
	bucketMail     = "mail"     // name, seq -> messageRecord, unread only
	bucketOutbox   = "outbox"   // event id -> eventRecord
	bucketReceipts = "receipts" // name, call id, op -> receipt number and receiptRecord
	bucketLost     = "lost"     // name, task -> lossRecord
	bucketVerdicts = "verdicts" // subject, tree, gate -> verdictRecord
	bucketMerges   = "merges"   // id -> Merge
	bucketRequests = "requests" // id -> requestRecord
	bucketNotes    = "notes"    // receiver, sender -> Note

	// The indexes: they say nothing that does not follow from the above.
	bucketReady    = "ready"      // id of each task that anybody may claim
	bucketOwner    = "owner"      // owner, id of each open task that has one
	bucketProgress = "progress"   // owner, id of each task in progress
	bucketDeps     = "deps"       // blocker, dependent
	bucketWaits    = "waits"      // dependent, blocker that is not completed
	bucketMailID   = "mailid"     // name, message id -> seq
	bucketUnread   = "unread"     // name -> number of unread messages
	bucketCalls    = "calls"      // name, receipt number -> key in bucketReceipts
	bucketRefs     = "references" // file of a payload, bucket and key of a record that needs it
	bucketJudged   = "judged"     // number of each verdict, by age -> key in bucketVerdicts
	bucketOpen     = "open"       // name, id of each open request about that member
	bucketClosed   = "closed"     // number of each closed request -> id
	bucketAsked    = "asked"      // name, kind, key -> id of the newest request with that key
)

// bucketNames lists all of them.
func bucketNames() []string {
	return []string{
		bucketMeta, bucketTasks, bucketProposed, bucketMembers, bucketValues, bucketMail,
		bucketOutbox, bucketReceipts, bucketReady, bucketOwner, bucketProgress, bucketDeps,
		bucketWaits, bucketMailID, bucketUnread, bucketCalls, bucketRefs,
		bucketVerdicts, bucketMerges, bucketJudged, bucketNotes,
		bucketRequests, bucketOpen, bucketClosed, bucketAsked, bucketLost,
	}
}

// numKey is the key of a number.
func numKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// pairKey is the key of two numbers.
func pairKey(a, b uint64) []byte { return binary.BigEndian.AppendUint64(numKey(a), b) }

// nameKey is the key of a name and what follows it.
func nameKey(name string, rest ...byte) []byte {
	k := make([]byte, 0, len(name)+1+len(rest))
	return append(append(append(k, name...), 0), rest...)
}

// nameNumKey is the key of a name and a number.
func nameNumKey(name string, n uint64) []byte { return nameKey(name, numKey(n)...) }

// lastNum reads the number that a key ends with; 0 when the key is too short.
func lastNum(key []byte) uint64 {
	if len(key) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key[len(key)-8:])
}

// splitName takes the name off a key; ok is false when there is none.
func splitName(key []byte) (name string, rest []byte, ok bool) {
	i := bytes.IndexByte(key, 0)
	if i < 0 {
		return "", nil, false
	}
	return string(key[:i]), key[i+1:], true
}

// parseID reads a task's id: a decimal number from 1 without leading zeros,
// so that each task has one spelling.
func parseID(id string) (uint64, bool) {
	n, err := strconv.ParseUint(id, 10, 64)
	return n, err == nil && n > 0 && formatID(n) == id
}

func formatID(n uint64) string { return strconv.FormatUint(n, 10) }

// each calls f for the keys of a bucket that start with prefix, in order,
// until f gives false. f must not change the bucket.
func each(b bucket, prefix []byte, f func(key, value []byte) bool) {
	c := b.Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if !f(k, v) {
			return
		}
	}
}

// anyKey says whether a bucket holds a key that starts with prefix.
func anyKey(b bucket, prefix []byte) bool {
	k, _ := b.Cursor().Seek(prefix)
	return k != nil && bytes.HasPrefix(k, prefix)
}

// suffixes gives the numbers that the keys with this prefix end with, in
// order, at most limit of them; 0 means all.
func suffixes(b bucket, prefix []byte, limit int) []uint64 {
	var list []uint64
	each(b, prefix, func(k, _ []byte) bool {
		list = append(list, lastNum(k))
		return limit == 0 || len(list) < limit
	})
	return list
}

// formatIDs writes numbers as task ids.
func formatIDs(numbers []uint64) []string {
	ids := make([]string, len(numbers))
	for i, n := range numbers {
		ids[i] = formatID(n)
	}
	return ids
}
