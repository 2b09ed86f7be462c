// Package permission decides which tool calls of a member may run, by rules, by the decisions
// of hooks and by the permission mode. For that it converts calls to the form that hooks, rules
// and tools see, and finds the files that they reach. If it cannot decide, its caller asks
// someone. The package is internal to covey and makes no promise to other programs.
package permission
