package store

import "errors"

// The errors that concern a store as a whole.
var (
	// ErrLocked: Open of a store that another process has open.
	ErrLocked = errors.New("store in use")
	// ErrFormat: Open of a file that a newer covey wrote or that is not a store at all,
	// or for reading, of a file that has to be migrated first.
	ErrFormat = errors.New("store format")
	// ErrReadOnly: a change to a store opened with Options.ReadOnly.
	ErrReadOnly = errors.New("store is read-only")
	// ErrClosed: any call after Close.
	ErrClosed = errors.New("store is closed")
	// ErrDisk: the change could not be written (disk full, quota, I/O error). It has
	// not happened, and may be tried again once there is room, unless the error says
	// that the outcome is unknown: then the store accepts no changes until it is
	// opened again.
	ErrDisk = errors.New("store cannot be written")
	// ErrReplaced: the file was overwritten, truncated or replaced while the store
	// was open. Nothing is read or written from then on; the next Open restores the
	// store from its last backup and the log of commits.
	ErrReplaced = errors.New("the store was overwritten or replaced while it was in use")
	// ErrForeign: Open of a store of another team.
	ErrForeign = errors.New("store of another team")
	// ErrCorrupt: stored data cannot be read or breaks an invariant.
	ErrCorrupt = errors.New("store is damaged")
)

// The errors of a single change.
var (
	// ErrNotFound: there is no such record.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: an argument that cannot be stored.
	ErrInvalid = errors.New("invalid")
)
