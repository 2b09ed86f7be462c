// Package merging brings the work of members into the branch that it is for.
//
// A member works on a branch of its own. When a task of its is done, Harvest takes
// down what it has made as a branch and a tasks.Merge; Queue merges one after
// another: in a working copy of its own, which nobody works in, its gates are asked
// about the merged state, and only what they agreed to, exactly as it stands, moves
// the branch, by compare-and-set. What cannot be merged goes back to its author as
// a task.
//
// A verdict of a gate belongs to a tree (Book), and a gate runs the scripts of the
// commit that work began from, so that nobody can edit its own judge.
//
// All that has to survive is in the store and in git: every step can be cut off by
// kill -9 and is found out again, by Recover and by asking git what a branch holds.
// A person's files are touched in one way only, forward and around whatever is in
// no commit (worktree.Repo.Advance).
package merging
