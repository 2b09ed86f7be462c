// Package workcopies gives the members of a team their own working copies: it creates them
// when a member gets its seat, sets them up before its first turn, shows their state,
// and removes those that hold no unmerged work. It is internal to covey: other programs
// must not rely on it.
//
// A copy is a clone that borrows the objects of the workspace's repository (worktree.Base), so that
// a member has branches, settings and hooks of its own. Its folder is the source of truth. The store
// holds the rest: the copies that hooks created, and which branches are the team's.
package workcopies
