package orchestrator

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// wayOut says what to do when a disk without room has ended a run: which disk it is,
// and that nothing is lost. Whatever was written last fails first, a run.json or a
// payload, and its own error would send people looking for that file.
func wayOut(p Place, err error) error {
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	if !full || strings.Contains(err.Error(), "make room") {
		return err
	}
	return fmt.Errorf("the disk of %s is full: %w; make room and run covey up again: tasks and mail are as they were",
		p.Dir, err)
}
