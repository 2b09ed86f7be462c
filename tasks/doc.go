// Package tasks is the team's one truth: the tasks, the mail between members,
// the members' sessions, and the outbox of what has happened, in one bbolt
// file. What a call has acknowledged survives kill -9 and power loss.
//
// # What it promises
//
// A change happens whole or not at all: the task, the messages that it sends,
// the events that it causes and the receipt of the call that asked for it are
// one transaction. A change that is refused leaves nothing. When a call
// returns without error the change is on the disk. A call whose context is
// cancelled while its change is on the way there waits for it; one whose deadline
// passes does not: the change may still happen then, and its receipt tells.
//
// Changes happen one after another. A reader sees all of a change or none of
// it, and sees its own changes. Mail is delivered in the order it was sent,
// events come in the order of the changes, and ids of tasks, messages and
// events are never used again, whatever the clock does.
//
// A task in progress has exactly one owner. Who lost a task to a restart or a
// release is fenced off: its session (Actor.Session) and the task's epoch
// (Patch.Epoch) are over, and what it still tries to write is ErrStale.
//
// # What it does not know
//
// The package knows neither hooks nor the bus nor who may do what: it checks
// only what must hold for all callers. Names of members are the caller's
// business too; mail for a stranger waits for ever. Somebody else carries the
// events on, and Store.Wake says when there are any.
//
// # How it works
//
// Package kv keeps the file: one goroutine, the committer, takes changes from a
// channel and puts all that wait into one transaction. Mail, requests and verdicts
// have packages of their own below this one; Store.Mail, Store.Requests and
// Store.Verdicts hand them out. Package backup copies the file and restores it.
//
// Questions that a turn asks are answered from indexes, never by a scan:
// layout.go lists the buckets, index.go keeps them. What may happen to a task
// is decided by pure functions in status.go and graph.go. Check, in check.go,
// walks all invariants.
package tasks
