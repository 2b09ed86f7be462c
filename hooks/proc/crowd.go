package proc

import (
	"fmt"
	"sync"
	"time"
)

const (
	// defaultProcesses is how many processes a hook may have at once. A build with a worker
	// for each of many cores stays far below it; a fork bomb exceeds it within a second.
	defaultProcesses = 1024
	// crowdPoll is how often a crowd reads how many processes the machine has. A fork bomb
	// of shells starts some hundred in that time on one core.
	crowdPoll = 50 * time.Millisecond
	// crowdRecount is when the tree is counted even if the number of processes has hardly
	// grown, because others may have ended meanwhile. Counting reads the whole process table.
	crowdRecount = 2 * time.Second
	// afterlife is how long the tree of a program is watched that has ended and has left
	// nothing in its group: the classic fork bomb ends at once, and what it started may have
	// left the group.
	afterlife = time.Second
)

// crowd keeps the tree of one program below a number of processes (ADVERSARIAL.md 5, attack
// 5). The kernel's limits cannot do that: RLIMIT_NPROC counts all processes of its user and
// does not apply to root, and covey cannot set pids.max for a cgroup that it is in itself.
// So a crowd counts, and kills the whole tree if there are too many. A nil crowd does
// nothing.
type crowd struct {
	pid    int
	marker string
	limit  int
	late   func(warning string) // called if the tree is killed after Wait has returned; may be nil

	mu      sync.Mutex // held while the tree is counted and killed
	timer   *time.Timer
	least   uint16    // fewest processes of the machine since the last count; wraps like the kernel's number
	step    int       // how many more processes cause the next count
	counted time.Time // when the tree was last counted
	ended   time.Time // when Wait returned; zero before
	kin     bool      // part of the tree has outlived the program
	killed  []int
	over    bool // the tree was killed
	done    bool // watching has ended
}

// watchCrowd starts to watch the tree below pid, which has just been started.
func watchCrowd(p *Process, pid int) *crowd {
	if p.MaxProcesses <= 0 || !canCount {
		return nil
	}
	c := &crowd{pid: pid, marker: p.Marker, limit: p.MaxProcesses, late: p.OnTooMany, least: machineLoad(),
		step: stepTo(p.MaxProcesses), counted: time.Now()}
	c.mu.Lock() // so that the first check finds the timer
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(crowdPoll, c.check)
	return c
}

// LimitProcesses watches the tree of a program that has been started, and kills it if it has more than
// limit processes; 0 means no limit. stop ends that, and reports whether the tree was killed.
func LimitProcesses(pid int, marker string, limit int) (stop func() (killed bool)) {
	c := watchCrowd(&Process{Marker: marker, MaxProcesses: limit}, pid)
	return func() bool {
		_, over := c.detach(false, true)
		return over
	}
}

// waitKill waits until a kill that has begun is over: the program may have been its first
// victim.
func (c *crowd) waitKill() {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
}

// detach is called when Wait returns. kin says that part of the tree is known to run, gone
// that none of it does. It returns the processes killed so far. The rest of the tree is
// watched further.
func (c *crowd) detach(kin, gone bool) (killed []int, over bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended, c.kin = time.Now(), kin
	c.done = c.done || gone
	return c.killed, c.over
}

// check counts the tree if necessary, and schedules the next check.
func (c *crowd) check() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return
	}
	if load := machineLoad(); c.due(time.Now(), load) {
		c.least = load
		c.count()
	}
	if !c.ended.IsZero() && !c.kin && time.Since(c.ended) > afterlife {
		c.done = true
	}
	if !c.done {
		c.timer.Reset(crowdPoll)
	}
}

// due reports whether the tree has to be counted: the machine has so many more processes
// that the tree could have used half of its remaining room, or the last count was long ago.
// load wraps, and so does the difference.
func (c *crowd) due(now time.Time, load uint16) bool {
	grown := int(int16(load - c.least))
	if grown < 0 {
		c.least = load
	}
	known := c.ended.IsZero() || c.kin
	return grown >= c.step || known && now.Sub(c.counted) >= crowdRecount
}

// count counts the tree and kills it if there are too many.
func (c *crowd) count() {
	late := !c.ended.IsZero()
	if late && Alive(c.pid) {
		c.done = true // the pid belongs to another process by now, so the tree is gone
		return
	}
	size, killed := thin(c.pid, c.marker, c.limit)
	c.counted, c.step = time.Now(), stepTo(c.limit-size)
	c.kin = c.kin && size > 0
	if size <= c.limit {
		return
	}
	c.killed, c.over, c.done = killed, true, true
	if late && c.late != nil {
		c.late(TooManyText(c.limit))
	}
}

// stepTo returns how many new processes cause a count of a tree that may have room more.
// Half is safe, because processes of others count as well. Each count reads the whole
// process table, so the last few before the limit are not counted one by one.
func stepTo(room int) int { return max(room/2, 8) }

// TooManyText tells people that a tree was killed.
func TooManyText(limit int) string {
	return fmt.Sprintf("started more than %d processes and was killed with all of them", limit)
}

// DefaultLimit returns how many processes a hook may have by default.
func DefaultLimit() int { return limitIn(room()) }

// limitIn returns the default limit if room is how many processes there may be in all, or 0.
// A fork bomb that fills the room would never exceed a limit above it, and covey must still
// be able to start processes itself.
func limitIn(room int) int {
	if room <= 0 {
		return defaultProcesses
	}
	return min(defaultProcesses, max(room/2, 1))
}
