// Package owned holds members to what they may write. It finds out which files each
// has really written, whatever it wrote them with, and refuses at the end of a turn, or
// when a task is completed, while some of them are not its own, are protected, or are
// not committed. It is covey's own and makes no promise to other programs.
package owned
