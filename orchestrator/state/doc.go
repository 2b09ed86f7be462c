// Package state knows where the files of a team are, which process runs the team, and
// how a command finds it: Find and PlaceOf return the Place of a team, the process that
// runs it holds LockTeam, and its RunFile describes the last run.
//
// A Place is a folder outside of the workspace, because agents write in the workspace.
// Programs that embed covey use Place, Find, All and Running; the rest of the package
// makes no promise of compatibility.
package state
