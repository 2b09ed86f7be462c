package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
)

// ErrRefused is wrapped by the errors of New if the kernel cannot hold what a policy requires.
var ErrRefused = errors.New("the sandbox cannot be held")

// ErrVisible is returned by Box.Start in a process whose memory others may read.
var ErrVisible = errors.New("no box is started by a process whose memory is visible; call process.HideMemory first")

// Box starts programs under one policy. A nil Box starts them without any limit. It is safe for
// concurrent use.
type Box struct {
	policy  Policy
	support Support
	level   Level
	lost    []Loss
	extras  Extras
	ready   prepared
}

// Extras are what a box gives to its programs besides their policy. The zero value gives nothing.
type Extras struct {
	// Listeners are addresses, such as "127.0.0.1:4711", that are listened on in a network of the
	// box's own (level 2, network not on); each is given the listener of each program that starts,
	// and must return when that is closed. Elsewhere programs reach what listens on these addresses
	// outside of the box.
	Listeners map[string]func(net.Listener)
	// Proxy serves programs that have a list of hosts, as an HTTP proxy to these until the listener is closed; package
	// proxy has one. Without it they reach no hosts.
	Proxy func(l net.Listener, hosts []string)
	// Layers is a folder in which changes of discarded folders are kept as long as their program runs;
	// empty means os.TempDir.
	Layers string
}

// New makes a box of the highest level that the system supports. It returns nil if the policy wants
// none.
func New(p Policy, s Support, x Extras) (*Box, error) {
	if p.Want == Off || p.Want == "" {
		return nil, nil
	}
	if p.Network == "" {
		p.Network = NetworkOn
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	lost := losses(p, s, len(x.Listeners) > 0)
	if !s.Layers {
		p.Write, p.Discard = slices.Concat(p.Write, p.Discard), nil
	}
	b := &Box{policy: p, support: s, level: s.Level(), lost: lost, extras: x}
	if p.Want == Best {
		return b, nil
	}
	var refused []string
	for _, l := range b.lost {
		if !l.Held || p.Want == OwnMounts && b.level < Mounts {
			refused = append(refused, l.String())
		}
	}
	if len(refused) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrRefused, strings.Join(refused, "; "))
	}
	return b, nil
}

// Level returns the level that programs of the box have.
func (b *Box) Level() Level {
	if b == nil {
		return None
	}
	return b.level
}

// Lost returns what the box does not do as its policy asks.
func (b *Box) Lost() []Loss {
	if b == nil {
		return nil
	}
	return b.lost
}

// Policy returns the policy; the zero value for a nil Box.
func (b *Box) Policy() Policy {
	if b == nil {
		return Policy{}
	}
	return b.policy
}

// kept is what is lost where nothing can be discarded.
const kept = "what is written to the folders that are to be discarded is kept"

// losses compares what a policy asks for with what a system can hold. listens means that the box has
// listeners of its own.
func losses(p Policy, s Support, listens bool) (lost []Loss) {
	level := s.Level()
	add := func(held bool, what string, why Lacks) {
		lost = append(lost, Loss{What: what, Why: why.Why, Cure: why.Cure, Held: held})
	}
	if level == None {
		for _, m := range s.Missing {
			if m.Part != "namespaces" {
				add(false, "nothing is held", m)
			}
		}
		return lost
	}
	newer := func(kernel string) Lacks {
		return Lacks{Why: fmt.Sprintf("landlock has version %d", s.Landlock), Cure: "Linux " + kernel + " or newer can"}
	}
	if s.Landlock < scopes {
		add(false, "signals reach processes outside", newer("6.12"))
	}
	if s.Landlock < scopes && (level < Mounts || p.Network == NetworkOn) {
		add(false, "abstract unix sockets of processes outside can be connected to", newer("6.12"))
	}
	if level == Mounts {
		if len(p.Discard) > 0 && !s.Layers {
			add(true, kept, s.lacks("layers"))
		}
		return lost
	}
	if s.Landlock < truncates {
		add(false, "files elsewhere can be truncated", newer("6.2"))
	}
	why := s.lacks("namespaces")
	switch {
	case p.Network == NetworkList:
		add(false, "the list of hosts is not held: all hosts can be reached", why)
	case p.Network == NetworkOff && listens:
		add(false, "the network is not off: programs that talk to covey by it reach all hosts", why)
	case p.Network == NetworkOff:
		add(true, "programs cannot reach servers of their own on the loopback interface", why)
	}
	if len(p.Deny) > 0 {
		add(false, "what is denied below a granted folder can be read", why)
	}
	if len(p.ReadOnly) > 0 {
		add(false, "what is read-only below a writable folder can be changed", why)
	}
	if len(p.Discard) > 0 {
		add(true, kept, why)
	}
	if p.Want == OwnMounts && len(lost) == 0 {
		add(false, "there is no file system of its own", why)
	}
	return lost
}

// The versions of landlock that brought what losses names.
const (
	truncates = 3
	ioctls    = 5
	scopes    = 6
)

// Session is what serves one started program. Close must be called when the program has ended.
// Close of a nil Session does nothing.
type Session struct{ closers []func() }

// Close ends what serves the program: its proxy and its listeners.
func (s *Session) Close() {
	if s == nil {
		return
	}
	for _, f := range s.closers {
		f()
	}
}

// Start starts a command like its own method Start, in the box. The errors are those of that
// method, or ErrVisible. It may add to the environment of the command.
func (b *Box) Start(cmd *exec.Cmd) (*Session, error) {
	if b == nil || b.level == None {
		return nil, cmd.Start()
	}
	return b.start(cmd)
}
