//go:build !linux

package main

// killChildren does nothing here: which processes are below this one cannot be
// found out without help. They end when they next write to us.
func killChildren() {}

// descends cannot be found out here without help. Then trust that a member
// gives looks like that of a person: on such a system notFromInside refuses
// nobody.
func descends(int, int) bool { return false }
