// Package actors identifies who makes a change: covey, the operator, or a member in a
// session, and under which tool call. It keeps the members' sessions, and the receipts of
// calls, so that a repeated call is answered instead of happening again.
//
// It is part of package tasks, and makes no promise of compatibility to programs
// outside covey.
package actors
