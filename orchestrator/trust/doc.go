// Package trust decides whether what a spec and its workspace would run is trusted by
// the user. It lists what a team would run, reads and writes trust.json, compares the two,
// and keeps other processes from changing trust.json while a team runs. It is internal to
// covey: other programs must not rely on it.
//
// The list of what would run must be complete, and the same for the same files, because
// the user's trust in a workspace depends on it.
package trust
