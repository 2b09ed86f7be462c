// Package store keeps records in one bbolt file and answers a change only after it
// is on the disk.
//
// One goroutine, the committer, receives changes from a channel and puts all that
// wait into one transaction. A value is stored with a checksum, and a digest covers
// all entries, so that damage is found when an entry is read. Long texts are moved to
// files next to the store before their change is queued. The file is checked before
// bbolt maps it, and watched while it is open.
//
// The package does not know what the records mean. It is part of package tasks and
// makes no promise of compatibility to programs outside covey.
package store
