// Package workspace provides a member's view of the file system: its current folder,
// watched files, the rules of .gitignore files, and the instructions and commands in the
// workspace. It makes no promise of compatibility to programs outside covey.
//
// A Workdir is where a member is: the root of its workspace and the folder that its last `cd` led to.
// Both are absolute and without symbolic links, because rules compare paths.
//
// Instructions are AGENTS.md and CLAUDE.md of the workspace and of the folders above it up to the
// repository's, with the files that they include by @path. They are read once, are bounded, and are
// shared by all members; a Nested reads those of subfolders when a member first works there. Nothing
// outside of the repository is read, wherever a link or an include leads.
//
// A Watching belongs to one member and calls it for each change of the files that FileChanged hooks
// name. Most members watch nothing, and then it costs nothing.
package workspace
