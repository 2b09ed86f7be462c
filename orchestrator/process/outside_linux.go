package process

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
)

// Outside returns nil if a process of this user that is outside of a team is found to hold the end
// there of a TCP connection within this machine, whose other end is here. team is the pid of the
// team's process, or 0 if the team does not run; marked reports whether a process was started by
// an earlier run of the team.
//
// Outside fails with ErrInside if a process of the team holds the connection. All other errors say
// why nobody was found: a socket that is sent from one process to another is held by none.
func Outside(here, there netip.AddrPort, team int, marked func(pid int) bool) error {
	made, err := socketAt(here, there)
	if err != nil {
		return err
	}
	if made.uid != os.Geteuid() {
		return fmt.Errorf("the connection was made by user %d", made.uid)
	}
	if err := noneBelow(made, team); err != nil {
		return err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	look, found := newSearch(made), false
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || !look.In(pid) {
			continue
		}
		// A process may have begun since noneBelow looked, or hold the socket of another one.
		if err := outside(pid, team, marked); err != nil {
			return err
		}
		found = true
	}
	switch {
	case look.left <= 0:
		return errTooMuch
	case !found:
		return errors.New("no process shows that it holds the connection")
	}
	return nil
}

// noneBelow returns nil if no process below a team holds a socket. A process that hides its open
// files could hold it.
func noneBelow(made socket, team int) error {
	if team == 0 {
		return nil
	}
	below, err := descendants(team)
	if err != nil {
		return err
	}
	look := newSearch(made)
	for _, at := range below {
		switch {
		case at.Zombie:
		case look.In(at.PID):
			return fmt.Errorf("process %d %w", at.PID, ErrInside)
		case look.hidden:
			return fmt.Errorf("process %d of the team does not show its open files", at.PID)
		}
	}
	if look.left <= 0 {
		return errTooMuch
	}
	return nil
}

// outside returns nil if neither a process nor one of its ancestors belongs to a team.
func outside(pid, team int, marked func(pid int) bool) error {
	chain, err := ancestry(pid, team, Read)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(chain, func(at Process) bool { return at.PID == team || marked(at.PID) }) {
		return fmt.Errorf("process %d %w", pid, ErrInside)
	}
	return nil
}
