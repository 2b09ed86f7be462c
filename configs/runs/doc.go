// Package runs lists what a team would run: the programs, commands and scripts of its
// spec and of the files that it names. It is covey's own and makes no promise to other
// programs.
//
// The user trusts a workspace by this list, so it must be complete, and the same for the
// same files.
package runs
