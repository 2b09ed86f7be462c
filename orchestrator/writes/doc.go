// Package writes holds members to what they may write. A call of a file tool is refused before it runs; what
// a member has changed in a working copy of its own is refused while some of it is not its own, or not
// committed. In a folder that others write in, too, only calls that name a file tell who has written it:
// there the member's box holds its commands (package boxes). It is internal to covey: other programs must
// not rely on it.
//
// A Folder is one in which members write. Take records its state at one moment as a Snapshot; two snapshots
// tell which paths were written in between, by whomever. Nothing is written into the folder, or into its
// repository.
package writes
