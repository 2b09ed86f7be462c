package tasks

import "errors"

// The refusals of a Store. Each comes wrapped in an error that names the task
// or member and says what to do instead; ask with errors.Is. A refused call
// has changed nothing.
var (
	// ErrNotFound: there is no such task (or it is still proposed, or deleted),
	// or no such member.
	ErrNotFound = errors.New("not found")
	// ErrOwned: a claim of a task that belongs to somebody else.
	ErrOwned = errors.New("owned by another member")
	// ErrBlocked: a claim or start of a task whose blockers are not all completed.
	ErrBlocked = errors.New("blocked")
	// ErrDone: a claim of a task that is completed.
	ErrDone = errors.New("already completed")
	// ErrBusy: a claim by a member that has Claim.Max tasks in progress already.
	ErrBusy = errors.New("too many tasks in progress")
	// ErrUnsuited: a member takes a task by itself that wants what it has not.
	ErrUnsuited = errors.New("not for this member")
	// ErrTransition: an update to a status that the present one does not lead to.
	ErrTransition = errors.New("no such change of status")
	// ErrCycle: a dependency that would make a task wait for itself.
	ErrCycle = errors.New("dependency cycle")
	// ErrDependency: a dependency on a task that does not exist.
	ErrDependency = errors.New("unknown dependency")
	// ErrConflict: a Patch.Version that is not the task's version any more.
	ErrConflict = errors.New("changed meanwhile")
	// ErrStale: a change by an earlier session of the member, or a Patch.Epoch
	// under which the task is not owned any more.
	ErrStale = errors.New("stale owner")
	// ErrInvalid: an argument that cannot be stored: an empty subject, an
	// unknown status, data that is not JSON, a message to nobody, a bad name.
	ErrInvalid = errors.New("invalid")
	// ErrFull: a message to a member with Options.MaxUnread unread messages.
	// It is also a request about a member with 1,000 open ones.
	ErrFull = errors.New("mailbox full")
	// ErrAnswered: an answer to a request that has one.
	ErrAnswered = errors.New("already answered")
	// ErrNotAsked: an answer to a request by somebody to whom it was not put.
	ErrNotAsked = errors.New("not yours to answer")
)

// The troubles of a Store as a whole.
var (
	// ErrLocked: Open of a store that another process has open.
	ErrLocked = errors.New("store in use")
	// ErrFormat: Open of a file that a newer covey wrote, that is no store at
	// all, or that is older and was opened with Options.ReadOnly.
	ErrFormat = errors.New("store format")
	// ErrReadOnly: a change to a store opened with Options.ReadOnly.
	ErrReadOnly = errors.New("store is read-only")
	// ErrClosed: any call after Close.
	ErrClosed = errors.New("store is closed")
	// ErrDisk: the change could not be written (disk full, quota, I/O error).
	// It has not happened, and may be tried again once there is room, unless
	// the error says that the outcome is unknown: then the store takes no more
	// changes until it is opened again.
	ErrDisk = errors.New("store cannot be written")
	// ErrReplaced: the file was overwritten, cut off or replaced while the store
	// was open. Nothing is read or written any more; Open restores the store from
	// its last backup and the log of commits.
	ErrReplaced = errors.New("the store was overwritten or replaced while it was in use")
	// ErrForeign: Open of a store of another team.
	ErrForeign = errors.New("store of another team")
	// ErrCorrupt: what is stored cannot be read or breaks an invariant.
	ErrCorrupt = errors.New("store is damaged")
)
