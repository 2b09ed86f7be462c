// Package trust knows what the user has trusted: whether what a spec would run, and what its workspace
// brings, may run. It lists what a team would run, reads and writes trust.json, compares the two, and keeps
// others from changing it behind a running team. It is covey's own and makes no promise to other programs.
//
// The list of what would run must be complete, and the same for the same files, because the user trusts
// a workspace by it.
package trust
