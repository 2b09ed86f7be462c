// Package state knows where the files of a team lie, who runs the team, and how a command
// finds it: Find and PlaceOf give the Place of a team, LockTeam is held by the process that
// runs it, and its RunFile tells of the last run.
//
// A Place is a folder of its own, outside of the workspace, where agents write. Programs
// that embed covey use Place, Find, All and Running; the rest makes no promise of
// compatibility.
package state
