// Package journal appends everything that happens in a team to one file, line by line,
// and reads it back: forwards, backwards, and while it grows (DESIGN 7).
//
// # Lines
//
// Each line is one JSON object, a Line. Seq rises strictly within a team, over all of its
// runs; a crash may leave a gap. Each run begins with TeamStarted, and with TeamEnded it
// ends, unless it was killed.
//
// # Two sources
//
// Members' events come by Append. Changes of tasks and mail come from the outbox of the
// store, where they are committed together with the change itself; Store is their number
// there. Both are merged by time, so that no line stands before its cause. An event leaves
// the outbox only after its line has been synced: after a crash each committed change has
// exactly one line, while members' events of the last moment may be missing.
//
// # Damage
//
// Open cuts off a line without an end. Lines that cannot be read in front of that, as a
// power cut leaves them, are taken out, and the file as it was is kept beside the new one.
// What the outbox still has of the lost lines is written again.
//
// # Full disk
//
// While a disk is full, writers wait and nothing is dropped. After Hurry, or when patience
// is over, the journal gives up: it writes no later line behind the gap, and Broken says why.
//
// The package makes no promise of compatibility to programs outside covey.
package journal
