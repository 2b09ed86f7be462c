// Package requests keeps what members cannot decide by themselves and what was decided
// for them: each request from the moment it is made until long after it was answered,
// and the verdicts of gates on trees of files.
//
// It is part of package tasks, and makes no promise of compatibility to programs
// outside covey.
package requests

import "errors"

// The buckets of this package.
const (
	requestsBucket = "requests" // id -> Record
	openBucket     = "open"     // name, id of each open request about that member
	closedBucket   = "closed"   // number of each closed request -> id
	askedBucket    = "asked"    // name, kind, key -> id of the newest request with that key

	verdictsBucket = "verdicts" // subject, tree, gate -> verdictRecord
	judgedBucket   = "judged"   // number of each verdict, by age -> key in verdictsBucket
)

// Buckets returns the names of the buckets.
func Buckets() []string {
	return []string{requestsBucket, openBucket, closedBucket, askedBucket, verdictsBucket, judgedBucket}
}

var (
	// ErrAnswered: an answer to a request that was already answered.
	ErrAnswered = errors.New("already answered")
	// ErrNotAsked: an answer to a request by a member that was not asked.
	ErrNotAsked = errors.New("not yours to answer")
)
