package process

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/hooks/proc"
)

// Owner is whom a process belongs to.
type Owner struct {
	Kind   CallerKind // MemberTool or Hook
	Member string     // empty for a hook of the team as a whole
}

// Processes knows which processes the team has started and for whom, so that
// a caller on the control socket can be told by where it stands in the process
// tree. Each must have been started in a session of its own (setsid): the
// session is what an orphan keeps when its parents have ended. It is safe for
// concurrent use. Make it with NewProcesses.
type Processes struct {
	mark  string        // the environment entry of all that the team starts
	self  int           // our own pid
	grace time.Duration // how long Reap leaves a zombie to whoever may wait for it

	mu      sync.Mutex
	live    map[int]registration // by pid of what was started, until it is released
	past    map[int]registration // released, but something of its session may live on
	changed chan struct{}        // closed and replaced by each Register
}

// registration is one started process.
type registration struct {
	Owner Owner
	Birth string  // tells it apart from a later process with its pid
	Mark  *int    // tells two registrations of one pid apart
	hook  HookRun // of a hook's process
}

// Process is what the kernel says of a process.
type Process struct {
	PID, Parent, Group, Session int

	Birth  string // never the same for two processes of one pid
	Zombie bool
}

// reader reads what the kernel says of a process. It fails with errNoProcess
// if there is none.
type reader func(pid int) (Process, error)

// errNoProcess is returned when there is no process with a pid.
var errNoProcess = errors.New("no such process")

const (
	// registerPatience is how long a caller that belongs to nobody may wait to
	// be registered: a process runs a moment before its starter can do that.
	registerPatience = 50 * time.Millisecond
	// reapGrace is how long a zombie that is not registered is left to whoever
	// in this process may be about to wait for it. Zombies cost nothing.
	reapGrace = 2 * time.Second
	// maxAncestors bounds the walk up the process tree.
	maxAncestors = 512
	// walkTries is how often the walk begins anew because the tree changed.
	walkTries = 20
	// maxPast is how many released processes are kept before they are sifted.
	maxPast = 256
)

// New is an empty registry of this process. mark is an environment entry,
// NAME=value, of all that the team starts: a process is known by it that is not below
// this one any more.
func New(mark string) *Processes {
	return &Processes{
		mark: mark, self: os.Getpid(), grace: reapGrace, live: map[int]registration{}, past: map[int]registration{},
		changed: make(chan struct{}),
	}
}

// Register notes that process pid, just started and not yet waited for, and
// all below it belong to owner. Call release once it has been waited for; what
// it left behind still belongs to owner then. Release may be called twice.
func (p *Processes) Register(pid int, owner Owner) (release func()) {
	return p.register(pid, registration{Owner: owner})
}

// HookRun says what a hook's process was started for.
type HookRun struct {
	Depth int    // how many hooks stand around what it asks for, itself included
	Task  string // id of the task that it judges; empty: none
}

// RegisterHook is Register for a process of a hook: what it asks the team for is known to
// come from within that hook.
func (p *Processes) RegisterHook(pid int, owner Owner, at HookRun) (release func()) {
	return p.register(pid, registration{Owner: owner, hook: at})
}

// HookOf returns the hook that a caller is a process of. It fails if nobody can say that.
func (p *Processes) HookOf(by Caller) (HookRun, error) {
	chain, err := ancestry(by.PID, p.self, Read)
	if err != nil {
		return HookRun{}, fmt.Errorf("cannot tell which hook process %d belongs to: %w", by.PID, err)
	}
	r, ok := p.registered(chain, Read)
	if !ok || r.hook.Depth == 0 {
		return HookRun{}, ErrNoHook
	}
	return r.hook, nil
}

// ErrNoHook is returned by HookOf for a process that belongs to no hook any more.
var ErrNoHook = errors.New("it belongs to no hook any more")

// register notes what is known of a process that was started.
func (p *Processes) register(pid int, r registration) (release func()) {
	if info, err := Read(pid); err == nil {
		r.Birth = info.Birth // else it has ended already: only its session counts
	}
	r.Mark = new(int)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live[pid] = r
	delete(p.past, pid) // a new process has the number: the old session is gone
	close(p.changed)
	p.changed = make(chan struct{})
	return func() { p.release(pid, r) }
}

// Release moves a process from the living to the past ones. A number that has
// been registered anew in the meantime belongs to somebody else, and stays.
func (p *Processes) release(pid int, r registration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live[pid].Mark != r.Mark {
		return // released before, or the number was registered anew
	}
	delete(p.live, pid)
	p.past[pid] = r
	if len(p.past) >= maxPast {
		p.sift()
	}
}

// sift forgets released processes of whose session nothing is left: their
// number may be used again, by anybody. p.mu is held.
func (p *Processes) sift() {
	alive, err := sessionsBelow(p.self)
	if err != nil {
		return
	}
	for pid := range p.past {
		if !alive[pid] {
			delete(p.past, pid)
		}
	}
}

// Identify says who is at the other end of a control connection: a member's
// tool, a hook, a stray, somebody elsewhere, or the operator. It refuses other users, and callers
// that it cannot see.
func (p *Processes) Identify(c net.Conn) (bus.Identity, error) {
	peer, err := peerOf(c)
	if err != nil {
		return bus.Identity{}, fmt.Errorf("cannot tell who calls: %w", err)
	}
	defer peer.close()
	if peer.uid != os.Geteuid() {
		return bus.Identity{}, fmt.Errorf(
			"only the user who runs the team may control it (you are user %d, it is %d)", peer.uid, os.Geteuid())
	}
	if peer.pid <= 0 {
		return bus.Identity{}, errors.New("cannot tell who calls: the process is in another PID namespace")
	}
	by, err := p.locate(peer.pid, Read)
	if by.Kind == Operator && !besideUs(peer.pid) {
		by.Kind = Elsewhere
	}
	if err == nil && !peer.alive() {
		err = errNoProcess // the number may have been somebody else's while we looked
	}
	if err != nil {
		return bus.Identity{}, fmt.Errorf("cannot tell who calls: process %d: %w", peer.pid, err)
	}
	return by.Identity(), nil
}

// locate finds out whom process pid belongs to. One that belongs to nobody
// gets a moment to be registered.
func (p *Processes) locate(pid int, read reader) (Caller, error) {
	patience := time.NewTimer(registerPatience)
	defer patience.Stop()
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		chain, err := ancestry(pid, p.self, read)
		if err != nil {
			return Caller{}, err
		}
		by := p.judge(chain, read)
		if by.Kind != Stray {
			return by, nil
		}
		select {
		case <-changed:
		case <-patience.C:
			return by, nil
		}
	}
}

// ancestry lists a process and its ancestors, up to process top or the root of
// the tree. A process whose parent ended while we looked has another parent
// now, so the walk begins anew.
func ancestry(pid, top int, read reader) ([]Process, error) {
	for range walkTries {
		chain, err := climb(pid, top, read)
		if !errors.Is(err, errTreeChanged) {
			return chain, err
		}
	}
	return nil, errTreeChanged
}

// errTreeChanged is returned when processes end while the tree is walked.
var errTreeChanged = errors.New("the process tree changes too fast")

// climb reads the processes from pid upwards, until top, the first process of the
// system, or one that cannot be read. The result begins with pid itself. It fails
// if the tree changes under it, which the caller answers with another try.
func climb(pid, top int, read reader) ([]Process, error) {
	var chain []Process
	for at := pid; at > 0; {
		info, err := read(at)
		if errors.Is(err, errNoProcess) && len(chain) > 0 {
			return nil, errTreeChanged
		}
		if err != nil {
			return nil, err
		}
		chain = append(chain, info)
		if at == top {
			break
		}
		if len(chain) > maxAncestors {
			return nil, fmt.Errorf("it has more than %d ancestors", maxAncestors)
		}
		at = info.Parent
	}
	// Each must still be the parent of the one before: a number that was read
	// a moment ago may belong to another process by the time we follow it.
	for i, before := range chain {
		now, err := read(before.PID)
		if errors.Is(err, errNoProcess) && i == 0 {
			return nil, err
		}
		if err != nil || now.Birth != before.Birth || now.Parent != before.Parent {
			return nil, errTreeChanged
		}
	}
	return chain, nil
}

// Judge decides whom the process that a chain begins with belongs to.
func (p *Processes) judge(chain []Process, read reader) Caller {
	pid := chain[0].PID
	if r, ok := p.registered(chain, read); ok {
		return Caller{Kind: r.Owner.Kind, Member: r.Owner.Member, PID: pid}
	}
	if p.isBelow(chain) || p.leftBehind(chain) {
		return Caller{Kind: Stray, PID: pid}
	}
	return Caller{Kind: Operator, PID: pid}
}

// isBelow reports whether a chain leads from below this process up to it.
func (p *Processes) isBelow(chain []Process) bool {
	return chain[len(chain)-1].PID == p.self && len(chain) > 1
}

// registered finds the process nearest in a chain that was started for somebody; false: there
// is none.
func (p *Processes) registered(chain []Process, read reader) (registration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range chain {
		if r, ok := p.live[at.PID]; ok && r.Birth == at.Birth {
			return r, true
		}
	}
	if p.isBelow(chain) || orphansEscape {
		for _, at := range chain {
			if at.PID == p.self {
				break
			}
			if r, ok := p.ofSession(at, read); ok {
				return r, true
			}
		}
	}
	return registration{}, false
}

// leftBehind reports whether a chain leads through a process that a run of this
// team started: one that was killed has left it, or it got out from below us.
func (p *Processes) leftBehind(chain []Process) bool {
	return slices.ContainsFunc(chain, func(at Process) bool { return at.PID != p.self && proc.Carries(at.PID, p.mark) })
}

// ofSession is the registered process in whose session or process group a
// process is. p.mu is held.
func (p *Processes) ofSession(at Process, read reader) (registration, bool) {
	for _, id := range []int{at.Session, at.Group} {
		r, ok := p.live[id]
		if !ok {
			r, ok = p.past[id]
		}
		if !ok || r.Birth == "" {
			continue
		}
		// While anything of a session lives its number is not given away. If a
		// younger process has it, the session we knew is gone.
		if first, err := read(id); err == nil && first.Birth != r.Birth {
			continue
		}
		return r, true
	}
	return registration{}, false
}

// Birth tells a process apart from all others that ever have its pid. A
// zombie counts as gone: in a container whose first process waits for nobody
// it stays for ever.
func Birth(pid int) (string, error) {
	info, err := Read(pid)
	if err == nil && info.Zombie {
		return "", errNoProcess
	}
	return info.Birth, err
}

// String is for errors and logs.
func (o Owner) String() string { return string(o.Kind) + " of " + strconv.Quote(o.Member) }
