// Package worktree works with git repositories for a team: it gives members their own
// working copies, records the state of one as a tree, compares and merges trees, and
// moves branches.
//
// It runs the installed git, because no library handles linked working copies,
// attributes and configuration as git does. Programs that a repository's own
// configuration names never run: hooks, file watchers, filters, drivers, signers.
// Anybody who can write a file in a workspace can add them there, and nobody has
// trusted them (ADVERSARIAL.md 47). What the user has configured for all repositories,
// such as the filter of LFS, does run, except hooks. Files with a filter that must not
// run are neither committed nor checked out, because the filter may be one that
// encrypts. Nothing is fetched but the work of members, from their clones (Base).
//
// The package makes no unrequested changes. It never uses the stash,
// and reads the state of a working copy through a separate index, so that staged changes stay as they are. Branches move only by
// compare-and-set.
//
// It does not know members or teams. Its methods may be called from several goroutines
// at once: calls wait for short-lived locks of git.
package worktree
