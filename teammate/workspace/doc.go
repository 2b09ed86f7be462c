// Package workspace provides a member's view of the file system: its current folder,
// watched files, and the instructions and commands in the workspace. It makes no promise
// of compatibility to programs outside covey.
package workspace
