// Package requests keeps what members cannot decide by themselves: each request from
// the moment it is asked until long after it was answered.
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
)

// Buckets lists them.
func Buckets() []string { return []string{requestsBucket, openBucket, closedBucket, askedBucket} }

var (
	// ErrAnswered: an answer to a request that has one.
	ErrAnswered = errors.New("already answered")
	// ErrNotAsked: an answer to a request by somebody to whom it was not put.
	ErrNotAsked = errors.New("not yours to answer")
)
