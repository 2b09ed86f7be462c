// Package merging merges the work of members into its target branch. It is internal to
// covey: other programs must not rely on it.
//
// A member works on its own branch. When it completes a task, the Merger of the team
// calls Harvest, which records the member's work as a branch and a tasks.Merge, and
// Queue merges one after another. The gates judge the merged state in a working copy
// that nobody works in. Only exactly what they passed moves the branch, by
// compare-and-set. What cannot be merged goes back to its author as a task.
//
// A verdict of a gate belongs to a tree (Book), and a gate runs the scripts of the
// commit that the work began from, so that no member can edit its own gate.
//
// All durable state is in the store and in git: a kill -9 can interrupt every step, and
// Recover restores the state by asking git what a branch contains. The operator's files
// change in one way only: fast-forward, and never over uncommitted changes
// (worktree.Repo.Advance).
//
// ReadReview and ReadDiff show the work of a team, which need not run.
package merging
