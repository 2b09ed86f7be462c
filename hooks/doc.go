// Package hooks runs the hooks of a team: it matches an event against the
// configured handlers, runs them, reads what they answer and merges it into
// one outcome. It speaks the protocol of Claude Code's hooks (HOOKS.md), so
// that scripts written for it run unchanged.
//
// It knows nothing of teams, tasks or turns: callers fill an Input and act on
// the Outcome. What goes wrong inside a hook is part of the Outcome; Run
// itself fails only when its context ends.
package hooks
