package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/teammate/agent"
)

func TestWayOutOfAFullDisk(t *testing.T) {
	t.Parallel()
	p := state.Place{Dir: "/state/crew-0a1b2c3d", Team: "crew"}
	full := fmt.Errorf("run file: %w", &fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC})
	got := state.ExplainFullDisk(p, full)
	for _, want := range []string{"/state/crew-0a1b2c3d is full", "run file", "make room and run covey up again"} {
		if !strings.Contains(got.Error(), want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if !errors.Is(got, syscall.ENOSPC) {
		t.Error("the cause is gone")
	}
	if again := state.ExplainFullDisk(p, got); again.Error() != got.Error() {
		t.Errorf("said twice: %v", again)
	}
	if other := errors.New("other"); state.ExplainFullDisk(p, other) != other || state.ExplainFullDisk(p, nil) != nil {
		t.Error("what is no full disk was changed")
	}
}

// wantWayOut wants an error that says which disk is full, and what to do.
func wantWayOut(t *testing.T, o *orchestrator.Orchestrator, err error) {
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
			o, _, err := teamtest.NewGiven(t, t.TempDir(), teamtest.GivenSpec, orchestrator.Options{Agents: map[string]orchestrator.AgentMaker{
				"dev": teamtest.MakerOf(teamtest.Quiet),
				"boss": teamtest.MakerOf(func(context.Context, []agent.Input, agent.Host) (agent.Reply, error) {
					return agent.Reply{}, fmt.Errorf("recording an answer: %w", cause)
				}),
			}})
			if err != nil {
				t.Fatal(err)
			}
			e, err := o.Run(t.Context())
			if err != nil || e.Code != orchestrator.CodeUnfinished {
				t.Fatalf("it ended with %d, %q, %v", e.Code, e.Reason, err)
			}
			run, err := state.ReadRunFile(o.Place())
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
	t.Parallel()
	p := state.Place{Dir: "/state/crew-0a1b2c3d", Team: "crew"}
	other := errors.New("nobody knows")
	var s, none *state.Shortage = &state.Shortage{}, nil
	none.Note(syscall.ENOSPC)
	s.Note(other)
	s.Note(nil)
	if s.Cause() != nil || none.Cause() != nil || s.Explain(p, other) != other || s.Explain(p, nil) != nil {
		t.Errorf("without a full disk: %v, %v, %v", s.Cause(), none.Cause(), s.Explain(p, other))
	}
	s.Note(fmt.Errorf("first: %w", syscall.EDQUOT))
	s.Note(fmt.Errorf("second: %w", syscall.ENOSPC))
	got := s.Explain(p, other)
	if !errors.Is(got, other) || !errors.Is(got, syscall.EDQUOT) || errors.Is(got, syscall.ENOSPC) ||
		!strings.HasPrefix(got.Error(), "nobody knows; the disk of /state/crew-0a1b2c3d is full: first: ") {
		t.Errorf("it says %v", got)
	}
	if s.Explain(p, nil) != nil {
		t.Error("a run that went well has an error")
	}
	if got := s.Explain(p, syscall.ENOSPC).Error(); strings.Contains(got, "first") || !strings.Contains(got,
		"make room") {
		t.Errorf("an error that says it itself becomes %s", got)
	}
}

// brokenDisk is a journal's file on a disk that is full while room is false. A
// write to it gets half way, as on a real one.
type brokenDisk struct {
	state.JournalFile
	room   atomic.Bool
	failed chan struct{} // gets a value for each failed write
}

func newBrokenDisk(f state.JournalFile) *brokenDisk {
	return &brokenDisk{JournalFile: f, failed: make(chan struct{}, 1)}
}

func (d *brokenDisk) WriteAt(p []byte, off int64) (int, error) {
	if d.room.Load() {
		return d.JournalFile.WriteAt(p, off)
	}
	n, err := d.JournalFile.WriteAt(p[:len(p)/2], off)
	members.Signal(d.failed)
	return n, errors.Join(err, &os.PathError{Op: "write", Path: "journal.jsonl", Err: syscall.ENOSPC})
}

// TestEndOnAFullDisk ends a whole team that cannot write its journal, while
// its member waits because the queue is full.
func TestEndOnAFullDisk(t *testing.T) {
	t.Parallel()
	ends := map[string]struct {
		end  func(t *testing.T, p state.Place, cancel func())
		code int
	}{
		"interrupted": {func(_ *testing.T, _ state.Place, cancel func()) { cancel() }, orchestrator.CodeInterrupted},
		"told to stop": {func(t *testing.T, p state.Place, _ func()) {
			c, err := api.Dial(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Down(context.Background(), ""); err != nil {
				t.Error(err)
			}
		}, orchestrator.CodeUnfinished},
	}
	for name, tt := range ends {
		t.Run(name, func(t *testing.T) {
			r := teamtest.NewRig(t, map[string]string{"team.yaml": testkit.SoloSpec, "lead.yaml": `steps:
  - {say: Working., call: [{tool: TaskList, input: {}}], times: -1}
`})
			var disk *brokenDisk
			o := r.Orchestrator(orchestrator.Options{Overrides: orchestrator.Overrides{JournalFile: func(f state.JournalFile) state.JournalFile {
				disk = newBrokenDisk(f)
				disk.room.Store(true)
				return disk
			}}})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			done := make(chan orchestrator.Ending, 1)
			go func() {
				e, err := o.Run(ctx)
				if err != nil {
					t.Error(err)
				}
				done <- e
			}()
			r.Lines.Wait(t, "the first pass", func(l events.Line) bool { return l.Type == "pass_started" })
			disk.room.Store(false)
			for range 3 { // in the pauses between them the member fills the queue
				<-disk.failed
			}
			tt.end(t, o.Place(), cancel)
			select {
			case e := <-done:
				r.Want(e, tt.code, name)
				wantWayOut(t, o, e.Full)
			case <-time.After(testkit.Patience):
				t.Fatal("the team does not end while its journal cannot be written")
			}
			again := r.Orchestrator(orchestrator.Options{Goal: "Paint it."})
			ctx, cancel = context.WithCancel(context.Background())
			defer cancel()
			go func() {
				r.Lines.Wait(t, "the next run", func(l events.Line) bool { return l.Type == "pass_started" })
				cancel()
			}()
			if _, err := again.Run(ctx); err != nil {
				t.Fatal(err)
			}
			r.CheckJournal(again.Place())
		})
	}
}
