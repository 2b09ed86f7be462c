package proc

import (
	"fmt"
	"sync"
	"time"
)

const (
	// defaultProcesses is how many processes a hook may have at once. A build with a
	// worker for each of many cores stays far below; a fork bomb passes it in a second.
	defaultProcesses = 1024
	// crowdPoll is how often a crowd asks how many processes the machine has. A bomb of
	// shells makes some hundred in that time on one core.
	crowdPoll = 50 * time.Millisecond
	// crowdRecount is when the tree is counted although the machine has not become much
	// fuller: others may have ended meanwhile. Counting reads the whole process table.
	crowdRecount = 2 * time.Second
	// afterlife is how long a program is watched that has ended and has left nobody in
	// its group: the classic bomb ends at once, and what it started may have left the group.
	afterlife = time.Second
)

// crowd keeps the tree of one program below a number of processes (ADVERSARIAL.md 5,
// attack 5). The kernel's own limits do not serve: RLIMIT_NPROC counts all that its
// user runs and does not bind root, and covey cannot give out pids.max of a cgroup that
// it stands in itself. So it counts, and kills the whole tree of who goes too far.
// A nil crowd watches over nothing.
type crowd struct {
	pid    int
	marker string
	limit  int
	late   func(warning string) // told if the tree is killed once nobody waits for it; may be nil

	mu      sync.Mutex // held while the tree is counted and killed
	timer   *time.Timer
	least   uint16    // fewest processes of the machine since the last count; wraps like the kernel's number
	step    int       // by how many more there may be before the tree is counted again
	counted time.Time // when the tree was counted last
	ended   time.Time // when its owner went on without it; zero: somebody waits
	kin     bool      // somebody has outlived the program
	killed  []int
	over    bool // the tree was killed
	done    bool // nobody watches any more
}

// watchCrowd watches over the tree below pid, which has just been started.
func watchCrowd(p *Process, pid int) *crowd {
	if p.MaxProcesses <= 0 || !canCount {
		return nil
	}
	c := &crowd{pid: pid, marker: p.Marker, limit: p.MaxProcesses, late: p.Crowded, least: machineLoad(),
		step: stepTo(p.MaxProcesses), counted: time.Now()}
	c.mu.Lock() // the first look finds the timer there
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(crowdPoll, c.look)
	return c
}

// settle waits until a killing that has begun is over: the program may have been the
// first to die of it.
func (c *crowd) settle() {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
}

// leave is called when nobody waits for the program any more. kin says that some of its
// tree is known to run on, gone that none of it does. It says who was killed until then.
// What is left is watched on.
func (c *crowd) leave(kin, gone bool) (killed []int, over bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended, c.kin = time.Now(), kin
	c.done = c.done || gone
	return c.killed, c.over
}

// look counts the tree if there is reason to, and comes again.
func (c *crowd) look() {
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

// due reports whether the tree is to be counted: the machine has so many processes
// more that it could have half of what it may have yet, or it was long ago. load wraps,
// and so does the difference.
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
		c.done = true // the pid is somebody else's by now, and so the tree is gone
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
		c.late(CrowdNote(c.limit))
	}
}

// stepTo is how many processes more are reason to count a tree that may have room more.
// Half of it is safe, as those of others count as well; but each count reads the whole
// process table, and so the last few before the limit are not counted one by one.
func stepTo(room int) int { return max(room/2, 8) }

// CrowdNote says for people that a tree was killed.
func CrowdNote(limit int) string {
	return fmt.Sprintf("started more than %d processes and was killed with all of them", limit)
}

// DefaultLimit is how many processes a hook may have where nobody says.
func DefaultLimit() int { return limitIn(room()) }

// limitIn is the default limit where room is how many there may be at all, or 0.
// A bomb that fills up the whole room would never pass a limit above it, and covey
// itself must be able to start what it needs.
func limitIn(room int) int {
	if room <= 0 {
		return defaultProcesses
	}
	return min(defaultProcesses, max(room/2, 1))
}
