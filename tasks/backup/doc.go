// Package backup makes verified copies of a store while it is used, logs the commits since
// the last copy, and replaces a damaged file by both.
//
// It knows the pages and commits of a store, not its records. It is part of package tasks
// and makes no promise of compatibility to programs outside covey.
package backup
