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

// proxyAddress is where programs of a box with a list of hosts find their proxy.
const proxyAddress = "127.0.0.1:3128"

// proxyEnv tells programs of it.
var proxyEnv = []string{
	"HTTP_PROXY=http://" + proxyAddress, "HTTPS_PROXY=http://" + proxyAddress, "ALL_PROXY=http://" + proxyAddress,
	"http_proxy=http://" + proxyAddress, "https_proxy=http://" + proxyAddress, "all_proxy=http://" + proxyAddress,
	"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1",
	"NODE_USE_ENV_PROXY=1", // node reads the others only then
}
