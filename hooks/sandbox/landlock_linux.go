package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights of landlock that a policy gives.
const (
	readable = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writable = readable | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// A path that is no folder has only these.
	ofFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	everything = writable | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
)

// landlockVersion returns the version of the kernel's interface, or why there is none.
func landlockVersion() (int, error) {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// ruleset opens a landlock ruleset of the policy.
func (b *Box) ruleset() (*os.File, error) {
	// An older kernel accepts the fields that it does not know, as long as they are 0.
	attr := unix.LandlockRulesetAttr{
		Handled_access_fs: everything, Scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL,
	}
	if b.support.Landlock < scopes {
		attr.Scoped = 0
	}
	if b.support.Landlock < ioctls {
		attr.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if b.support.Landlock < truncates {
		attr.Handled_access_fs &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, fmt.Errorf("make a landlock ruleset: %w", errno)
	}
	rules := os.NewFile(fd, "ruleset")
	for _, grant := range b.grants() {
		for _, path := range grant.paths {
			if err := allow(rules, path, grant.access&attr.Handled_access_fs); err != nil {
				rules.Close()
				return nil, err
			}
		}
	}
	return rules, nil
}

// grant is a right to paths.
type grant struct {
	paths  []string
	access uint64
}

// grants returns the rights that the policy gives.
func (b *Box) grants() []grant {
	p := b.policy
	return []grant{{p.Read, readable}, {p.Write, writable}, {p.Discard, writable}, {[]string{p.Temp}, writable}}
}

// allow adds a rule to a ruleset: access to a path and all below it.
func allow(rules *os.File, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil //nolint:nilerr // A path that is absent, or that this process may not reach, needs no rule.
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("grant %s: %w", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFiles
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, rules.Fd(), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("grant %s: %w", path, errno)
	}
	return nil
}

// keptByRoot are the capabilities that a boxed program of root keeps. CAP_PERFMON alone would open
// the environments of all processes, past landlock.
const keptByRoot = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_FOWNER |
	1<<unix.CAP_FSETID | 1<<unix.CAP_SETGID | 1<<unix.CAP_SETUID

// ruleThread restricts the calling thread by rules of landlock, for ever. It needs filterThread before.
func ruleThread(rules *os.File) error {
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules.Fd(), 0, 0); errno != 0 {
		return fmt.Errorf("restrict by landlock: %w", errno)
	}
	runtime.KeepAlive(rules)
	return nil
}

// filterThread takes from the calling thread new privileges, capabilities, and the system calls that a filter refuses, for ever.
func filterThread(program []instruction) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no-new-privs: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&filter)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}

// dropCapabilities drops what a boxed program does not keep: all of an ordinary user, who has some
// in a namespace of its own. No execution gives them back, because of no-new-privs.
func dropCapabilities() error {
	var keep uint32
	if unix.Geteuid() == 0 {
		keep = keptByRoot
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	keep &= data[0].Permitted // root of a container has fewer
	data = [2]unix.CapUserData{{Effective: keep, Permitted: keep}}
	if err := unix.Capset(&head, &data[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}
