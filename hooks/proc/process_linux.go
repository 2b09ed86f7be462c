package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// deathWait bounds the wait for killed processes: one that hangs in a system
// call (a dead network disk) dies when that returns.
const deathWait = 200 * time.Millisecond

// rounds bounds how often a family is looked up again while it is being killed:
// what forks faster than that is for a limit on the number of processes to stop.
const rounds = 50

// Stat is what /proc/PID/stat says of one process. The start time tells it
// from a later process with the same pid.
type Stat struct {
	PID     int
	Started string // in the kernel's ticks
	Parent  int
	Session int
	Dead    bool // it has ended, and nobody has waited for it yet
}

// family is everything that descends from one program, as far as it can be
// found: by parent, by session, and by a marker in the environment.
type family struct {
	root    int
	marker  string
	members []Stat
}

// familyOf notes who descends from pid now.
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

// Carries reports whether a process was started with this entry, NAME=value, in
// its environment. One that cannot be read is another user's, and does not.
func Carries(pid int, entry string) bool {
	if entry == "" {
		return false
	}
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for e := range bytes.SplitSeq(env, []byte{0}) {
		if string(e) == entry {
			return true
		}
	}
	return false
}

// alive reports whether one of those written down still runs.
func (f *family) alive() bool {
	return slices.ContainsFunc(f.members, Stat.alive)
}

// kill kills the family until nobody new is found, and returns who was killed
// once they are dead: a killed process may write on until it is scheduled.
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

// sessionOf lists the living children that a program left behind.
func sessionOf(pid int, marker string) []int {
	var pids []int
	for _, k := range familyOf(pid, marker).members {
		pids = append(pids, k.PID)
	}
	return pids
}

// Table reads the process table.
func Table() []Stat {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var all []Stat
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, ok := Read(pid); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// Read reads /proc/PID/stat; ok is false if there is no such process. The name
// in brackets may hold anything, so the fields are counted from the last bracket.
func Read(pid int) (s Stat, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, false
	}
	const state, parent, session, started = 0, 1, 3, 19
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) <= started {
		return Stat{}, false
	}
	s = Stat{PID: pid, Started: string(fields[started]), Dead: fields[state][0] == 'Z' || fields[state][0] == 'X'}
	s.Parent, _ = strconv.Atoi(string(fields[parent]))
	s.Session, _ = strconv.Atoi(string(fields[session]))
	return s, true
}

// alive reports whether the very process of s still runs.
func (s Stat) alive() bool {
	now, ok := Read(s.PID)
	return ok && !now.Dead && now.Started == s.Started
}

// Alive reports whether a process with that pid runs.
func Alive(pid int) bool {
	s, ok := Read(pid)
	return ok && !s.Dead
}
