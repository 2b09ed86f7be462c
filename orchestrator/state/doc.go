// Package state knows the files of a team: where they are, which process runs the team, how a
// command finds it, and the journal of what has happened. Find and PlaceOf return the Place
// of a team, the process that runs it holds LockTeam, and its RunFile describes the last run.
//
// A Place is a folder outside of the workspace, because agents write in the workspace.
// Programs that embed covey use Place, Find, All and Running; the rest of the package
// makes no promise of compatibility.
//
// # Journal
//
// The Journal appends everything that happens in a team to one file, line by line. Others read
// it forwards, backwards, and while it grows.
//
// # Lines of the journal
//
// Each line is one JSON object, a Line. Seq strictly increases over all runs of a team; a
// crash may leave a gap. Each run begins with TeamStarted, and ends with TeamEnded unless it
// was killed.
//
// # Sources of the journal
//
// Members' events come by Append. Changes of tasks and mail come from the outbox of the
// store, which commits them together with the change itself; Store is their id there. Both
// are merged by time, so that no line precedes its cause. An event leaves the outbox only
// after its line has been synced: after a crash each committed change has exactly one line,
// while the last events of members may be missing.
//
// # Damage
//
// OpenJournal truncates a line without a newline at the end. It removes other unreadable lines,
// which a power failure may leave, and keeps the original file next to the new one. Lost
// lines of events that are still in the outbox are written again.
//
// # Full disk
//
// While the disk is full, writers wait and nothing is dropped. After Hurry, or after a time
// limit, the journal gives up: it writes no line after the gap, and Broken returns the cause.
package state
