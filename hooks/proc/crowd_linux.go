package proc

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// canCount means that trees of processes can be counted on this system.
const canCount = true

// machineLoad returns how many threads the machine runs, modulo 65536, as the kernel counts
// them. It takes one system call, where counting a tree takes thousands.
func machineLoad() uint16 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	return info.Procs
}

// thin counts the tree below pid, pid included, and kills it if it has more than limit
// processes. It does not send TERM first, because a fork bomb doubles in any grace period.
func thin(pid int, marker string, limit int) (size int, killed []int) {
	family := familyOf(pid, marker)
	size = len(family.members)
	if Alive(pid) {
		size++
	}
	if size <= limit {
		return size, nil
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	for _, k := range family.members { // most die of the signal to the group
		killed = append(killed, k.PID)
	}
	more := family.kill()
	return size, append(killed, slices.DeleteFunc(more,
		func(pid int) bool { return slices.Contains(killed, pid) })...)
}

// room returns how many processes this program may have below it as far as is known: the
// lowest pids.max of its control groups and the limit of its user, or 0 if there is none.
func room() int {
	narrowest := 0
	for _, limit := range append(groupLimits("/"), userLimit()) {
		if limit > 0 && (narrowest == 0 || limit < narrowest) {
			narrowest = limit
		}
	}
	return narrowest
}

// userLimit returns RLIMIT_NPROC, which does not apply to root, or 0.
func userLimit() int {
	var limit unix.Rlimit
	if os.Geteuid() == 0 || unix.Getrlimit(unix.RLIMIT_NPROC, &limit) != nil || limit.Cur > 1<<30 {
		return 0
	}
	return int(limit.Cur)
}

// groupLimits returns the limits of this program's control group and those above it, for
// both versions of control groups. root is the root of the file system.
func groupLimits(root string) []int {
	data, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return nil
	}
	var limits []int
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		fields := strings.SplitN(lines.Text(), ":", 3)
		if len(fields) != 3 || fields[1] != "" && fields[1] != "pids" {
			continue
		}
		mount := filepath.Join(root, "sys/fs/cgroup", fields[1])
		for dir := filepath.Clean("/" + fields[2]); ; dir = filepath.Dir(dir) {
			if text, err := os.ReadFile(filepath.Join(mount, dir, "pids.max")); err == nil {
				limit, _ := strconv.Atoi(strings.TrimSpace(string(text))) // 0 for "max"
				limits = append(limits, limit)
			}
			if dir == "/" {
				break
			}
		}
	}
	return limits
}
