package process

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// KillOf kills all processes of a member: those that its tools, its agent and its hooks
// started, directly or not, including orphans. It returns their pids. The member must
// take no more turns, because they could start others.
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

// running returns the processes below this one whose caller of accepts.
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
			continue // it has ended
		}
		if of(p.judge(chain, Read)) {
			list = append(list, at.PID)
		}
	}
	return list
}
