package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/hooks/texts"
)

// jobFiles are the files that covey ci leaves in its folder.
var jobFiles = []string{"result.json", "junit.xml", "summary.md"}

// JobFolder prepares the folder for the results of a CI job before the team starts: what cannot
// be written should cost no run. It removes the results of an earlier job, as ClearJob does.
func JobFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Usagef("--out: %s cannot be made: %s; name another folder", dir, texts.Cause(err))
	}
	if err := ClearJob(dir); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".covey-*")
	if err != nil {
		return Usagef("--out: %s cannot be written to: %s; name another folder", dir, texts.Cause(err))
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// ClearJob removes the results of an earlier job from a folder, so that nobody takes them for those
// of a job that did not come so far. A folder that is not there is as good as empty. A link is
// refused, because the checkout of a pull request could have brought it.
func ClearJob(dir string) error {
	switch info, err := os.Lstat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return Usagef("--out: %s cannot be looked at: %s; name another folder", dir, texts.Cause(err))
	case info.Mode().Type() == fs.ModeSymlink:
		return Usagef("--out: %s is a link; name the folder itself", dir)
	case !info.IsDir():
		return Usagef("--out: %s is no folder; name another one", dir)
	}
	for _, name := range jobFiles {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Usagef("--out: %s of an earlier job cannot be removed: %s; name another folder",
				filepath.Join(dir, name), texts.Cause(err))
		}
	}
	return nil
}

// ForJob returns the environment of a command that runs in a CI job: it has no terminal, asks
// nobody, and all that it prints is masked, because logs of jobs are public. flush prints the
// last line if it has no end.
func (e *Env) ForJob(mask func(string) string) (job *Env, flush func()) {
	out, said := &maskedLines{to: e.Out.Writer, mask: mask}, &maskedLines{to: e.Err.Writer, mask: mask}
	quiet := *e
	quiet.In, quiet.Out, quiet.Err = bytes.NewReader(nil), term.NewScreen(out), term.NewScreen(said)
	return &quiet, func() {
		out.flush()
		said.flush()
	}
}

// maskedLines passes lines on with secrets masked. It waits for the end of a line, because a
// secret may come in pieces. It is safe for concurrent use.
type maskedLines struct {
	to   io.Writer
	mask func(string) string
	mu   sync.Mutex // a run and its log print at the same time
	rest []byte     // of a line without an end
}

// Write writes the lines that are complete.
func (m *maskedLines) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rest = append(m.rest, p...)
	end := bytes.LastIndexByte(m.rest, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	lines := string(m.rest[:end])
	m.rest = append(m.rest[:0], m.rest[end:]...)
	if _, err := io.WriteString(m.to, m.mask(lines)); err != nil {
		return 0, err // the reader of the log is gone
	}
	return len(p), nil
}

// flush writes what is left. Like Screen.Printf it ignores an error.
func (m *maskedLines) flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = io.WriteString(m.to, m.mask(string(m.rest)))
	m.rest = nil
}

// MaskedError returns an error with its text masked; its exit code stays.
func MaskedError(err error, mask func(string) string) error {
	if err == nil {
		return nil
	}
	return &maskedError{err, mask}
}

// maskedError is an error whose text may hold secrets.
type maskedError struct {
	err  error
	mask func(string) string
}

// Error returns the masked text.
func (e *maskedError) Error() string { return e.mask(e.err.Error()) }

// Unwrap returns the error itself, for its exit code.
func (e *maskedError) Unwrap() error { return e.err }
