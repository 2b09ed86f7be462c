package hooks

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

// kin is one process of a family. Its start time tells it from a later process
// that was given the same pid.
type kin struct {
	pid     int
	started string
}

// family is everything that descends from one program, as far as it can be
// found: by parent, by session, and by a marker in the environment.
type family struct {
	root    int
	marker  []byte
	members []kin
}

// status is what /proc/PID/stat says of one process.
type status struct {
	kin
	parent, session int
	dead            bool
}

// familyOf writes down who descends from pid now.
func familyOf(pid int, marker string) *family {
	f := &family{root: pid}
	if marker != "" {
		f.marker = []byte(marker)
	}
	f.members = f.search()
	return f
}

// search returns the family's living processes without the root.
func (f *family) search() []kin {
	all := processes()
	below := map[int]bool{f.root: true}
	for grown := true; grown; {
		grown = false
		for _, s := range all {
			if !below[s.pid] && (below[s.parent] || s.session == f.root) {
				below[s.pid], grown = true, true
			}
		}
	}
	var found []kin
	for _, s := range all {
		if s.dead || s.pid == f.root || s.pid == os.Getpid() {
			continue
		}
		if below[s.pid] || f.marked(s.pid) {
			found = append(found, s.kin)
		}
	}
	return found
}

// marked reports whether a process has the family's marker in its environment.
// That of other users' processes cannot be read; they are not ours.
func (f *family) marked(pid int) bool {
	if f.marker == nil {
		return false
	}
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(entry, f.marker) {
			return true
		}
	}
	return false
}

// alive reports whether one of those written down still runs.
func (f *family) alive() bool {
	return slices.ContainsFunc(f.members, func(k kin) bool { return startTime(k.pid) == k.started })
}

// kill kills the family until nobody new is found, and returns who was killed
// once they are dead: a killed process may write on until it is scheduled.
func (f *family) kill() []int {
	var killed []int
	victims := f.members
	for range rounds {
		for _, k := range victims {
			if startTime(k.pid) == k.started && syscall.Kill(k.pid, syscall.SIGKILL) == nil {
				killed = append(killed, k.pid)
			}
		}
		f.members = slices.Concat(f.members, victims)
		victims = slices.DeleteFunc(f.search(), func(k kin) bool { return slices.Contains(killed, k.pid) })
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
		pids = append(pids, k.pid)
	}
	return pids
}

// processes reads the process table.
func processes() []status {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var all []status
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, ok := statusOf(pid); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// statusOf reads /proc/PID/stat. The name in brackets may hold anything, so the
// fields are counted from the last bracket.
func statusOf(pid int) (status, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return status{}, false
	}
	const state, parent, session, started = 0, 1, 3, 19
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) <= started {
		return status{}, false
	}
	s := status{kin: kin{pid: pid, started: string(fields[started])}}
	s.parent, _ = strconv.Atoi(string(fields[parent]))
	s.session, _ = strconv.Atoi(string(fields[session]))
	s.dead = fields[state][0] == 'Z' || fields[state][0] == 'X'
	return s, true
}

// startTime is when a process started, in the kernel's own ticks, or "" if
// there is no such process any more.
func startTime(pid int) string {
	s, ok := statusOf(pid)
	if !ok || s.dead {
		return ""
	}
	return s.started
}
