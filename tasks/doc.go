// Package tasks is the single source of truth of a team: the tasks, the mail between
// members, the members' sessions, and the outbox of events, in one bbolt file. A
// change that a call has acknowledged survives kill -9 and power loss.
//
// # Guarantees
//
// A change is atomic: the task, the messages that it sends, the events that it causes
// and the receipt of the call that requested it are one transaction. A refused change
// leaves no trace. When a call returns without error, the change is on disk. If the
// context of a call is cancelled while its change is being committed, the call waits
// for the commit. If the context's deadline passes, it does not wait: the change may
// still happen, and its receipt says whether it did.
//
// Changes are serialized. A reader sees all of a change or none of it, and it sees
// its own changes. Mail is delivered in the order in which it was sent, events are in
// the order of the changes, and ids of tasks, messages and events are never reused,
// whatever the clock does.
//
// A task in progress has exactly one owner. A member that lost a task to a restart or
// a release is fenced off: its session (Actor.Session) and the task's epoch
// (Patch.Epoch) are no longer valid, and its writes fail with ErrStale.
//
// # Limits
//
// The package knows nothing about hooks, the bus or permissions: it checks only what
// must hold for all callers. It does not check that a member exists either; mail for
// an unknown member is kept for ever. The caller forwards the events; Store.Outbox
// says when there are any.
//
// # How it works
//
// Package kv keeps the file: one goroutine, the committer, receives changes from a
// channel and puts all that wait into one transaction. Mail, requests and verdicts
// have packages of their own below this one; Store.Mail, Store.Requests and
// Store.Verdicts return them. Package backup copies the file and restores it.
//
// What a turn needs to know is answered from indexes, never by a scan: layout.go
// lists the buckets, index.go maintains them. Pure functions in status.go and
// graph.go decide how a task may change. Check, in check.go, verifies all invariants.
package tasks
