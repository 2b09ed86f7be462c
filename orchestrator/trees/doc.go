// Package trees gives the members of a team working copies of their own, and looks
// after them: it makes them when a member is seated, sets them up before its first
// turn, shows what they are like, and removes those that hold nothing which would be
// missed. It is covey's own and makes no promise to other programs.
//
// git is the truth about the copies that it made. The store remembers the rest: the
// copies that hooks made, and which branches are the team's.
package trees
