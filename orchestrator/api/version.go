package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Protocol is the number of what requests at the control socket look like. It is
// raised with each change that a program of another version could misunderstand; a new
// kind of request needs none, for who does not know it says so.
const Protocol = 1

// otherWithin is how long a team that another version runs may take for an answer: it may
// wait for words that never come. With starting the program it stays below two seconds.
const otherWithin = 1500 * time.Millisecond

// otherVersion is the error for a team that another version runs.
func otherVersion(p state.Place, version string) error {
	return notation.Errorf(ErrOtherVersion, "team %s: running with %s; covey down, then covey up", p.Team,
		cmp.Or(coveyNamed(version), "another version of covey"))
}

// coveyNamed is a version as people read it.
func coveyNamed(version string) string {
	if version == "" {
		return ""
	}
	return "covey " + version
}

// dialSocket reaches the process that a run.json names. Of one that says that it speaks
// our protocol it waits as long as ctx allows: it may be busy. Of any other, which may be
// waiting for something that we never say, it does not.
func dialSocket(ctx context.Context, p state.Place, run state.RunFile) (*bus.Bus, error) {
	if run.Protocol == Protocol {
		b, err := bus.Dial(ctx, run.Socket)
		if errors.Is(err, bus.ErrForeign) {
			err = otherVersion(p, run.Version)
		}
		return b, err
	}
	limited, cancel := context.WithTimeout(ctx, otherWithin)
	defer cancel()
	b, err := bus.Dial(limited, run.Socket)
	if err != nil && ctx.Err() == nil && (limited.Err() != nil || errors.Is(err, bus.ErrForeign)) {
		err = otherVersion(p, run.Version)
	}
	return b, err
}

// newerRun tells of a team whose run.json a newer covey has written, which Running takes
// for one that does not run.
func newerRun(p state.Place) error {
	if _, err := state.ReadRunFile(p); errors.Is(err, journal.ErrNewer) && state.LockHeld(p.Lock()) {
		return notation.Errorf(ErrOtherVersion, "team %s: running with a newer covey; use that one, or end it with its covey down", p.Team)
	}
	return nil
}

// stopWithin is how long EndProcess waits between two looks.
const stopWithin = 50 * time.Millisecond

// EndProcess ends a team in order without asking at its control socket, for one of another
// version: as Ctrl-C does. It returns when the team has ended, and fails with
// ErrNotRunning if none runs. Only the operator's commands may call it.
func EndProcess(ctx context.Context, p state.Place) error {
	run, ok := state.Running(p)
	if !ok {
		return fmt.Errorf("team %s: %w", p.Team, ErrNotRunning)
	}
	process, err := os.FindProcess(run.PID)
	if err != nil {
		return fmt.Errorf("end team %s: %w", p.Team, err)
	}
	if err := process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end team %s: process %d: %w", p.Team, run.PID, err)
	}
	for look := time.NewTicker(stopWithin); ; {
		if _, ok := state.Running(p); !ok {
			look.Stop()
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			look.Stop()
			return ctx.Err()
		}
	}
}
