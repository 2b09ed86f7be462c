// Package writes holds members to what they may write. It finds out which files each
// member has written, with whatever program, and refuses at the end of a turn, or when
// a task is completed, while some of them belong to others, are protected, or are not
// committed. It is internal to covey: other programs must not rely on it.
//
// A SharedFolder is one in which several members, and people, write. Take records its state
// at one moment as a Snapshot; two snapshots tell which paths were written in between,
// by whomever. A Log records when each member could write, and which files it
// announced to write; from that, and from the kernel's time of a file's last change,
// Judge decides who made a change, if that can be decided. Nothing is written into the
// folder, or into its repository.
package writes
