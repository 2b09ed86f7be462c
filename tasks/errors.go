package tasks

import (
	"errors"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/requests"
	"github.com/coveyteam/covey/tasks/store"
)

// The refusals of a Store. Each is wrapped in an error that names the task or member
// and says what to do instead; test for them with errors.Is. A refused call has
// changed nothing.
var (
	// ErrNotFound: there is no such task (it does not exist, is still proposed, or was deleted),
	// or no such member.
	ErrNotFound = store.ErrNotFound
	// ErrOwned: a claim of a task that belongs to somebody else.
	ErrOwned = errors.New("owned by another member")
	// ErrBlocked: a claim or start of a task whose blockers are not all completed.
	ErrBlocked = errors.New("blocked")
	// ErrDone: a claim of a task that is completed.
	ErrDone = errors.New("already completed")
	// ErrBusy: a claim by a member that has Claim.Max tasks in progress already.
	ErrBusy = errors.New("too many tasks in progress")
	// ErrUnsuited: a member claims a task for itself but lacks what the task wants.
	ErrUnsuited = errors.New("not for this member")
	// ErrTransition: an update to a status that the present one does not allow.
	ErrTransition = errors.New("no such change of status")
	// ErrCycle: a dependency that would make a task wait for itself.
	ErrCycle = errors.New("dependency cycle")
	// ErrDependency: a dependency on a task that does not exist.
	ErrDependency = errors.New("unknown dependency")
	// ErrConflict: a Patch.Version that is no longer the task's version.
	ErrConflict = errors.New("changed meanwhile")
	// ErrStale: a change by an earlier session of the member, or a Patch.Epoch
	// that is no longer the task's epoch.
	ErrStale = actors.ErrStale
	// ErrInvalid: an argument that cannot be stored: an empty subject, an
	// unknown status, data that is not JSON, a message without receiver, a bad name.
	ErrInvalid = store.ErrInvalid
	// ErrFull: a message to a member with Options.MaxUnread unread messages, or a
	// request about a member with 1,000 open ones.
	ErrFull = mail.ErrFull
	// ErrAnswered: an answer to a request that was already answered.
	ErrAnswered = requests.ErrAnswered
	// ErrNotAsked: an answer to a request by a member that was not asked.
	ErrNotAsked = requests.ErrNotAsked
)

// The errors that concern a Store as a whole; see package kv.
var (
	ErrLocked   = store.ErrLocked
	ErrFormat   = store.ErrFormat
	ErrReadOnly = store.ErrReadOnly
	ErrClosed   = store.ErrClosed
	ErrDisk     = store.ErrDisk
	ErrReplaced = store.ErrReplaced
	ErrReplica  = store.ErrReplica
	ErrForeign  = store.ErrForeign
	ErrCorrupt  = store.ErrCorrupt
)
