package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/coveyteam/covey/teammate"
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

// wantWayOut wants an error that says which disk is full, and what to do.
func wantWayOut(t *testing.T, o *Orchestrator, err error) {
	t.Helper()
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "the disk of "+o.Place().Dir+" is full: ") ||
		!strings.Contains(err.Error(), "make room and run covey up again") {
		t.Errorf("of the full disk it says %v", err)
	}
}

// TestMembersFailOnAFullDisk: what a run says has ended it is then that nobody can go
// on. That it was the disk is said all the same, also to who looks later.
func TestMembersFailOnAFullDisk(t *testing.T) {
	t.Parallel()
	for name, full := range map[string]bool{"full": true, "other": false} {
		t.Run(name, func(t *testing.T) {
			cause := errors.New("out of luck")
			if full {
				cause = &fs.PathError{Op: "write", Path: "lead.jsonl", Err: syscall.ENOSPC}
			}
			o, _, err := given(t, t.TempDir(), givenSpec, Options{Agents: map[string]AgentMaker{
				"dev": made(quiet),
				"boss": made(func(context.Context, []teammate.Input, teammate.Host) (teammate.Reply, error) {
					return teammate.Reply{}, fmt.Errorf("recording an answer: %w", cause)
				}),
			}})
			if err != nil {
				t.Fatal(err)
			}
			e, err := o.Run(t.Context())
			if err != nil || e.Code != CodeUnfinished {
				t.Fatalf("it ended with %d, %q, %v", e.Code, e.Reason, err)
			}
			run, err := ReadRunFile(o.Place())
			if err != nil || strings.Contains(run.Result.Reason, "make room") != full {
				t.Errorf("run.json says %+v, %v", run.Result, err)
			}
			if !full {
				if e.Full != nil {
					t.Errorf("no disk was full: %v", e.Full)
				}
				return
			}
			wantWayOut(t, o, e.Full)
		})
	}
}

// TestShortage: the first full disk is remembered, and an error that does not name it
// is not left to stand alone.
func TestShortage(t *testing.T) {
	p := Place{Dir: "/state/crew-0a1b2c3d", Team: "crew"}
	other := errors.New("nobody knows")
	var s, none *shortage = &shortage{}, nil
	none.note(syscall.ENOSPC)
	s.note(other)
	s.note(nil)
	if s.cause() != nil || none.cause() != nil || s.outOf(p, other) != other || s.outOf(p, nil) != nil {
		t.Errorf("without a full disk: %v, %v, %v", s.cause(), none.cause(), s.outOf(p, other))
	}
	s.note(fmt.Errorf("first: %w", syscall.EDQUOT))
	s.note(fmt.Errorf("second: %w", syscall.ENOSPC))
	got := s.outOf(p, other)
	if !errors.Is(got, other) || !errors.Is(got, syscall.EDQUOT) || errors.Is(got, syscall.ENOSPC) ||
		!strings.HasPrefix(got.Error(), "nobody knows; the disk of /state/crew-0a1b2c3d is full: first: ") {
		t.Errorf("it says %v", got)
	}
	if s.outOf(p, nil) != nil {
		t.Error("a run that went well has an error")
	}
	if got := s.outOf(p, syscall.ENOSPC).Error(); strings.Contains(got, "first") || !strings.Contains(got, "make room") {
		t.Errorf("an error that says it itself becomes %s", got)
	}
}
