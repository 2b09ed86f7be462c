// Package program has what agents that run foreign programs share: the meaning of
// error texts, restarts of a failed program, and inputs that wait for a running
// one. It makes no promise of compatibility to programs outside covey.
package program
