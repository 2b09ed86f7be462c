package worktree

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Errors that callers distinguish; the errors that wrap them say where.
var (
	// ErrNoGit reports that git is not installed or too old (Require).
	ErrNoGit = errors.New("git cannot be used")
	// ErrNoFilter reports that the program of a filter that files need is not installed.
	ErrNoFilter = errors.New("a required git filter cannot run")
	// ErrNoRepo reports that a folder is in no working copy that covey can use.
	ErrNoRepo = errors.New("no git repository")
	// ErrNoCommit reports that the repository has no commit to start from.
	ErrNoCommit = errors.New("no commit yet")
	// ErrNoRef reports that a branch or commit does not exist.
	ErrNoRef = errors.New("no such branch or commit")
	// ErrMoved reports that a branch was not where the caller expected it.
	ErrMoved = errors.New("the branch has moved")
	// ErrForged reports an object whose id is not that of its content.
	ErrForged = errors.New("an object of the repository was changed on the disk")
	// ErrTaken reports that a folder or a branch is in use.
	ErrTaken = errors.New("is in use")
)

// Failure is a failed call of git. Its text is for people.
type Failure struct {
	Command string // the first words, such as "worktree add"
	Dir     string // where it ran
	Code    int    // exit code; -1: it was killed, or never ran
	Stderr  string // trimmed
	Cause   error  // nil if git exited by itself
}

// Error returns git's own message, which says more than its exit code. If there is no
// git, it omits command and folder.
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

// Is reports whether target is what git says of the disk.
func (f *Failure) Is(target error) bool {
	return target == syscall.ENOSPC && strings.Contains(f.Stderr, "No space left on device") ||
		target == syscall.EDQUOT && strings.Contains(f.Stderr, "Disk quota exceeded")
}

// Unwrap returns the cause, such as the error of a context.
func (f *Failure) Unwrap() error { return f.Cause }

// exitCode returns the exit code of a failed git; 0: it did not fail, or did not exit by itself.
func exitCode(err error) int {
	var f *Failure
	if !errors.As(err, &f) {
		return 0
	}
	return max(f.Code, 0)
}

// printed returns what a failed git wrote to stderr.
func printed(err error) string {
	var f *Failure
	if !errors.As(err, &f) {
		return ""
	}
	return f.Stderr
}

// locked reports whether git failed only because another git held a lock.
func (f *Failure) locked() bool {
	if f.Cause != nil {
		return false
	}
	for _, sign := range []string{
		".lock': File exists", "could not lock config file", "Another git process seems to be running",
		// Another process is creating a working copy, which was read half finished.
		"failed to read .git/worktrees/", "/commondir: ",
	} {
		if strings.Contains(f.Stderr, sign) {
			return true
		}
	}
	return false
}
