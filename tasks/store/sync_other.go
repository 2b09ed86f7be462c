//go:build !unix

package store

// unsyncable reports whether err only means that folders cannot be synced here, which
// is always so outside Unix.
func unsyncable(error) bool { return true }
