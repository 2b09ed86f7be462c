package state

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
)

// Shortage remembers that a run found a full disk. Code that fails for that reason
// records it here, because the error that ends the run may be a consequence that does
// not say so: failed members, or tasks that no member could take. The zero value is
// ready to use, all methods are safe for concurrent use, and those of a nil Shortage do
// nothing.
type Shortage struct{ first atomic.Pointer[error] }

// Note remembers err if it is, or wraps, a full-disk error. The first one stays.
func (s *Shortage) Note(err error) {
	if s != nil && NoRoom(err) {
		s.first.CompareAndSwap(nil, &err)
	}
}

// Cause returns the first full-disk error; nil: there was none.
func (s *Shortage) Cause() error {
	if s == nil {
		return nil
	}
	if first := s.first.Load(); first != nil {
		return *first
	}
	return nil
}

// NoRoom reports whether an error is due to a full disk or quota.
func NoRoom(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// ExplainFullDisk returns what to do when a full disk ended a run: which disk it is, and that
// nothing is lost. The original error names the file that happened to be written, such
// as run.json, which would mislead people.
func ExplainFullDisk(p Place, err error) error {
	if !NoRoom(err) || strings.Contains(err.Error(), "make room") {
		return err
	}
	return fmt.Errorf("the disk of %s is full: %w; make room and run covey up again: tasks and mail are as they were",
		p.Dir, err)
}

// Explain adds the full disk to a run's error, if there was one: what the error describes
// may have failed only because something else could not be written.
func (s *Shortage) Explain(p Place, err error) error {
	if err == nil || NoRoom(err) || s.Cause() == nil {
		return ExplainFullDisk(p, err)
	}
	return fmt.Errorf("%w; %w", err, ExplainFullDisk(p, s.Cause()))
}
