package process

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
		for _, pid := range p.running(func(by Caller) bool { return by.Member == member && member != "" }) {
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

// running lists the processes below this one that live and belong to whom of accepts.
func (p *Processes) running(of func(Caller) bool) []int {
	below, err := descendants(p.self)
	if err != nil {
		return nil
	}
	var list []int
	for _, at := range below {
		if at.Zombie {
			continue
		}
		chain, err := ancestry(at.PID, p.self, Read)
		if err != nil {
			continue // it has ended meanwhile
		}
		if of(p.judge(chain, Read)) {
			list = append(list, at.PID)
		}
	}
	return list
}
