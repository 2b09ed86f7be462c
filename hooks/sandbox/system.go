package sandbox

import "path/filepath"

// System returns what most programs need to run: the system's own programs, libraries and settings,
// which they may read, and devices, which they may write to.
func System() (read, write []string) {
	read = []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/proc", "/sys",
		"/dev/urandom", "/dev/random", "/dev/zero", "/dev/full",
	}
	// What it leads to is often outside of /etc, and its name must lead there.
	if names, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil {
		read = append(read, names)
	}
	return read, []string{"/dev/null", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}
}
