package proc

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// Stat holds fields of /proc/PID/stat of one process. The start time distinguishes it from a
// later process with the same pid.
type Stat struct {
	PID     int
	Started string // in the kernel's ticks
	Parent  int
	Session int
	Dead    bool // it is a zombie
	// CPU is the time that it and its children that have been waited for have computed.
	CPU time.Duration
}

// tick is the unit of CPU times in /proc. Linux shows them in hundredths of a second on all
// architectures that Go supports.
const tick = 10 * time.Millisecond

// CPUOf returns how long a program, which leads a session of its own, and its family have computed.
// It may shrink when a process ends that nobody has waited for.
func CPUOf(pid int) time.Duration {
	root, _ := Read(pid)
	sum := root.CPU
	for _, s := range familyOf(pid, "").members {
		sum += s.CPU
	}
	return sum
}

// Table reads the process table.
func Table() []Stat {
	var all []Stat
	for _, pid := range pids() {
		if s, ok := Read(pid); ok {
			all = append(all, s)
		}
	}
	return all
}

// pids lists all processes.
func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var all []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// Read reads /proc/PID/stat. ok is false if there is no such process. The name in brackets
// may contain anything, so the fields are counted from the last bracket.
func Read(pid int) (s Stat, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, false
	}
	const state, parent, session, cpu, started = 0, 1, 3, 11, 19
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) <= started {
		return Stat{}, false
	}
	s = Stat{PID: pid, Started: string(fields[started]), Dead: fields[state][0] == 'Z' || fields[state][0] == 'X'}
	s.Parent, _ = strconv.Atoi(string(fields[parent]))
	s.Session, _ = strconv.Atoi(string(fields[session]))
	for _, field := range fields[cpu : cpu+4] { // user and system time, and those of children
		ticks, _ := strconv.Atoi(string(field))
		s.CPU += time.Duration(ticks) * tick
	}
	return s, true
}

// alive reports whether the process of s still runs.
func (s Stat) alive() bool {
	now, ok := Read(s.PID)
	return ok && !now.Dead && now.Started == s.Started
}

// Alive reports whether a process with that pid runs.
func Alive(pid int) bool {
	s, ok := Read(pid)
	return ok && !s.Dead
}

// Carries reports whether a process was started with this entry, NAME=value, in its
// environment. It is false for a process whose environment cannot be read, such as another
// user's, or one that has ended.
func Carries(pid int, entry string) bool {
	return entry != "" && hasEntry(pid, func(e []byte) bool { return string(e) == entry })
}

// CarriesPrefix reports whether a process has an entry that begins with prefix.
func CarriesPrefix(pid int, prefix string) bool {
	return hasEntry(pid, func(e []byte) bool { return bytes.HasPrefix(e, []byte(prefix)) })
}

func hasEntry(pid int, is func(entry []byte) bool) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if is(entry) {
			return true
		}
	}
	return false
}
