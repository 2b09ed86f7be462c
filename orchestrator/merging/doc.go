// Package merging brings the work of members into the branch that it is for. It is covey's
// own and makes no promise to other programs.
//
// A member works on a branch of its own. When one of its tasks is completed, the Desk of
// the team has Harvest take down what the member has made, as a branch and a tasks.Merge,
// and Queue merges one after another. The gates are asked about the merged state, in a
// working copy that nobody works in. Only what they agreed to, exactly as it stands,
// moves the branch, by compare-and-set. What cannot be merged goes back to its author as
// a task.
//
// A verdict of a gate belongs to a tree (Book), and a gate runs the scripts of the
// commit that the work began from, so that nobody can edit its own judge.
//
// All that has to survive is in the store and in git: every step can be cut off by
// kill -9 and is found out again, by Recover and by asking git what a branch holds.
// The operator's files are touched in one way only, forward and around whatever is in
// no commit (worktree.Repo.Advance).
//
// ReadReview and ReadDiff show the work of a team that need not run.
package merging
