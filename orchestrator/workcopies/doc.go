// Package workcopies gives the members of a team their own working copies: it creates them
// when a member gets its seat, sets them up before its first turn, shows their state,
// and removes those that hold no unmerged work. It is internal to covey: other programs
// must not rely on it.
//
// For copies that git created, git is the source of truth. The store holds the rest:
// the copies that hooks created, and which branches are the team's.
package workcopies
