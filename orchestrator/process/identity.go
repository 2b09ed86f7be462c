package process

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Owner is what a process was started for.
type Owner struct {
	Kind   CallerKind // MemberTool or Hook
	Member string     // empty for a hook of the whole team
}

// Processes records which processes the team has started and for which owner, so that
// the position of a caller in the process tree identifies it. Each must be started in
// its own session (setsid), because orphans keep their session when their parents end.
// It is safe for concurrent use. Create it with New.
type Processes struct {
	marked func(pid int) bool // reports whether a process is one of this team, also of a killed run
	self   int                // our own pid
	grace  time.Duration      // how long Reap leaves a zombie to other waiters

	mu      sync.Mutex
	live    map[int]registration // by pid of the started process, until it is released
	past    map[int]registration // released, but its session may still have processes
	changed chan struct{}        // closed and replaced by each Register
}

// registration is one started process.
type registration struct {
	Owner Owner
	Birth string  // distinguishes it from a later process with its pid
	Mark  *int    // distinguishes two registrations of one pid
	hook  HookRun // set for a hook's process
}

// Process is what the kernel reports of a process.
type Process struct {
	PID, Parent, Group, Session int

	Birth  string // different for two processes with the same pid
	Zombie bool
}

// reader reads a Process. It fails with errNoProcess if there is none.
type reader func(pid int) (Process, error)

// errNoProcess reports that no process has a pid.
var errNoProcess = errors.New("no such process")

const (
	// registerTimeout is how long to wait for the registration of an unknown caller: a
	// process runs before its starter can register it.
	registerTimeout = 50 * time.Millisecond
	// reapGrace is how long an unregistered zombie is left to code in this process that
	// may wait for it.
	reapGrace = 2 * time.Second
	// maxAncestors bounds the walk up the process tree.
	maxAncestors = 512
	// walkTries bounds how often the walk restarts because the tree changed.
	walkTries = 20
	// maxPast is how many released processes are kept before sift runs.
	maxPast = 256
)

// New returns an empty registry for this process. marked reports whether a process was
// started by the team, also if it is no longer below this one: proc.Carries does, for the
// environment entry that all processes of a team have.
func New(marked func(pid int) bool) *Processes {
	return &Processes{
		marked: marked, self: os.Getpid(), grace: reapGrace, live: map[int]registration{}, past: map[int]registration{},
		changed: make(chan struct{}),
	}
}

// Unmarked is for teams whose processes carry no mark.
func Unmarked(pid int) bool { return false }

// Register records that process pid, just started and not yet waited for, and all
// processes below it belong to owner. Call release after waiting for it; what it left
// running still belongs to owner. Release may be called twice.
func (p *Processes) Register(pid int, owner Owner) (release func()) {
	return p.register(pid, registration{Owner: owner})
}

// HookRun describes what a hook's process was started for.
type HookRun struct {
	Depth int    // nesting depth of its requests in hooks, including itself
	Task  string // id of the task that it judges; empty: none
}

// RegisterHook is Register for a process of a hook: requests from it count as made
// within that hook.
func (p *Processes) RegisterHook(pid int, owner Owner, at HookRun) (release func()) {
	return p.register(pid, registration{Owner: owner, hook: at})
}

// HookOf returns the hook that a caller belongs to.
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

// ErrNoHook is returned by HookOf for a process that no longer belongs to a hook.
var ErrNoHook = errors.New("it no longer belongs to a hook")

// register records a started process.
func (p *Processes) register(pid int, r registration) (release func()) {
	if info, err := Read(pid); err == nil {
		r.Birth = info.Birth // if it has ended already, only its session counts
	}
	r.Mark = new(int)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live[pid] = r
	delete(p.past, pid) // a new process has this pid: the old session is gone
	close(p.changed)
	p.changed = make(chan struct{})
	return func() { p.release(pid, r) }
}

// release moves a process from live to past. A pid that was registered again meanwhile
// stays.
func (p *Processes) release(pid int, r registration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live[pid].Mark != r.Mark {
		return // released before, or the pid was registered again
	}
	delete(p.live, pid)
	p.past[pid] = r
	if len(p.past) >= maxPast {
		p.sift()
	}
}

// sift forgets released processes whose sessions are gone, because their pids may be
// reused. p.mu is held.
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

// Identify identifies the process at the other end of a control connection: a member's
// tool, a hook, a stray, a process in another namespace, or the operator. It refuses
// other users, and callers that it cannot see.
func (p *Processes) Identify(c net.Conn) (Caller, error) {
	peer, err := peerOf(c)
	if err != nil {
		return Caller{}, fmt.Errorf("cannot tell who calls: %w", err)
	}
	defer peer.close()
	if peer.uid != os.Geteuid() {
		return Caller{}, fmt.Errorf(
			"only the user who runs the team may control it (you are user %d, it is %d)", peer.uid, os.Geteuid())
	}
	if peer.pid <= 0 {
		return Caller{}, errors.New("cannot tell who calls: the process is in another PID namespace")
	}
	by, err := p.locate(peer.pid, Read)
	if by.Kind == Operator && !sameNamespace(peer.pid) {
		by.Kind = OtherNamespace
	}
	if err == nil && !peer.alive() {
		err = errNoProcess // the pid may have been reused meanwhile
	}
	if err != nil {
		return Caller{}, fmt.Errorf("cannot tell who calls: process %d: %w", peer.pid, err)
	}
	return by, nil
}

// peerOf returns the process at the other end of a connection.
func peerOf(c net.Conn) (who peer, err error) {
	uc, ok := c.(syscall.Conn)
	if !ok {
		return peer{}, fmt.Errorf("a %T is no unix socket", c)
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return peer{}, fmt.Errorf("look at a socket: %w", err)
	}
	var failure error
	err = raw.Control(func(fd uintptr) { who, failure = peerAt(int(fd)) })
	return who, errors.Join(err, failure)
}

// Peer returns the process at the other end of a unix socket, and its user.
func Peer(c net.Conn) (pid, uid int, err error) {
	peer, err := peerOf(c)
	if err != nil {
		return 0, 0, err
	}
	peer.close()
	return peer.pid, peer.uid, nil
}

// locate determines the owner of process pid. It waits shortly for the registration of
// an unknown one.
func (p *Processes) locate(pid int, read reader) (Caller, error) {
	patience := time.NewTimer(registerTimeout)
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
		if by.Kind != Unowned {
			return by, nil
		}
		select {
		case <-changed:
		case <-patience.C:
			return by, nil
		}
	}
}

// ancestry returns a process and its ancestors, up to process top or the root of the
// tree. If a parent ends meanwhile, the process has another parent, so the walk
// restarts.
func ancestry(pid, top int, read reader) ([]Process, error) {
	for range walkTries {
		chain, err := climb(pid, top, read)
		if !errors.Is(err, errTreeChanged) {
			return chain, err
		}
	}
	return nil, errTreeChanged
}

// errTreeChanged reports that processes ended during the walk.
var errTreeChanged = errors.New("the process tree changes too fast")

// climb returns the processes from pid upwards, until top, process 1, or one that
// cannot be read. The result begins with pid. It fails if the tree changes meanwhile;
// the caller tries again.
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
	// Each must still be the parent of the one before: a pid may be reused between the
	// reads.
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

// judge determines the owner of the first process of a chain.
func (p *Processes) judge(chain []Process, read reader) Caller {
	pid := chain[0].PID
	if r, ok := p.registered(chain, read); ok {
		return Caller{Kind: r.Owner.Kind, Member: r.Owner.Member, PID: pid}
	}
	if p.isBelow(chain) || p.leftBehind(chain) {
		return Caller{Kind: Unowned, PID: pid}
	}
	return Caller{Kind: Operator, PID: pid}
}

// isBelow reports whether a chain leads from below this process to it.
func (p *Processes) isBelow(chain []Process) bool {
	return chain[len(chain)-1].PID == p.self && len(chain) > 1
}

// registered returns the registration of the nearest process in a chain; false: there
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

// leftBehind reports whether a chain contains a process of this team that is no longer
// below this one: a killed run left it, or it escaped.
func (p *Processes) leftBehind(chain []Process) bool {
	return slices.ContainsFunc(chain, func(at Process) bool { return at.PID != p.self && p.marked(at.PID) })
}

// ofSession returns the registered process whose session or process group contains a
// process. p.mu is held.
func (p *Processes) ofSession(at Process, read reader) (registration, bool) {
	for _, id := range []int{at.Session, at.Group} {
		r, ok := p.live[id]
		if !ok {
			r, ok = p.past[id]
		}
		if !ok || r.Birth == "" {
			continue
		}
		// A session's pid is not reused while the session has processes. If a younger
		// process has the pid, the known session is gone.
		if first, err := read(id); err == nil && first.Birth != r.Birth {
			continue
		}
		return r, true
	}
	return registration{}, false
}

// Birth returns a value that distinguishes a process from all others with its pid. A
// zombie counts as ended: in a container whose first process does not reap, it stays
// for ever.
func Birth(pid int) (string, error) {
	info, err := Read(pid)
	if err == nil && info.Zombie {
		return "", errNoProcess
	}
	return info.Birth, err
}

// String formats an owner for errors and logs.
func (o Owner) String() string { return string(o.Kind) + " of " + strconv.Quote(o.Member) }
