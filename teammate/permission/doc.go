// Package permission decides which tool calls of a member may run, by rules, by what
// hooks said and by the permission mode; for that it brings calls into the form in which
// hooks, rules and tools see them, and finds the files that they reach. Who is asked where
// it cannot decide is its caller's business. It is covey's own and makes no promise to other programs.
package permission
