package orchestrator

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// KillOf kills all that runs for a member: what its tools, its agent and its
// hooks have started, however deep, and what has lost its parents. It returns
// the numbers of those that it has killed. The member must take no more turns,
// or it starts others.
func (p *Processes) KillOf(member string) []int {
	var killed []int
	for range killRounds {
		found := false
		for _, pid := range p.runningOf(member) {
			if unix.Kill(pid, unix.SIGKILL) == nil {
				killed, found = append(killed, pid), true
			}
		}
		if !found || !pause(context.Background(), 2*time.Millisecond) {
			break
		}
	}
	return killed
}

// runningOf lists the processes of a member that live.
func (p *Processes) runningOf(member string) []int {
	below, err := descendants(p.self)
	if err != nil {
		return nil
	}
	var list []int
	for _, at := range below {
		if at.zombie {
			continue
		}
		chain, err := ancestry(at.pid, p.self, readProcess)
		if err != nil {
			continue // it has ended meanwhile
		}
		if by := p.judge(chain, readProcess); by.Member == member && member != "" {
			list = append(list, at.pid)
		}
	}
	return list
}
