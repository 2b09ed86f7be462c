// Package backup makes verified backups of a store and a log of its commits, and
// puts them in the place of a damaged file.
//
// It is part of package tasks, and makes no promise of compatibility to programs
// outside covey.
package backup
