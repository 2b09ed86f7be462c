// Package tasks is the team's one truth: the tasks, the mail between members,
// the members' sessions, and the outbox of what has happened, in one bbolt
// file. What a call has acknowledged survives kill -9 and power loss.
//
// One goroutine, the committer, takes changes from a channel and puts all that
// wait into one transaction (PERF.md, design 1). Every change writes the events
// it causes into the outbox in that same transaction; somebody else carries
// them on, and Store.Wake says when there are any. The package knows neither
// hooks nor the bus nor who may do what: it checks only what must hold for all
// callers, and Check walks all of it.
package tasks
