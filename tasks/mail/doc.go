// Package mail holds what members, the operator and covey send each other: messages until
// they are read, notes about idle members, and the files of messages that are too long to
// be read in one piece.
//
// It is part of package tasks, and makes no promise of compatibility to programs
// outside covey.
package mail

import "errors"

// The buckets of this package.
const (
	MailBucket   = "mail"   // name, seq -> Record, unread only
	NotesBucket  = "notes"  // receiver, sender -> Note
	idBucket     = "mailid" // name, message id -> seq
	UnreadBucket = "unread" // name -> number of unread messages
)

// Buckets returns the names of the buckets.
func Buckets() []string { return []string{MailBucket, NotesBucket, idBucket, UnreadBucket} }

// ErrFull: a message to a member with too many unread messages, or a request about
// a member with too many open ones.
var ErrFull = errors.New("mailbox full")
