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

// canCount says that trees of processes can be counted here.
const canCount = true

// machineLoad is how many threads the machine runs, as the kernel counts them: modulo
// 65536. It is one system call, where counting a tree is thousands.
func machineLoad() uint16 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	return info.Procs
}

// thin counts the tree below pid, pid itself included, and kills it if it has more than
// limit processes. Nobody is asked to end first: each moment of grace doubles a bomb.
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

// room is how many processes this program may have below it as far as it can tell: the
// narrowest pids.max of its control groups, and the limit of its user. 0: it cannot tell.
func room() int {
	narrowest := 0
	for _, limit := range append(groupLimits("/"), userLimit()) {
		if limit > 0 && (narrowest == 0 || limit < narrowest) {
			narrowest = limit
		}
	}
	return narrowest
}

// userLimit is RLIMIT_NPROC, which does not bind root; 0: none.
func userLimit() int {
	var limit unix.Rlimit
	if os.Geteuid() == 0 || unix.Getrlimit(unix.RLIMIT_NPROC, &limit) != nil || limit.Cur > 1<<30 {
		return 0
	}
	return int(limit.Cur)
}

// groupLimits are the limits of this program's control group and those above it, of
// both versions of control groups; root is where the file system begins.
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
				limit, _ := strconv.Atoi(strings.TrimSpace(string(text))) // "max" is no limit
				limits = append(limits, limit)
			}
			if dir == "/" {
				break
			}
		}
	}
	return limits
}
