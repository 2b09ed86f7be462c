package sandbox

import (
	"cmp"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// auditArch has the numbers by which a filter knows an architecture, for those that have filters.
var auditArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// What a filter answers. Refused calls fail, so that programs go on without them.
const (
	allowed  = unix.SECCOMP_RET_ALLOW
	refused  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	x32Calls = 0x40000000 // the first number of x32, a second set of numbers on amd64
)

// Always refused: what changes namespaces, mounts, the kernel or other processes. Mounts are also
// refused by landlock, and what needs a capability that is dropped is not listed in full.
var refusedCalls = []uint32{
	unix.SYS_SETNS, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, unix.SYS_KEXEC_LOAD,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_PIDFD_GETFD,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
}

// Refused unless a program may trace.
var traceCalls = []uint32{unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV}

// Answered as if the kernel did not have them. Rings do what the filter would refuse, and the flags
// of clone3 are out of its sight; programs use clone instead.
var unknownCalls = []uint32{
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_CLONE3,
}

// Answered like that at level 1, where landlock knows nothing of them: they watch folders elsewhere, and reach the memory,
// queues and semaphores of other programs of the user. At level 2 there is nothing else to watch or to reach.
var outsideCalls = []uint32{
	unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_FANOTIFY_INIT, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
}

// Calls that change limits and priorities of a process: only the caller, named as 0. Landlock knows
// nothing of them. The value is the argument that names the process.
var ownCalls = map[uint32]uint32{
	unix.SYS_PRLIMIT64: 0, unix.SYS_SCHED_SETAFFINITY: 0, unix.SYS_SCHED_SETSCHEDULER: 0, unix.SYS_SCHED_SETPARAM: 0,
	unix.SYS_SCHED_SETATTR: 0, unix.SYS_SETPRIORITY: 1, unix.SYS_IOPRIO_SET: 1,
}

// Of those calls, the ones whose first argument can mean all processes of the user, and its value then.
var userCalls = map[uint32]uint32{unix.SYS_SETPRIORITY: unix.PRIO_USER, unix.SYS_IOPRIO_SET: 3}

// Instructions of a filter, and how it reads the call.
const (
	load      = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	and       = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	ifEqual   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	ifAtLeast = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	ifAny     = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	number    = 0 // where the number of the call is
	arch      = 4
	arguments = 16
)

type instruction = unix.SockFilter

func answer(k uint32) instruction { return instruction{Code: unix.BPF_RET | unix.BPF_K, K: k} }

// argument loads the lower half of an argument, which is all that the kernel reads of those here.
func argument(n uint32) instruction { return instruction{Code: load, K: arguments + 8*n} }

// when runs body, which ends with an answer, if the loaded value compares with k; code is one of
// ifEqual, ifAny and ifAtLeast.
func when(code uint16, k uint32, body ...instruction) []instruction {
	return append([]instruction{{Code: code, Jf: uint8(len(body)), K: k}}, body...)
}

// call is what a filter does for a call: a body, which ends with an answer.
type call struct {
	number uint32
	body   []instruction
}

// filter returns the seccomp program of the box.
func (b *Box) filter() []instruction {
	var calls []call
	each := func(numbers []uint32, body ...instruction) {
		for _, n := range numbers {
			calls = append(calls, call{n, body})
		}
	}
	each(unknownCalls, answer(unknown))
	each(refusedCalls, answer(refused))
	if b.level < Mounts {
		each(outsideCalls, answer(unknown))
	}
	if !b.policy.Debug {
		each(traceCalls, answer(refused))
	}
	each([]uint32{unix.SYS_CLONE, unix.SYS_UNSHARE}, checking(0, when(ifAny, unix.CLONE_NEWUSER, answer(refused)))...)
	each([]uint32{unix.SYS_IOCTL}, checking(1, when(ifEqual, unix.TIOCSTI, answer(refused)), when(ifEqual, unix.TIOCLINUX, answer(refused)))...)
	for number, n := range ownCalls {
		body := checking(n, []instruction{{Code: ifEqual, Jt: 1, K: 0}, answer(refused)})
		if user, ok := userCalls[number]; ok {
			body = slices.Concat([]instruction{argument(0)}, when(ifEqual, user, answer(refused)), body)
		}
		each([]uint32{number}, body...)
	}
	each([]uint32{unix.SYS_SOCKET}, b.sockets()...)
	slices.SortFunc(calls, func(a, b call) int { return cmp.Compare(a.number, b.number) })
	return shorten(slices.Concat([]instruction{
		{Code: load, K: arch}, {Code: ifEqual, Jt: 1, K: auditArch[runtime.GOARCH]}, answer(unknown), {Code: load, K: number},
	}, when(ifAtLeast, x32Calls, answer(unknown)), search(calls)))
}

// shorten lets all jumps to equal answers lead to one at the end, and leaves out what is not reached any more: the kernel
// compiles a filter for each program that gets it.
func shorten(f []instruction) (short []instruction) {
	answers := map[uint32]int{}
	for _, i := range f {
		if _, known := answers[i.K]; i.Code == answer(0).Code && !known {
			answers[i.K] = len(f)
			f = append(f, i)
		}
	}
	follow := func(to int) int {
		if f[to].Code == answer(0).Code {
			return answers[f[to].K]
		}
		return to
	}
	jumps := func(i int) bool { return f[i].Code&0x7 == unix.BPF_JMP }
	reached, place := make([]bool, len(f)), make([]int, len(f))
	reached[0] = true
	for i, n := 0, 0; i < len(f); i++ {
		place[i] = n
		switch {
		case !reached[i]:
			continue
		case jumps(i):
			reached[follow(i+1+int(f[i].Jt))], reached[follow(i+1+int(f[i].Jf))] = true, true
		case f[i].Code != answer(0).Code:
			reached[i+1] = true
		}
		n++
	}
	for i, step := range f {
		if jumps(i) {
			step.Jt = uint8(place[follow(i+1+int(f[i].Jt))] - place[i] - 1)
			step.Jf = uint8(place[follow(i+1+int(f[i].Jf))] - place[i] - 1)
		}
		if reached[i] {
			short = append(short, step)
		}
	}
	return short
}

// search finds the loaded number among sorted calls, and allows others. The kernel runs a filter once
// for each call that it has when it is installed, so that its steps cost more than its length.
func search(calls []call) (f []instruction) {
	const few = 4
	if len(calls) > few {
		half := len(calls) / 2
		low, high := search(calls[:half]), search(calls[half:])
		return slices.Concat([]instruction{{Code: ifAtLeast, Jt: uint8(len(low)), K: calls[half].number}}, low, high)
	}
	for _, c := range calls {
		f = append(f, when(ifEqual, c.number, c.body...)...)
	}
	return append(f, answer(allowed))
}

// checking runs the checks of an argument, and allows the call if none answers.
func checking(n uint32, checks ...[]instruction) []instruction {
	return slices.Concat([]instruction{argument(n)}, slices.Concat(checks...), []instruction{answer(allowed)})
}

// sockets answers for calls of socket, by family, type and protocol.
func (b *Box) sockets() (f []instruction) {
	add := func(i ...instruction) { f = append(f, i...) }
	add(argument(0))
	if !b.policy.NoUnix {
		add(when(ifEqual, unix.AF_UNIX, answer(allowed))...)
	}
	// Node asks for the addresses of the interfaces by a socket of routes.
	routes := append([]instruction{argument(2)}, when(ifEqual, unix.NETLINK_ROUTE, answer(allowed))...)
	add(when(ifEqual, unix.AF_NETLINK, append(routes, answer(refused))...)...)
	if b.level == Mounts || b.policy.Network != NetworkOff || len(b.extras.Listeners) > 0 {
		for _, family := range []uint32{unix.AF_INET, unix.AF_INET6} {
			add(when(ifEqual, family, answer(allowed))...)
		}
	}
	add(answer(refused))
	return f
}
