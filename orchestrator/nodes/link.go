package nodes

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// The errors of a node that the coordinator does not take.
var (
	// ErrFormat means that node and coordinator speak different versions.
	ErrFormat = errors.New("node and coordinator are of different versions of covey")
	// ErrRefused means that the coordinator refuses the node.
	ErrRefused = errors.New("the coordinator refuses this node")
)

// refusals are the errors of a refused node.
var refusals = Errors{"format": ErrFormat, "taken": ErrTaken, "refused": ErrRefused}

// Profile describes a node to the coordinator.
type Profile struct {
	Name     string   `json:"name"`
	Labels   []string `json:"labels,omitempty"`
	Places   int      `json:"places"`
	Version  string   `json:"version"`
	Draining bool     `json:"draining,omitempty"` // it takes no more members
	Trouble  string   `json:"trouble,omitempty"`  // why, unless its owner wants it
}

// LinkConfig is what a Link needs.
type LinkConfig struct {
	Team    string
	Profile Profile
	Dir     string // of the node's own disk
	Errors  Errors
	Times   Times
	OnError func(error) // called with errors that no call returns; it must not block
}

// Handle carries out an order about a member. Its context ends if the coordinator no longer waits, or
// another one has begun.
type Handle = func(ctx context.Context, member, method string, in json.RawMessage) (json.RawMessage, error)

// Link is a node's connection to the coordinator.
type Link struct {
	config   LinkConfig
	wire     Wire
	spool    *spool
	process  string // this one
	requests *caller
	orders   *callee
	lanes    map[lane]*sender

	draining atomic.Bool
	left     atomic.Bool
	resend   chan struct{} // reports are sent again
	acked    chan uint64   // the number of the last report that is stored
	refused  chan error

	mu      sync.Mutex
	heard   time.Time // when the coordinator has answered last; zero: never
	met     chan struct{}
	trouble string // why it cannot carry members at the moment; empty: it can
}

// mostRequests is how many requests of a node may wait at the same time, in places for members.
const mostRequests = 8

// requestsOf returns how many requests a node with that many places may have.
func requestsOf(places int) int { return mostRequests * (8 + places) }

// NewLink returns a node's connection. Close must be called in any case.
func NewLink(wire Wire, c LinkConfig) (*Link, error) {
	s, err := openSpool(c.Dir)
	if err != nil {
		return nil, err
	}
	c.Times = c.Times.defaults()
	l := &Link{config: c, wire: wire, spool: s, process: rand.Text(), lanes: map[lane]*sender{}, resend: make(chan struct{}, 1),
		acked: make(chan uint64, 1), refused: make(chan error, 1), met: make(chan struct{})}
	for _, on := range []lane{beats, requests, reports, answers} {
		l.lanes[on] = &sender{wire: wire, subject: Subject(c.Team, c.Profile.Name, string(on))}
	}
	l.requests = newCaller(func(m message) error { return l.send(requests, m) }, c.Errors, c.Times.Repeat, requestsOf(c.Profile.Places))
	l.orders = &callee{errors: c.Errors}
	return l, nil
}

// Close closes the files of the node.
func (l *Link) Close() error { return l.spool.close() }

// send sends a message. To the coordinator, the epoch means for which one it is.
func (l *Link) send(on lane, m message) error {
	m.Process, m.Epoch = l.process, l.spool.highest()
	return l.lanes[on].send(m)
}

// Epoch returns the highest epoch that the node has seen.
func (l *Link) Epoch() uint64 { return l.spool.highest() }

// Met returns a channel that is closed when the coordinator has taken the node for the first time.
func (l *Link) Met() <-chan struct{} { return l.met }

// Silent returns for how long the coordinator has not answered; since this process began if it never has.
func (l *Link) Silent() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.heard)
}

// Ask asks the coordinator about a member, until it is answered or ctx ends.
func (l *Link) Ask(ctx context.Context, member, method string, in json.RawMessage) (json.RawMessage, error) {
	return l.requests.call(ctx, message{Member: member, Method: method, Body: in}, nil)
}

// Report reports something of a member. It returns when the report is on the disk, and waits for
// one that is full. Its error is that of ctx or of what is too large.
func (l *Link) Report(ctx context.Context, member string, body json.RawMessage) error {
	if err := check(body); err != nil {
		return err
	}
	const again = time.Second
	for told := false; ; told = true {
		full := l.spool.room()
		if full == nil {
			err := l.spool.add(member, body)
			if err == nil {
				if told {
					l.Suffer(nil)
				}
				return nil
			}
			if !told {
				l.Suffer(err)
				l.config.OnError(fmt.Errorf("a report cannot be stored, and is tried again: %w", err))
			}
		}
		select {
		case <-full: // nil blocks
		case <-time.After(again):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Suffer tells the coordinator what keeps the node from carrying more members; nil: nothing any more.
func (l *Link) Suffer(err error) {
	l.mu.Lock()
	if l.trouble = ""; err != nil {
		l.trouble = err.Error()
	}
	l.mu.Unlock()
	l.beat("")
}

// Drain tells the coordinator that the node takes no more members.
func (l *Link) Drain() {
	l.draining.Store(true)
	l.beat("")
}

// Leave waits until all reports are stored and says goodbye, so that nobody waits for this node. It
// returns early if ctx ends, without goodbye unless the node has trouble: then reports may stay on its disk.
func (l *Link) Leave(ctx context.Context) error {
	const every = 20 * time.Millisecond
	for waits := true; waits && !l.spool.empty(); {
		select {
		case <-time.After(every):
		case <-ctx.Done():
			if l.profile().Trouble == "" {
				return context.Cause(ctx)
			}
			waits = false
		}
	}
	l.left.Store(true)
	l.beat(bye)
	return nil
}

// profile describes the node as it is now.
func (l *Link) profile() Profile {
	p := l.config.Profile
	l.mu.Lock()
	defer l.mu.Unlock()
	p.Trouble = l.trouble
	p.Draining = l.draining.Load() || p.Trouble != ""
	return p
}

// beat gives a sign of life.
func (l *Link) beat(method string) {
	body, err := json.Marshal(l.profile())
	if err != nil {
		l.config.OnError(err)
		return
	}
	_ = l.send(beats, message{Method: method, Disk: l.spool.id, Body: body})
}

// Serve connects the node and calls handle for each order, in a goroutine of its own, until ctx ends or
// the coordinator refuses the node. Then it waits for them.
func (l *Link) Serve(ctx context.Context, handle Handle) error {
	l.orders.handle = func(ctx context.Context, m message) (json.RawMessage, error) {
		return handle(ctx, m.Member, m.Method, m.Body)
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer l.orders.group.Wait()
	defer cancel()
	for on, take := range map[lane]func(message){
		inbox:  l.answered,
		orders: func(m message) { l.ordered(ctx, m) },
	} {
		var r receiver
		stop, err := l.wire.Listen(Subject(l.config.Team, l.config.Profile.Name, string(on)), func(_ string, data []byte) {
			if m, ok := r.add(data); ok {
				take(m)
			}
		})
		if err != nil {
			return fmt.Errorf("listen to the coordinator: %w", err)
		}
		defer stop()
	}
	l.mu.Lock()
	l.heard = time.Now()
	l.mu.Unlock()
	group.Go(func() { l.deliver(ctx) })
	tick := time.NewTicker(l.config.Times.Beat)
	defer tick.Stop()
	for {
		if !l.left.Load() {
			l.beat("")
		}
		select {
		case <-tick.C:
		case err := <-l.refused:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// admit reports whether a message is of the newest coordinator. After a new one has begun, or after a
// silence, all that waits is sent again.
func (l *Link) admit(m message) bool {
	if m.Format != Format {
		return false
	}
	current, isNew, err := l.spool.admit(m.Epoch)
	if err != nil {
		l.config.OnError(err)
	}
	if !current {
		return false
	}
	l.orders.begin(fmt.Sprint(m.Epoch), requestsOf(l.config.Profile.Places), func(m message) error { return l.send(answers, m) })
	l.mu.Lock()
	silent := time.Since(l.heard) > 2*l.config.Times.Beat
	l.heard = time.Now()
	l.mu.Unlock()
	if silent || isNew {
		l.requests.resume()
		l.again()
	}
	return true
}

// again lets reports without acknowledgement be sent again.
func (l *Link) again() {
	select {
	case l.resend <- struct{}{}:
	default:
	}
}

// ordered takes an order.
func (l *Link) ordered(ctx context.Context, m message) {
	if l.admit(m) {
		l.orders.take(ctx, fmt.Sprint(m.Epoch), m)
	}
}

// The kinds of what the coordinator sends to the inbox, besides answers.
const (
	welcome = "welcome" // to a beat
	refusal = "refused" // of a node; it has a fault
	stored  = "stored"  // reports up to a number
)

// answered takes what the coordinator says to the node's inbox.
func (l *Link) answered(m message) {
	if m.Method == refusal && m.Fault != nil && m.Process == l.process && m.Epoch >= l.Epoch() {
		select {
		case l.refused <- refusals.error(m.Fault):
		default:
		}
		return
	}
	if m.Process != l.process || !l.admit(m) {
		return
	}
	switch m.Method {
	case welcome:
		l.mu.Lock()
		defer l.mu.Unlock()
		select {
		case <-l.met:
		default:
			close(l.met)
			l.requests.resume()
			l.again()
		}
	case stored:
		select {
		case <-l.acked: // a higher number replaces it
		default:
		}
		l.acked <- m.Number // only this goroutine sends
	default:
		l.requests.answered(m)
	}
}

// deliver sends reports until ctx ends. Those without acknowledgement are sent again after a pause.
func (l *Link) deliver(ctx context.Context) {
	const most = 8 << 20 // bytes on their way
	sent, stored, way := uint64(0), uint64(0), 0
	timer := time.NewTicker(l.config.Times.Repeat)
	defer timer.Stop()
	for {
		for way < most {
			list, err := l.spool.after(max(sent, stored))
			if err != nil {
				l.config.OnError(fmt.Errorf("read reports: %w", err))
			}
			for _, m := range list {
				_ = l.send(reports, m)
				sent, way = m.Number, way+len(m.Body)
			}
			if len(list) == 0 {
				break
			}
		}
		select {
		case <-l.spool.grown:
		case n := <-l.acked:
			if n > stored {
				if err := l.spool.drop(n); err != nil {
					l.config.OnError(fmt.Errorf("remove stored reports: %w", err))
				}
				timer.Reset(l.config.Times.Repeat)
			}
			stored = max(stored, n)
			if stored >= sent {
				way = 0
			}
		case <-timer.C:
			sent, way = stored, 0
		case <-l.resend:
			sent, way = stored, 0
		case <-ctx.Done():
			return
		}
	}
}
