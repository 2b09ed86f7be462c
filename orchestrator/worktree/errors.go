package worktree

import (
	"errors"
	"fmt"
	"strings"
)

// Errors that callers tell apart; what wraps them says where.
var (
	// ErrNoGit: there is no git program, or one that is too old (Require).
	ErrNoGit = errors.New("git cannot be used")
	// ErrNoRepo: the folder lies in no working copy that covey could work with.
	ErrNoRepo = errors.New("no git repository")
	// ErrNoCommit: the repository has no commit yet, so nothing to start from.
	ErrNoCommit = errors.New("no commit yet")
	// ErrNoRef: a branch or commit of this name is not there.
	ErrNoRef = errors.New("no such branch or commit")
	// ErrMoved: a branch is not where the caller thought when it was to move.
	ErrMoved = errors.New("the branch has moved")
	// ErrTaken: a folder, or a branch that is in use elsewhere, is in the way.
	ErrTaken = errors.New("is in use")
)

// Failure is a call of git that failed. Its text is for people.
type Failure struct {
	Command string // the first words, such as "worktree add"
	Dir     string // where it ran
	Code    int    // exit code; -1: it was ended, or never ran
	Stderr  string // what git said, without white space around it
	Cause   error  // nil if git exited by itself
}

// Error says what git said, which is more than its exit code does. Where there is no git
// at all, neither command nor folder has to do with it.
func (f *Failure) Error() string {
	if errors.Is(f.Cause, ErrNoGit) {
		return f.Cause.Error()
	}
	said := f.Stderr
	switch {
	case said == "" && f.Cause != nil:
		said = f.Cause.Error()
	case said == "":
		said = fmt.Sprintf("exit code %d", f.Code)
	case f.Cause != nil:
		said = f.Cause.Error() + ": " + said
	}
	return fmt.Sprintf("git %s in %s: %s", f.Command, f.Dir, said)
}

// Unwrap gives the cause, such as a context that has ended.
func (f *Failure) Unwrap() error { return f.Cause }

// locked reports whether git failed only because another git was at it.
func (f *Failure) locked() bool {
	if f.Cause != nil {
		return false
	}
	for _, sign := range []string{
		".lock': File exists", "could not lock config file", "Another git process seems to be running",
		// A working copy of somebody else's that is being made, read when it was half there.
		"failed to read .git/worktrees/", "/commondir: ",
	} {
		if strings.Contains(f.Stderr, sign) {
			return true
		}
	}
	return false
}
