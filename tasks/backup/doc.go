// Package backup makes verified backups of a store and a log of its commits, and
// replaces a damaged file by them.
//
// It is part of package tasks, and makes no promise of compatibility to programs
// outside covey.
package backup
