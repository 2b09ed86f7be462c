// Package transcript keeps a member's conversation on disk: it appends lines to
// a JSONL file that hook scripts read as well, and reads from it what a member
// resumes from. It is covey's own and makes no promise to other programs.
package transcript
