// Package transcript stores a member's conversation: it appends lines to a JSONL file,
// which hook scripts may read too, and reads from it what a member resumes from. It makes
// no promise of compatibility to programs outside covey.
//
// # The file
//
// A transcript is one file for each session of a member. Each line is one JSON object in the form
// that hook scripts know from other hosts: type, message, uuid, parentUuid, sessionId, timestamp
// and cwd, where the content of a tool's result is a string, with images beside it. Other lines
// hold what is no message but must outlast a crash: tokens that were used outside of a message,
// inputs that are kept for the next turn, which mail was shown, a compaction, and the change to
// another session.
//
// Append returns when the line can be read by others. Sync makes lines outlast a power cut; it is
// called before the store forgets a message, so a message is in the store or in the transcript at
// any moment, and a crash between the two shows it once.
//
// # Resuming
//
// Open reads a file and cuts off a line without an end, which a crash leaves. A damaged line in the
// middle is an error that names its place: the member does not start before a person has looked.
// History is what the rest needs: the conversation since the last compaction, the calls without a
// result, the usage so far, and the ids of messages that were shown.
package transcript
