// Package review finds in finished work what a person should look at first: it reads the differences
// that the work makes, and the facts that covey knows of the task, and lists what is unusual in them.
// It says what was found, never what was meant by it.
//
// It makes no promise of compatibility to programs outside covey.
package review
