// Package written finds out what has really been written in a folder that several
// members, and people, share, and who may have done it.
//
// A Ground is such a folder. Take notes how it stands at one moment, as a Snapshot;
// two of them say which paths were written in between, whoever wrote with what. A
// Ledger knows when each member could write, and which files it said it would; by that,
// and by the time that the kernel has for a file's last change, Judge says whose doing a
// change was, if it can be told.
//
// It knows neither members' rights nor spec: a caller brings them as functions. Nothing
// is written into the folder, nor into the repository that it may lie in.
package written
