package sandbox

import (
	"errors"
	"fmt"
	"net"
	"path"
	"path/filepath"
	"strings"
)

// Level is how strong a box is.
type Level int

// The levels. A higher one holds all that a lower one holds.
const (
	None   Level = iota // nothing is held
	Files               // level 1: landlock and seccomp
	Mounts              // level 2: besides, an own file system and network
)

// Want is what a policy asks for.
type Want string

// What a policy can ask for.
const (
	Off       Want = "off"      // no box
	Best      Want = "best"     // as much as the kernel can hold
	Required  Want = "required" // New fails if anything that the policy asks for is not held
	OwnMounts Want = "mounts"   // like Required, and New fails below level 2
)

// Mode is what a program may connect to.
type Mode string

// The modes of a network.
const (
	NetworkOn   Mode = "on"   // anything
	NetworkOff  Mode = "off"  // nothing; at level 2 its own loopback works
	NetworkList Mode = "list" // the hosts of Policy.Hosts, through a proxy; at level 2 its own loopback works
)

// Policy is what a program may do. All paths are absolute; those that are absent are skipped.
type Policy struct {
	Want  Want     // empty means Off
	Read  []string // trees and files that may be read and executed
	Write []string // trees and files that may also be changed
	// ReadOnly are trees and files below Write that may not be changed, and Deny what may not be
	// read: paths, or names of files in any folder of Read and Write below Search. Only level 2
	// holds them.
	ReadOnly []string
	Deny     []string
	Search   []string // trees in which the names of Deny are looked for
	// Discard are trees in which the program may change everything, and nothing of it is kept.
	// Only level 2 has them; at level 1 they are like Write.
	Discard []string
	// Temp is a folder that level 2 shows as /tmp and /var/tmp, so that programs of one box share it;
	// if empty, each has an empty one of its own. Level 1 treats it like Write.
	Temp    string
	Network Mode     // empty means NetworkOn
	Hosts   []string // such as "example.com", "*.example.com" (not example.com itself) or "db:5432"; without a port 80 and 443
	NoUnix  bool     // no sockets of the family AF_UNIX; socketpair works
	Debug   bool     // the program may trace its own descendants
	MaxFile uint64   // the largest size of a file, in bytes; 0 means no limit
	MaxOpen uint64   // the largest number of open files of one process; 0 means no limit
	// MaxProcesses is how many processes a program may have, its descendants included; 0 means no limit.
	// Those who start it count them (package proc): the kernel cannot, for one program of a user.
	MaxProcesses int
}

// check returns what is wrong with a policy.
func (p Policy) check() error {
	var errs []error
	switch p.Want {
	case Best, Required, OwnMounts:
	default:
		errs = append(errs, fmt.Errorf("unknown level %q", p.Want))
	}
	switch p.Network {
	case NetworkOn, NetworkOff, NetworkList:
	default:
		errs = append(errs, fmt.Errorf("unknown network %q", p.Network))
	}
	for _, list := range [][]string{p.Read, p.Write, p.ReadOnly, p.Search, p.Discard, {p.Temp}} {
		for _, name := range list {
			if name != "" && !filepath.IsAbs(name) {
				errs = append(errs, fmt.Errorf("%s is no absolute path", name))
			}
		}
	}
	for _, name := range p.Deny {
		if !filepath.IsAbs(name) && strings.ContainsRune(name, '/') {
			errs = append(errs, fmt.Errorf("%s is neither an absolute path nor a name", name))
		}
	}
	for _, h := range p.Hosts {
		if _, err := path.Match(HostOf(h), ""); err != nil || HostOf(h) == "" {
			errs = append(errs, fmt.Errorf("%q is no host", h))
		}
	}
	return errors.Join(errs...)
}

// HostOf returns an entry of Policy.Hosts without its port.
func HostOf(entry string) string {
	if host, _, err := net.SplitHostPort(entry); err == nil {
		return host
	}
	return entry
}

// Loss is something that a box does not do as its policy asks.
type Loss struct {
	What string // what is lost, for example "the list of hosts is not held"
	Why  string // the missing part
	Cure string // how to get it; may be empty
	Held bool   // all that the policy forbids is forbidden, but something else does not work as it asks
}

// String describes the loss in one line.
func (l Loss) String() string {
	text := l.What + ": " + l.Why
	if l.Cure != "" {
		text += "; " + l.Cure
	}
	return text
}

// Support is what this system can hold. A test may take parts away from what Probe returns.
type Support struct {
	Landlock   int     // the version of the kernel's interface; 0 means none
	Seccomp    bool    // system calls can be filtered
	Namespaces bool    // level 2 works: a namespace was made and its loopback interface raised
	Layers     bool    // level 2 can discard what is written to folders
	Missing    []Lacks // what is missing, in the order of its weight
}

// Lacks is a missing part of a Support.
type Lacks struct {
	Part string // "landlock", "seccomp", "namespaces" or "layers"
	Why  string
	Cure string
}

// lacks returns why a part is missing.
func (s Support) lacks(part string) Lacks {
	for _, m := range s.Missing {
		if m.Part == part {
			return m
		}
	}
	return Lacks{Part: part, Why: part + " is not used"}
}

// Level returns the highest level that is possible.
func (s Support) Level() Level {
	switch {
	case s.Landlock < minLandlock || !s.Seccomp:
		return None
	case !s.Namespaces:
		return Files
	}
	return Mounts
}

// Below version 2 landlock refuses each rename from one folder to another, which breaks most
// builds.
const minLandlock = 2
