// Package toolcall brings tool calls into the form in which hooks, rules and tools
// see them, and finds the files that a call reaches. It is covey's own and makes no
// promise to other programs.
package toolcall
