// Package review finds in finished work what a person should look at first. It reads the
// differences that the work makes (ParseDiff) and what covey knows of the task, and lists what is
// unusual in them as Alarms: a gate's own script that the work changes, tests that are gone or
// skipped, files that the author may not write or that the task does not name, a verdict about
// other files than those that would be merged.
//
// An Alarm says what was found, never what was meant by it: a deleted test may be right. So an
// alarm decides nothing. It stands at the top of the page of a task and as a mark on the board,
// where a reviewer who has only a minute begins.
//
// Work is a plain value, and all functions are pure: the same work always gives the same alarms.
// Differences may be of any size and damaged anywhere, because members make them.
//
// It makes no promise of compatibility to programs outside covey.
package review
