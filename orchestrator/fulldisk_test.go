package orchestrator

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

func TestWayOutOfAFullDisk(t *testing.T) {
	p := Place{Dir: "/state/crew-0a1b2c3d", Team: "crew"}
	full := fmt.Errorf("run file: %w", &fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC})
	got := wayOut(p, full)
	for _, want := range []string{"/state/crew-0a1b2c3d is full", "run file", "make room and run covey up again"} {
		if !strings.Contains(got.Error(), want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if !errors.Is(got, syscall.ENOSPC) {
		t.Error("the cause is gone")
	}
	if again := wayOut(p, got); again.Error() != got.Error() {
		t.Errorf("said twice: %v", again)
	}
	if other := errors.New("other"); wayOut(p, other) != other || wayOut(p, nil) != nil {
		t.Error("what is no full disk was changed")
	}
}
