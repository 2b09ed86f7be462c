// Package process determines which process calls the team: one of the operator, of a
// member's tool, of a hook, or a stray one (see docs/security.md). The kernel gives the position
// of a process in the tree, and Processes knows which process was started for which
// owner; what the caller claims does not count. The package also reaps orphans, and
// kills what a killed run left behind.
//
// It makes no promise of compatibility to programs outside covey.
package process
