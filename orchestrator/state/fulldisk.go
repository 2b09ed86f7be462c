package state

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
)

// Shortage remembers that a run has met a disk without room. Whoever fails on one
// notes it here, because what ends the run later may be a consequence that does not
// say so: members that failed, or tasks that nobody could take. The zero value is
// ready; all methods may be called by any goroutine, and of nil nothing happens.
type Shortage struct{ first atomic.Pointer[error] }

// Note remembers err if it is, or wraps, that a disk is full. The first one stays.
func (s *Shortage) Note(err error) {
	if s != nil && noRoom(err) {
		s.first.CompareAndSwap(nil, &err)
	}
}

// Cause is what failed first for want of room; nil: nothing has.
func (s *Shortage) Cause() error {
	if s == nil {
		return nil
	}
	if first := s.first.Load(); first != nil {
		return *first
	}
	return nil
}

// noRoom reports whether an error is due to a disk, or a quota, that is full.
func noRoom(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// WayOut says what to do when a disk without room has ended a run: which disk it is,
// and that nothing is lost. Whatever was written last fails first, a run.json or a
// payload, and its own error would send people looking for that file.
func WayOut(p Place, err error) error {
	if !noRoom(err) || strings.Contains(err.Error(), "make room") {
		return err
	}
	return fmt.Errorf("the disk of %s is full: %w; make room and run covey up again: tasks and mail are as they were",
		p.Dir, err)
}

// OutOf is what a run's error says when the disk was full, whatever the error itself is
// about: what it names may have failed only because something else could not be written.
func (s *Shortage) OutOf(p Place, err error) error {
	if err == nil || noRoom(err) || s.Cause() == nil {
		return WayOut(p, err)
	}
	return fmt.Errorf("%w; %w", err, WayOut(p, s.Cause()))
}
