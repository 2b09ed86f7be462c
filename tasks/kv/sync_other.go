//go:build !unix

package kv

// unsyncable says whether err only means that folders cannot be synced here:
// where there is no Unix they never can.
func unsyncable(error) bool { return true }
