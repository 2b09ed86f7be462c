// Package program has what those share that talk to foreign programs, above all agents: a running
// program with its streams, the meaning of error texts, restarts of a failed program, and inputs that
// wait for a running one. It makes no promise of compatibility to programs outside covey.
package program
