package state

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/process"
)

// A lock has a name besides its file, an abstract unix socket at which nothing is served. All
// processes of this user could move the file and make another one. They cannot take the name from
// the process that has it.

// lockName returns the address of the name of a lock file.
func lockName(path string) string {
	return "@covey-lock-" + texts.Digest(path)[:32]
}

// claimName takes the name of a lock file, until release is called. It fails with errLocked if
// another process of this user has it. Another user who has it keeps nobody from running a team:
// then there is only the file.
func claimName(path string) (release func() error, err error) {
	l, err := net.Listen("unix", lockName(path))
	if errors.Is(err, unix.EADDRINUSE) {
		if _, err := nameHolder(path); err != nil {
			return func() error { return nil }, nil
		}
		return nil, errLocked
	}
	if err != nil {
		return nil, err
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil: // probably out of file descriptors: do not spin
				time.Sleep(lockPause)
			default:
				_ = c.Close() // whoever asked knows by now
			}
		}
	})
	return func() error {
		err := l.Close()
		work.Wait()
		return err
	}, nil
}

// nameHolder returns the process that has the name of a lock file; 0: none has it.
func nameHolder(path string) (pid int, err error) {
	c, err := net.Dial("unix", lockName(path))
	if errors.Is(err, unix.ECONNREFUSED) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer c.Close()
	pid, uid, err := process.Peer(c)
	switch {
	case err != nil:
		return 0, err
	case uid != os.Geteuid():
		return 0, fmt.Errorf("user %d holds the name of the team's lock", uid)
	case pid <= 0:
		return 0, errors.New("the team runs in another PID namespace")
	}
	return pid, nil
}

// Holder returns the process that runs a team, or uses its store instead; 0: none does. It relies
// on nothing that other processes of this user can change.
func Holder(p Place) (pid int, err error) {
	pid, err = nameHolder(p.Lock())
	if err == nil && pid == 0 && flocked(p.Lock()) {
		return 0, errors.New("the team runs in another network namespace")
	}
	return pid, err
}
