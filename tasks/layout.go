package tasks

import (
	"fmt"
	"slices"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/tasks/store"
)

// The buckets of this package: records first, then indexes. An index entry is a key
// without a value wherever the key says everything, so updating an index is putting
// or deleting a key, and reading it is a prefix search.
const (
	bucketTasks    = "tasks"    // id -> taskRecord
	bucketProposed = "proposed" // id -> taskRecord that waits for Confirm; in no index
	bucketValues   = "values"   // key -> valueRecord
	bucketLost     = "lost"     // name, task -> lossRecord
	bucketMerges   = "merges"   // id -> Merge

	// The indexes hold nothing that does not follow from the records.
	bucketReady    = "ready"    // id of each task that any member may claim
	bucketOwner    = "owner"    // owner, id of each open task that has one
	bucketProgress = "progress" // owner, id of each task in progress
	bucketDeps     = "deps"     // blocker, dependent
	bucketWaits    = "waits"    // dependent, blocker that is not completed
)

// bucketNames lists the buckets of the store.
func bucketNames() []string {
	return slices.Concat([]string{
		bucketTasks, bucketProposed, bucketValues, bucketLost, bucketMerges,
		bucketReady, bucketOwner, bucketProgress, bucketDeps, bucketWaits,
		actors.MembersBucket, actors.ReceiptsBucket, actors.CallsBucket,
	}, mail.Buckets(), requests.Buckets())
}

// indexNames lists the indexes that a check compares with the records.
func indexNames() []string {
	return slices.Concat([]string{
		bucketReady, bucketOwner, bucketProgress, bucketDeps, bucketWaits, actors.CallsBucket,
	}, mail.Indexes(), requests.Indexes())
}

// describe names an entry for readers who know tasks and members but not buckets.
func describe(bucket string, key []byte) string {
	name, _, named := store.SplitName(key)
	switch {
	case bucket == bucketTasks || bucket == bucketProposed:
		return fmt.Sprintf("task %d", store.LastNum(key))
	case bucket == store.OutboxBucket:
		return fmt.Sprintf("event %d", store.LastNum(key))
	case bucket == mail.MailBucket && named:
		return "a message to " + store.Clip(name)
	case bucket == actors.MembersBucket:
		return "the session of " + store.Clip(string(key))
	}
	return ""
}
