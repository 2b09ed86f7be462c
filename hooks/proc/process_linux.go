package proc

import (
	"os"
	"slices"
	"syscall"
	"time"
)

// deathWait bounds the wait for killed processes. A busy machine takes a second for a few
// hundred of them. One that hangs in a system call, such as on a dead network disk, only
// dies when that returns.
const deathWait = 5 * time.Second

// rounds bounds how often a family is searched again while it is being killed. Processes
// that fork faster have to be stopped by a limit on their number.
const rounds = 50

// family is all that can be found of a program's tree: by parent, by session, and by a
// marker in the environment.
type family struct {
	root    int
	marker  string
	members []Stat
}

// familyOf returns the processes that descend from pid now.
func familyOf(pid int, marker string) *family {
	f := &family{root: pid, marker: marker}
	f.members = f.search()
	return f
}

// search returns the family's living processes without the root.
func (f *family) search() []Stat {
	all := Table()
	below := map[int]bool{f.root: true}
	for grown := true; grown; {
		grown = false
		for _, s := range all {
			if !below[s.PID] && (below[s.Parent] || s.Session == f.root) {
				below[s.PID], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(all, func(s Stat) bool {
		return s.Dead || s.PID == f.root || s.PID == os.Getpid() || !below[s.PID] && !Carries(s.PID, f.marker)
	})
}

// alive reports whether one of the members still runs.
func (f *family) alive() bool {
	return slices.ContainsFunc(f.members, Stat.alive)
}

// kill kills the family until no new member is found, and returns the killed processes once
// they are dead: a killed process may continue to write until it is scheduled.
func (f *family) kill() []int {
	var killed []int
	victims := f.members
	for range rounds {
		for _, k := range victims {
			if k.alive() && syscall.Kill(k.PID, syscall.SIGKILL) == nil {
				killed = append(killed, k.PID)
			}
		}
		f.members = slices.Concat(f.members, victims)
		victims = slices.DeleteFunc(f.search(), func(s Stat) bool { return slices.Contains(killed, s.PID) })
		if len(victims) == 0 {
			break
		}
	}
	for end := time.Now().Add(deathWait); f.alive() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return killed
}

// sessionOf returns the living children that a program left behind.
func sessionOf(pid int, marker string) []int {
	var pids []int
	for _, k := range familyOf(pid, marker).members {
		pids = append(pids, k.PID)
	}
	return pids
}
