// Package tools has the workspace tools of covey's own agent: Bash with its
// background runs, Read, Write, Edit, Glob and Grep. It makes no promise of
// compatibility to programs outside covey.
//
// A Set belongs to one member. Its tools know the member's directory, which
// files the member has read, and what its commands have left running.
package tools
