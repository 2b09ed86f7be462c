package orchestrator

import (
	"context"
	"slices"
	"sync"

	"github.com/coveyteam/covey/teammate"
)

// slots bound how many members may be in a turn at once on one login: vendors
// count the programs that run on an account. Who waits longest is next. nil
// bounds nothing.
type slots struct {
	mu    sync.Mutex
	free  int
	queue []chan struct{} // who waits, in order; closed when a slot is handed over
}

// take waits for a slot. release gives it back; calling it twice does no harm.
// waits is called before a wait, and not without one. It fails when ctx ends.
func (p *slots) take(ctx context.Context, waits func()) (release func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	p.mu.Lock()
	if p.free > 0 {
		p.free--
		p.mu.Unlock()
		return sync.OnceFunc(p.give), nil
	}
	turn := make(chan struct{})
	p.queue = append(p.queue, turn)
	p.mu.Unlock()
	waits()
	select {
	case <-turn:
		return sync.OnceFunc(p.give), nil
	case <-ctx.Done():
		p.leave(turn)
		return nil, context.Cause(ctx)
	}
}

// give hands a slot to whoever is next.
func (p *slots) give() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		p.free++
		return
	}
	close(p.queue[0])
	p.queue = p.queue[1:]
}

// leave takes somebody out of the queue. A slot that was handed over at the
// same moment goes on to the next.
func (p *slots) leave(turn chan struct{}) {
	p.mu.Lock()
	i := slices.Index(p.queue, turn)
	if i >= 0 {
		p.queue = slices.Delete(p.queue, i, i+1)
	}
	p.mu.Unlock()
	if i < 0 {
		p.give()
	}
}

// left is how many slots nobody has.
func (p *slots) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free
}

// allot makes the slots of the agents that have a limit.
func (c *crew) allot() {
	c.slots = map[string]*slots{}
	for _, s := range c.seats() {
		a := s.member.Agent
		if a.Parallel > 0 && a.Name != "" && c.slots[a.Name] == nil {
			c.slots[a.Name] = &slots{free: a.Parallel}
		}
	}
}

// freeSlots is how many more turns may begin, by agent.
func (c *crew) freeSlots() map[string]int {
	free := map[string]int{}
	for agent, p := range c.slots {
		free[agent] = p.left()
	}
	return free
}

// Admit waits for a slot of the member's agent. It is a teammate.Admitter.
func (s *seat) Admit(ctx context.Context) (release func(), err error) {
	if err := s.takeSlot(ctx); err != nil {
		return nil, err
	}
	return s.giveSlot, nil
}

// takeSlot waits for a slot and notes it.
func (s *seat) takeSlot(ctx context.Context) error {
	agent := s.member.Agent.Name
	release, err := s.crew.slots[agent].take(ctx, func() {
		s.setWaits("a slot of " + agent)
		s.crew.journal.sink(teammate.Event{
			Member: s.member.Name, Turn: s.turn(), Data: teammate.Waiting{For: "a slot of " + agent},
		})
	})
	s.setWaits("")
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	s.slot = release
	return err
}

// giveSlot gives back the slot that the member has, if it has one.
func (s *seat) giveSlot() {
	s.crew.mu.Lock()
	give := s.slot
	s.slot = nil
	s.crew.mu.Unlock()
	if give != nil {
		give()
	}
}

// setWaits notes what the member waits for before its turn; empty: nothing.
func (s *seat) setWaits(what string) {
	s.crew.mu.Lock()
	defer s.crew.mu.Unlock()
	s.waits = what
}
