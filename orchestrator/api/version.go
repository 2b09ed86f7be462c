package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/state"
)

// Protocol is the version of the requests at the control socket. Each change that
// another version of covey could misunderstand increments it. A new verb does
// not, because a team refuses unknown verbs.
const Protocol = 1

// otherVersion returns the error for a team that another version runs.
func otherVersion(p state.Place, run state.RunFile) error {
	version := "another version of covey"
	if run.Version != "" {
		version = "covey " + run.Version
	}
	return texts.Errorf(ErrOtherVersion, "team %s: running with %s; covey down, then covey up", p.Team, version)
}

// checkProtocol returns an error if the process that run describes has another Protocol.
func checkProtocol(p state.Place, run state.RunFile) error {
	if run.Protocol != Protocol {
		return otherVersion(p, run)
	}
	return nil
}

// isTeam returns a check that the process that serves a control socket is the team's: any process of
// this user can put a socket of its own in place of it. A team whose process is not known passes.
func isTeam(p state.Place) func(net.Conn) error {
	return func(c net.Conn) error {
		team, err := state.Holder(p)
		if err != nil || team == 0 {
			return nil
		}
		pid, _, err := process.Peer(c)
		if err == nil && pid != team {
			err = fmt.Errorf("control socket: process %d serves it, which is not the team's process, %d", pid, team)
		}
		return err
	}
}

// newerRun returns an error for a running team whose run.json a newer covey has
// written. state.Running reports such a team as not running.
func newerRun(p state.Place) error {
	if _, err := state.ReadRunFile(p); errors.Is(err, state.ErrNewer) && state.LockHeld(p.Lock()) {
		return texts.Errorf(ErrOtherVersion, "team %s: running with a newer covey; use that one, or end it with its covey down", p.Team)
	}
	return nil
}

// endPoll is the interval at which EndProcess checks whether the team has ended.
const endPoll = 50 * time.Millisecond

// EndProcess ends a team in order by a signal, as Ctrl-C does, for a team of
// another version whose control socket cannot be used. It returns when the team
// has ended, and fails with ErrNotRunning if none runs. Only the operator's
// commands may call it.
func EndProcess(ctx context.Context, p state.Place) error {
	run, ok := state.Running(p)
	if !ok {
		return fmt.Errorf("team %s: %w", p.Team, ErrNotRunning)
	}
	team, err := os.FindProcess(run.PID)
	if err != nil {
		return fmt.Errorf("end team %s: %w", p.Team, err)
	}
	if err := team.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end team %s: process %d: %w", p.Team, run.PID, err)
	}
	poll := time.NewTicker(endPoll)
	defer poll.Stop()
	for {
		if _, ok := state.Running(p); !ok {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
