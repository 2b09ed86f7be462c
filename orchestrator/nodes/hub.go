package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// State describes whether a node can be reached.
type State string

// The states of a node.
const (
	Here State = "here"
	Away State = "away" // it has been silent for half a minute, or has not been heard yet
	Lost State = "lost" // it has been silent for a minute; its members are released
	Left State = "left" // it has said goodbye
)

// Node is a node as the coordinator knows it.
type Node struct {
	Profile
	State   State     `json:"state"`
	Since   time.Time `json:"since"`             // of the state
	Members []string  `json:"members,omitempty"` // those that sit there
	Was     []string  `json:"-"`                 // those that sat there when it was lost, once it is back
}

// Free returns how many more members the node can take.
func (n Node) Free() int { return max(0, n.Places-len(n.Members)) }

// Kept is what outlives a coordinator.
type Kept struct {
	Profile Profile `json:"profile"`
	Disk    string  `json:"disk"`  // of the reports
	Taken   uint64  `json:"taken"` // the number of the last report
	Left    bool    `json:"left,omitempty"`
	// Was are the members that it carried when it was lost, until it is back.
	Was []string `json:"was,omitempty"`
}

// Store keeps what must outlive a coordinator, by the names of nodes and of members.
type Store interface {
	Nodes(context.Context) (map[string]Kept, error)
	KeepNode(ctx context.Context, node string, k Kept) error          // called by one goroutine at a time
	Seat(ctx context.Context, member string) (node string, err error) // the node on which it sat last
	KeepSeat(ctx context.Context, member, node string) error
}

// HubConfig is what a Hub needs.
type HubConfig struct {
	Team  string
	Epoch uint64
	// Takes returns an error that says why the team takes no such node; nil: it does. It may add labels.
	Takes   func(*Profile) error
	Version string // of covey
	Store   Store
	Errors  Errors
	Times   Times
	Changed func(Node)            // called with each change of a state, one after another
	Settle  func(context.Context) // waits until what was taken outlives this process
	Refused func(error)           // called when a node is refused, once for each of its processes
	OnError func(error)           // called with errors that no call returns; it must not block
}

// Hub is the coordinator's end of all connections to nodes.
type Hub struct {
	config HubConfig
	wire   Wire

	mu      sync.Mutex
	nodes   map[string]*node
	ready   chan struct{} // closed when the nodes that were there before have been heard
	changed chan struct{} // closed and replaced when places may have become free
	look    chan struct{} // states may have changed
	alone   time.Time     // when this coordinator was last seen cut off itself: it could not store, or waited for it
	storing sync.Mutex    // held while what is kept of a node is read and stored

	refusing sync.Mutex
	refused  map[string]string // processes of nodes that were refused, by their names
}

// node is the coordinator's end of one connection.
type node struct {
	name string // never changes, so that mu need not be held for it
	Node
	kept     Kept
	told     news   // what Changed was called with
	process  string // empty: none has been heard
	heard    time.Time
	gone     chan struct{} // closed and replaced when the process no longer carries its members
	send     func(lane, message) error
	orders   *caller
	requests *callee
	reports  chan message
	stops    []func() error
}

// news is what Changed tells of a node.
type news struct {
	state    State
	draining bool
}

// NewHub returns the coordinator's end.
func NewHub(wire Wire, c HubConfig) *Hub {
	c.Times = c.Times.defaults()
	return &Hub{config: c, wire: wire, nodes: map[string]*node{}, refused: map[string]string{}, ready: make(chan struct{}),
		changed: make(chan struct{}), look: make(chan struct{}, 1)}
}

// Ask answers a request of a node about a member. Its context ends if the node no longer waits. A
// request whose answer was lost with a coordinator comes again to the next one.
type Ask = func(ctx context.Context, node, member, method string, in json.RawMessage) (json.RawMessage, error)

// Take takes a report about a member. Those of a node come one after another, in their order. It
// returns nil after the report is stored; otherwise the report comes again, as it does when
// the coordinator ends in that moment. The number of the same report is the same then.
type Take = func(ctx context.Context, node string, number uint64, member string, body json.RawMessage) error

// Serve connects nodes until ctx ends. Then it waits for what was begun.
func (h *Hub) Serve(ctx context.Context, ask Ask, take Take) error {
	kept, err := h.config.Store.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("read the nodes: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer h.dismiss(&group)
	defer cancel()
	h.mu.Lock()
	for name, k := range kept {
		if err := h.meet(ctx, &group, name, k, ask, take); err != nil {
			h.mu.Unlock()
			return err
		}
	}
	h.mu.Unlock()
	stop, err := h.wire.Listen(Subject(h.config.Team, "*", string(beats)), func(subject string, data []byte) {
		var r receiver
		if m, ok := r.add(data); ok {
			name := strings.TrimSuffix(strings.TrimPrefix(subject, "covey."+h.config.Team+".node."), "."+string(beats))
			if err := h.beat(ctx, &group, name, m, ask, take); err != nil {
				h.config.OnError(fmt.Errorf("node %s: %w", name, err))
			}
		}
	})
	if err != nil {
		return fmt.Errorf("listen to nodes: %w", err)
	}
	defer stop()
	tick := time.NewTicker(h.config.Times.Beat)
	defer tick.Stop()
	met := sync.OnceFunc(func() { close(h.ready) }) // else the first node that is heard gets all members
	for {
		select {
		case <-tick.C:
			met()
			h.judge(ctx)
		case <-h.look:
			h.judge(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// dismiss ends the connections, after their context has ended.
func (h *Hub) dismiss(group *sync.WaitGroup) {
	h.mu.Lock()
	list := slices.Collect(maps.Values(h.nodes))
	for _, n := range list {
		for _, stop := range n.stops {
			_ = stop() // the connection may be cut
		}
	}
	h.mu.Unlock()
	for _, n := range list {
		n.requests.group.Wait()
	}
	group.Wait()
}

// meet makes the coordinator's end of a connection. The node counts as silent since now. mu must be
// held.
func (h *Hub) meet(ctx context.Context, group *sync.WaitGroup, name string, k Kept, ask Ask, take Take) error {
	n := &node{Node: Node{Profile: k.Profile, State: Away, Since: time.Now()}, kept: k, heard: time.Now(), gone: make(chan struct{}),
		reports: make(chan message, mostReports)}
	if n.name, n.Name = name, name; k.Left {
		n.State = Left
	}
	n.told = news{n.State, false}
	out := map[lane]*sender{}
	for _, l := range []lane{orders, inbox} {
		out[l] = &sender{wire: h.wire, subject: Subject(h.config.Team, name, string(l))}
	}
	n.send = func(l lane, m message) error {
		m.Epoch = h.config.Epoch
		return out[l].send(m)
	}
	n.orders = newCaller(func(m message) error { return n.send(orders, m) }, h.config.Errors, h.config.Times.Repeat, mostRequests*mostRequests)
	n.requests = &callee{errors: h.config.Errors, handle: func(ctx context.Context, m message) (json.RawMessage, error) {
		return ask(ctx, name, m.Member, m.Method, m.Body)
	}}
	for l, take := range map[lane]func(message){
		requests: func(m message) { n.requests.take(ctx, m.Process, m) },
		answers:  func(m message) { n.orders.answered(m) },
		reports: func(m message) {
			select {
			case n.reports <- m:
			default: // too many; it comes again
			}
		},
	} {
		var r receiver
		stop, err := h.wire.Listen(Subject(h.config.Team, name, string(l)), func(_ string, data []byte) {
			if m, ok := r.add(data); ok && m.Format == Format && h.known(n, m.Process) {
				take(m)
			}
		})
		if err != nil {
			return fmt.Errorf("listen to node %s: %w", name, err)
		}
		n.stops = append(n.stops, stop)
	}
	h.nodes[name] = n
	group.Go(func() { h.takeReports(ctx, n, take) })
	return nil
}

// known reports whether a process is the one that is the node.
func (h *Hub) known(n *node, process string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return process != "" && n.process == process
}

// beat takes a sign of life and answers it.
func (h *Hub) beat(ctx context.Context, group *sync.WaitGroup, name string, m message, ask Ask, take Take) error {
	refuse := func(code string, err error) {
		h.refusing.Lock()
		defer h.refusing.Unlock()
		if told := h.refused[name] == m.Process; !told {
			h.refused[name] = m.Process
			h.config.Refused(fmt.Errorf("node %s is refused: %w", name, err))
		}
		s := &sender{wire: h.wire, subject: Subject(h.config.Team, name, string(inbox))}
		_ = s.send(message{Epoch: h.config.Epoch, Process: m.Process, Method: refusal, Fault: &fault{code, err.Error()}})
	}
	var p Profile
	err := json.Unmarshal(m.Body, &p)
	switch {
	case m.Format != Format:
		refuse("format", fmt.Errorf("%w: node %s runs covey %s, and the coordinator covey %s; use the same on both", ErrFormat, name, p.Version, h.config.Version))
		return nil
	case err != nil || m.Process == "" || m.Disk == "":
		return errors.New("it has sent what is no sign of life")
	}
	p.Name = name // which the servers have proven
	if err := h.config.Takes(&p); err != nil {
		refuse("refused", fmt.Errorf("%w: %w", ErrRefused, err))
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.nodes[name]
	if n == nil {
		if err := h.meet(ctx, group, name, Kept{Profile: p}, ask, take); err != nil {
			return err
		}
		n = h.nodes[name]
	}
	if n.process != "" && n.process != m.Process {
		if n.kept.Disk != m.Disk && n.State == Here && time.Since(n.heard) < h.config.Times.Away {
			refuse("taken", fmt.Errorf("%w: another host is node %s; give each node a key of its own", ErrTaken, name))
			return nil
		}
		n.leave()
		n.told = news{} // its members are not there any more, which is news
	}
	n.process, n.heard, n.Profile = m.Process, time.Now(), p
	if n.kept.Disk != m.Disk {
		n.kept = Kept{Disk: m.Disk, Was: n.kept.Was} // numbers begin anew
	}
	n.kept.Profile = p
	n.requests.begin(m.Process, requestsOf(p.Places), func(a message) error {
		a.Process = m.Process
		return n.send(inbox, a)
	})
	if n.kept.Left = m.Method == bye; n.kept.Left {
		n.set(Left)
		n.leave()
	} else if n.State != Here {
		n.set(Here)
		n.orders.resume()
	}
	_ = n.send(inbox, message{Process: m.Process, Method: welcome})
	h.poke()
	return nil
}

// bye is the last sign of life of a node.
const bye = "bye"

// set sets the node's state. mu must be held.
func (n *node) set(s State) { n.State, n.Since = s, time.Now() }

// leave tells those who wait that the node does not carry its members any more. mu must be held.
func (n *node) leave() {
	close(n.gone)
	n.gone = make(chan struct{})
	n.Members = nil
}

// poke lets Serve look at the states.
func (h *Hub) poke() {
	select {
	case h.look <- struct{}{}:
	default:
	}
}

// judge finds who is silent, and tells of each change of a state.
func (h *Hub) judge(ctx context.Context) {
	decides := h.decides(ctx)
	h.mu.Lock()
	var list []*node
	var told []Node
	for _, n := range h.nodes {
		silent := time.Since(n.heard)
		switch {
		case n.State == Here && silent >= h.config.Times.Away:
			n.set(Away)
		case n.State == Away && silent >= h.config.Times.Lost && decides:
			n.set(Lost)
			n.kept.Was = slices.Compact(slices.Sorted(slices.Values(slices.Concat(n.kept.Was, n.Members))))
			n.leave()
		}
		if now := (news{n.State, n.Draining}); n.told != now {
			n.told = now
			c := n.copy()
			if n.State == Here {
				c.Was, n.kept.Was = n.kept.Was, nil
			}
			list, told = append(list, n), append(told, c)
		}
	}
	close(h.changed)
	h.changed = make(chan struct{})
	h.mu.Unlock()
	for i, n := range list {
		if _, err := h.keep(ctx, n); err != nil && ctx.Err() == nil {
			h.config.OnError(fmt.Errorf("node %s: %w", n.name, err))
		}
		h.config.Changed(told[i])
	}
}

// decides reports whether this coordinator may find nodes lost. One that was cut off itself has heard nobody, and
// must hear for long enough first. That it can store is tried only if a node is silent for long enough.
func (h *Hub) decides(ctx context.Context) bool {
	h.mu.Lock()
	var silent *node
	for _, n := range h.nodes {
		if n.State == Away && min(time.Since(n.heard), time.Since(h.alone)) >= h.config.Times.Lost {
			silent = n
		}
	}
	h.mu.Unlock()
	if silent == nil {
		return false
	}
	if _, err := h.keep(ctx, silent); err != nil && ctx.Err() == nil {
		h.config.OnError(fmt.Errorf("node %s is silent, and whether it is lost cannot be decided: %w", silent.name, err))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.alone) >= h.config.Times.Lost
}

// keep stores what must outlive this coordinator, and returns it.
func (h *Hub) keep(ctx context.Context, n *node) (Kept, error) {
	h.storing.Lock()
	defer h.storing.Unlock()
	h.mu.Lock()
	kept := n.kept
	h.mu.Unlock()
	began := time.Now()
	h.config.Settle(ctx)
	err := h.config.Store.KeepNode(ctx, n.name, kept)
	if err != nil || time.Since(began) > h.config.Times.Repeat {
		h.mu.Lock()
		h.alone = time.Now()
		h.mu.Unlock()
	}
	return kept, err
}

// copy returns what the node is now. mu must be held.
func (n *node) copy() Node {
	c := n.Node
	c.Labels, c.Members = slices.Clone(n.Labels), slices.Clone(n.Members)
	return c
}

// Nodes returns all nodes that the team has had, by name.
func (h *Hub) Nodes() []Node {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []Node
	for _, name := range slices.Sorted(maps.Keys(h.nodes)) {
		list = append(list, h.nodes[name].copy())
	}
	return list
}

// Lost reports whether a node has been silent for too long, or is unknown. Its members are released then.
func (h *Hub) Lost(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.nodes[name]
	return n == nil || n.State == Lost
}

// Seat chooses a node for a member that needs labels, and waits for one until ctx ends. gone is closed
// when the node does not carry the member any more. release gives the place back.
func (h *Hub) Seat(ctx context.Context, member string, labels []string) (name string, gone <-chan struct{}, release func(), err error) {
	select {
	case <-h.ready:
	case <-ctx.Done():
		return "", nil, nil, context.Cause(ctx)
	}
	before, err := h.Sat(ctx, member)
	if err != nil {
		return "", nil, nil, err
	}
	for {
		n, gone, changed := h.sit(member, labels, before)
		if n == nil {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return "", nil, nil, context.Cause(ctx)
			}
		}
		release = sync.OnceFunc(func() { h.release(n, gone, member) })
		if before != n.name {
			if err := h.config.Store.KeepSeat(ctx, member, n.name); err != nil {
				release()
				return "", nil, nil, fmt.Errorf("store where %s sits: %w", member, err)
			}
		}
		return n.name, gone, release, nil
	}
}

// Sat returns the node on which a member has sat last; empty: none.
func (h *Hub) Sat(ctx context.Context, member string) (string, error) {
	node, err := h.config.Store.Seat(ctx, member)
	if err != nil {
		return "", fmt.Errorf("read where %s sat: %w", member, err)
	}
	return node, nil
}

// sit takes a place for a member. Without one, it returns no node, and what is closed when there may
// be one.
func (h *Hub) sit(member string, labels []string, before string) (n *node, gone, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]Candidate, 0, len(h.nodes))
	for name, n := range h.nodes {
		here := n.State == Here && !n.Draining
		list = append(list, Candidate{Name: name, Labels: n.Labels, Free: n.Free(), Here: here, Known: here || n.State == Away && !n.Draining})
	}
	if n = h.nodes[Choose(labels, before, list)]; n == nil {
		return nil, nil, h.changed
	}
	n.Members = append(n.Members, member)
	return n, n.gone, nil
}

// release gives a place back, unless the node has gone since.
func (h *Hub) release(n *node, gone <-chan struct{}, member string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n.gone != gone {
		return
	}
	if i := slices.Index(n.Members, member); i >= 0 {
		n.Members = slices.Delete(n.Members, i, i+1)
	}
	h.poke()
}

// Order tells a node something about a member, and waits for its answer. The error is ErrGone if the
// node does not carry the member any more.
func (h *Hub) Order(ctx context.Context, name, member, method string, in json.RawMessage) (json.RawMessage, error) {
	h.mu.Lock()
	n := h.nodes[name]
	if n == nil || n.process == "" || n.State == Lost || n.State == Left {
		h.mu.Unlock()
		return nil, ErrGone
	}
	gone := n.gone
	h.mu.Unlock()
	return n.orders.call(ctx, message{Member: member, Method: method, Body: in}, gone)
}

// mostReports is how many reports of a node may wait.
const mostReports = 512

// takeReports takes a node's reports, each once and in order, and acknowledges them in groups.
func (h *Hub) takeReports(ctx context.Context, n *node, take Take) {
	const group = 64
	failed, open := false, 0
	for {
		var m message
		select {
		case m = <-n.reports:
		case <-ctx.Done():
			return
		}
		h.mu.Lock()
		at, same := n.kept.Taken, n.kept.Disk == m.Disk
		h.mu.Unlock()
		if same && m.Number == at+1 { // others are missing before it, or it came twice
			err := take(ctx, n.name, m.Number, m.Member, m.Body)
			if err != nil {
				if ctx.Err() == nil && !failed {
					h.config.OnError(fmt.Errorf("a report of node %s is not stored, and comes again: %w", n.name, err))
				}
				failed = true
				continue
			}
			failed = false
			h.mu.Lock()
			if n.kept.Disk == m.Disk {
				n.kept.Taken = m.Number
			}
			h.mu.Unlock()
		}
		if open++; len(n.reports) == 0 || open >= group {
			h.acknowledge(ctx, n)
			open = 0
		}
	}
}

// acknowledge stores which reports were taken and tells the node.
func (h *Hub) acknowledge(ctx context.Context, n *node) {
	kept, err := h.keep(ctx, n)
	if err != nil {
		if ctx.Err() == nil {
			h.config.OnError(fmt.Errorf("the reports of node %s: %w", n.name, err))
		}
		return // they come again
	}
	h.mu.Lock()
	process := n.process
	h.mu.Unlock()
	_ = n.send(inbox, message{Process: process, Method: stored, Number: kept.Taken})
}
