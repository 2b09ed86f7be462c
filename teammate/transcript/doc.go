// Package transcript stores a member's conversation: it appends lines to a JSONL file,
// which hook scripts may read too, and reads from it what a member resumes from. It makes
// no promise of compatibility to programs outside covey.
package transcript
