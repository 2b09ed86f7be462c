package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// BecomeReaper makes this process the parent of all orphans below it, instead of
// process 1. A tool's daemon then stays in our part of the process tree, where it can
// be identified. Reap waits for them.
func BecomeReaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphaned processes: %w", err)
	}
	return nil
}

// Reap waits for adopted orphans that have ended, until ctx ends. It leaves alone the
// processes that this program started and waits for itself: those are registered, in
// our own session, or waited for within reapGrace.
func (p *Processes) Reap(ctx context.Context) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	look := time.NewTimer(0)
	defer look.Stop()
	waiting := false // look is set
	seen := map[int]sighting{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			if !waiting {
				look.Reset(p.grace)
				waiting = true
			}
		case <-look.C:
			p.reap(seen, time.Now())
			if waiting = len(seen) > 0; waiting {
				look.Reset(p.grace)
			}
		}
	}
}

// sighting is a zombie that was seen before.
type sighting struct {
	birth string
	since time.Time
}

// reap collects the zombies that were seen before and that nobody waited for since, and
// records new ones. It also forgets sessions that are gone.
func (p *Processes) reap(seen map[int]sighting, now time.Time) {
	p.mu.Lock()
	p.sift()
	p.mu.Unlock()
	zombies := map[int]bool{}
	for _, child := range p.adopted() {
		if !child.Zombie {
			continue
		}
		zombies[child.PID] = true
		before, ok := seen[child.PID]
		if !ok || before.birth != child.Birth {
			seen[child.PID] = sighting{child.Birth, now}
			continue
		}
		if now.Sub(before.since) >= p.grace {
			collect(child.PID)
			delete(seen, child.PID)
		}
	}
	for pid := range seen {
		if !zombies[pid] {
			delete(seen, pid)
		}
	}
}

// collect waits for one zombie, by its pid, so that it collects no other.
func collect(pid int) {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, unix.WNOHANG, nil)
		if !errors.Is(err, unix.EINTR) {
			return // ECHILD: its owner has waited for it
		}
	}
}

// adopted returns our children that we did not start for a member: orphans. Processes
// that this program starts for itself stay in its own session.
func (p *Processes) adopted() []Process {
	children, err := childrenOf(p.self)
	if err != nil {
		return nil
	}
	own, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	var out []Process
	for _, pid := range children {
		info, err := Read(pid)
		if err != nil || info.Parent != p.self || info.Session == own {
			continue
		}
		p.mu.Lock()
		_, registered := p.live[pid]
		p.mu.Unlock()
		if !registered {
			out = append(out, info)
		}
	}
	return out
}

// killRounds bounds how often KillStrays repeats: a process may start others before it
// is killed.
const killRounds = 50

// KillStrays kills all orphans and the processes below them, and returns their pids.
// Call it at the end of a team, when no registered process runs. It returns early when
// ctx ends.
func (p *Processes) KillStrays(ctx context.Context) []int {
	var killed []int
	for range killRounds {
		found := false
		for _, orphan := range p.adopted() {
			below, err := descendants(orphan.PID)
			if err != nil {
				below = nil
			}
			for _, at := range append(below, orphan) {
				if at.Zombie || unix.Kill(at.PID, unix.SIGKILL) != nil {
					continue
				}
				found = true
				if !slices.Contains(killed, at.PID) {
					killed = append(killed, at.PID)
				}
			}
		}
		if !found || !pause(ctx, 2*time.Millisecond) {
			break
		}
	}
	return killed
}

// pause waits for d; false if ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
