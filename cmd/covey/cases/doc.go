// Package cases tests what a team's rules, hooks and gates decide. A case is a table of tool calls with the
// decisions that are expected, or a run of the team with scripts for its members and what must be seen in its
// journal.
//
// The package decides nothing: package orchestrator does, as in a run. A table begins no session and runs no
// tool. Each case has a workspace and a state of its own, which are removed after it, so that cases may run
// at the same time.
package cases
