// Package trust knows what the user has trusted: whether what a spec would run, and what its workspace
// brings, may run. It reads and writes trust.json, compares what would run with it, and keeps others from
// changing it behind a running team. It is covey's own and makes no promise to other programs.
package trust
