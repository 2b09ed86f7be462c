package cli

import "github.com/coveyteam/covey/hooks/proc"

// descends reports whether a process is below another one, according to the kernel.
func descends(pid, top int) bool {
	const generations = 1 << 12 // a bound for the loop
	for range generations {
		s, _ := proc.Read(pid)
		if pid = s.Parent; pid <= 1 || pid == top {
			return pid == top && pid > 0
		}
	}
	return false
}
