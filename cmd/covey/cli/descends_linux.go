package cli

import "github.com/coveyteam/covey/hooks/proc"

// descends tells whether a process is below another one, now. It asks the kernel
// and not anybody who could lie about it.
func descends(pid, top int) bool {
	const generations = 1 << 12 // no more than these are looked at
	for range generations {
		s, _ := proc.Read(pid)
		if pid = s.Parent; pid <= 1 || pid == top {
			return pid == top && pid > 0
		}
	}
	return false
}
