// Package owned holds members to what they may write. It finds out which files each
// has really written, whatever it wrote them with, and refuses at the end of a turn, or
// when a task is completed, while some of them are not its own, are protected, or are
// not committed. It is covey's own and makes no promise to other programs.
//
// A Ground is a folder that several members, and people, share. Take notes how it stands
// at one moment, as a Snapshot; two of them say which paths were written in between,
// whoever wrote with what. A Ledger knows when each member could write, and which files it
// said it would; by that, and by the time that the kernel has for a file's last change,
// Judge says whose doing a change was, if it can be told. For that nothing is written into
// the folder, nor into the repository that it may lie in.
package owned
