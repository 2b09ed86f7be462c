// Package worktree works with git repositories on behalf of a team: it gives
// members working copies of their own, takes down the state of one as a tree,
// compares and merges trees, and moves branches.
//
// It runs the git that is installed, because no library knows linked working
// copies, attributes and configuration as git does. What a repository's own
// configuration names never runs: hooks, file watchers, filters, drivers,
// signers. Whoever can write a file in a workspace can write it there, and
// nobody has trusted it (ADVERSARIAL.md 47). What the user has set up for all
// repositories, such as the filter of LFS, does run, hooks excepted. Files with
// a filter that must not run are neither committed nor checked out, because a
// filter that is skipped may be one that encrypts. Nothing is fetched.
//
// The package changes nothing that it was not told to. It never touches the
// stash, which all working copies of a repository share, and reads the state of a
// working copy through an index of its own, so that staged changes stay as they
// are. Branches move only by compare-and-set.
//
// It knows neither members nor teams. A caller owes it a context, and may call
// everything from several goroutines at once: where git holds a lock for a moment,
// calls wait for it.
package worktree
