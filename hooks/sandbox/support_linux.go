package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Probe asks the kernel what it can hold. It starts a process in namespaces of its own.
func Probe() Support {
	var s Support
	lacks := func(part, why, cure string) { s.Missing = append(s.Missing, Lacks{part, why, cure}) }
	version, err := landlockVersion()
	switch s.Landlock = version; {
	case errors.Is(err, unix.ENOSYS):
		lacks("landlock", "this kernel has no landlock", "use Linux 5.19 or newer, built with CONFIG_SECURITY_LANDLOCK")
	case errors.Is(err, unix.EOPNOTSUPP):
		lacks("landlock", "landlock is disabled", "add landlock to the parameter lsm= with which the kernel boots")
	case err != nil:
		lacks("landlock", fmt.Sprintf("landlock is refused (%v)", err), "allow the calls landlock_* in the container's seccomp profile")
	case version < minLandlock:
		lacks("landlock", fmt.Sprintf("landlock has version %d, which refuses to move files between folders", version),
			"use Linux 5.19 or newer")
	}
	s.Seccomp = auditArch[runtime.GOARCH] != 0 && canFilter()
	if !s.Seccomp {
		lacks("seccomp", "system calls cannot be filtered on "+runtime.GOARCH+" here",
			"use amd64 or arm64, and a kernel with CONFIG_SECCOMP_FILTER")
	}
	layers := probeNamespaces(version, true)
	s.Layers = layers == nil
	s.Namespaces = s.Layers
	if layers != nil {
		if err := probeNamespaces(version, false); err != nil {
			lacks("namespaces", fmt.Sprintf("namespaces cannot be used (%v)", err), namespaceCure())
		} else {
			s.Namespaces = true
			lacks("layers", fmt.Sprintf("folders cannot be laid over others (%v)", layers), "use Linux 5.11 or newer with overlayfs")
		}
	}
	return s
}

// canFilter reports whether the kernel has filters that answer with an error.
func canFilter() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}
