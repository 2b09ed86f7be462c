package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// cable is a Wire in memory. Messages of nodes that are cut off are lost, and some of the others.
type cable struct {
	mu    sync.Mutex
	ends  []*end
	cut   map[string]bool // by the name of the node
	loses float64
	luck  *rand.Rand
}

// end is one who listens.
type end struct {
	pattern string
	take    func(string, []byte)
	mu      sync.Mutex
	list    [][2]string
	more    chan struct{}
	stopped chan struct{}
	stop    func()
}

func newCable() *cable {
	return &cable{cut: map[string]bool{}, luck: rand.New(rand.NewPCG(1, 2))}
}

func (c *cable) Publish(subject string, data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.ends {
		if ok, _ := path.Match(e.pattern, subject); !ok {
			continue
		}
		if c.loses > 0 && c.luck.Float64() < c.loses {
			continue
		}
		for name, cut := range c.cut {
			if ok, _ := path.Match("covey.crew.node."+name+".*", subject); ok && cut {
				return errors.New("cut")
			}
		}
		e.mu.Lock()
		e.list = append(e.list, [2]string{subject, string(data)})
		e.mu.Unlock()
		select {
		case e.more <- struct{}{}:
		default:
		}
	}
	return nil
}

func (c *cable) Listen(subject string, take func(string, []byte)) (func() error, error) {
	e := &end{pattern: subject, take: take, more: make(chan struct{}, 1), stopped: make(chan struct{})}
	e.stop = sync.OnceFunc(func() { close(e.stopped) })
	c.mu.Lock()
	c.ends = append(c.ends, e)
	c.mu.Unlock()
	go e.run()
	return func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ends = slices.DeleteFunc(c.ends, func(o *end) bool { return o == e })
		e.stop()
		return nil
	}, nil
}

func (e *end) run() {
	for {
		select {
		case <-e.more:
		case <-e.stopped:
			return
		}
		e.mu.Lock()
		list := e.list
		e.list = nil
		e.mu.Unlock()
		for _, m := range list {
			e.take(m[0], []byte(m[1]))
		}
	}
}

// sever cuts a node off, or connects it again.
func (c *cable) sever(node string, cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut[node] = cut
}

// memory is a Store in memory.
type memory struct {
	mu    sync.Mutex
	nodes map[string]Kept
	seats map[string]string
	fails error // of KeepNode
}

func newMemory() *memory { return &memory{nodes: map[string]Kept{}, seats: map[string]string{}} }

func (s *memory) Nodes(context.Context) (map[string]Kept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.nodes), nil
}

// fail has KeepNode fail with an error from now on; nil: no more.
func (s *memory) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = err
}

func (s *memory) KeepNode(_ context.Context, node string, k Kept) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails == nil {
		s.nodes[node] = k
	}
	return s.fails
}

func (s *memory) Seat(_ context.Context, member string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seats[member], nil
}

func (s *memory) KeepSeat(_ context.Context, member, node string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seats[member] = node
	return nil
}

// site is a team with its nodes.
type site struct {
	t     *testing.T
	cable *cable
	store *memory
	dirs  map[string]string
	ask   Ask
	take  Take
	order Handle
	news  chan Node

	refused []string // what the coordinator has told of refused nodes
}

var errKnown = errors.New("a known error")

func newSite(t *testing.T, nodes ...string) *site {
	s := &site{
		t: t, cable: newCable(), store: newMemory(), dirs: map[string]string{}, news: make(chan Node, 1000),
		ask: func(context.Context, string, string, string, json.RawMessage) (json.RawMessage, error) {
			return nil, nil
		},
		take:  func(context.Context, string, uint64, string, json.RawMessage) error { return nil },
		order: func(context.Context, string, string, json.RawMessage) (json.RawMessage, error) { return nil, nil },
	}
	for _, n := range nodes {
		s.dirs[n] = t.TempDir()
	}
	return s
}

// coordinator starts a coordinator.
func (s *site) coordinator(epoch uint64) (*Hub, func()) {
	h := NewHub(s.cable, HubConfig{
		Team: "crew", Epoch: epoch, Version: "1", Store: s.store, Errors: Errors{"known": errKnown},
		Takes: func(p *Profile) error {
			if p.Name == "stranger" {
				return errors.New("the spec has no node stranger")
			}
			return nil
		},
		Changed: func(n Node) { s.news <- n },
		Settle:  func(context.Context) {},
		Refused: func(err error) { s.refused = append(s.refused, err.Error()) },
		OnError: func(err error) { s.t.Log("coordinator:", err) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = h.Serve(ctx, s.ask, s.take) })
	return h, func() { cancel(); group.Wait() }
}

// node starts a node. What Serve returned is what the function returns that ends it.
func (s *site) node(name string, labels ...string) (*Link, func() error) {
	s.t.Helper()
	l, err := NewLink(s.cable, LinkConfig{
		Team: "crew", Profile: Profile{Name: name, Labels: labels, Places: 2, Version: "1"}, Dir: s.dirs[name], Errors: Errors{"known": errKnown},
		OnError: func(err error) { s.t.Log("node:", err) },
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	var ended error
	group.Go(func() { ended = l.Serve(ctx, s.order) })
	return l, sync.OnceValue(func() error {
		cancel()
		group.Wait()
		if err := l.Close(); err != nil {
			s.t.Error(err)
		}
		return ended
	})
}

// state returns the last news of a node; empty: there is none.
func (s *site) state() (state State) {
	synctest.Wait()
	for {
		select {
		case n := <-s.news:
			state = n.State
		default:
			return state
		}
	}
}
