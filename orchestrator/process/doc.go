// Package process tells whose process calls the team: the operator's, a member's tool's, a
// hook's, or nobody's (DESIGN 10). The kernel says where a process stands in the tree, and
// Processes knows which process was started for whom; what the caller says of itself does
// not count. Orphans are reaped here, and what a run that was killed has left is ended.
//
// The package makes no promise of compatibility to programs outside covey.
package process
