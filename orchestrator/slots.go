package orchestrator

import (
	"context"
	"math"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/roster"
	"github.com/coveyteam/covey/orchestrator/slots"
	"github.com/coveyteam/covey/teammate/agent"
)

// allotment has the slots of all logins whose agents have a limit.
type allotment struct {
	mu      sync.Mutex
	byLogin map[string]*slots.Pool
	size    map[string]int
	waiting string // the wait for usage limits that was last told of; crew.mu guards it
}

// of are a login's slots; nil: it has no limit.
func (a *allotment) of(program string) *slots.Pool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.byLogin[program]
}

// allot gives the logins of members the slots that the spec has for them. A login
// that has no limit any more has slots for everybody.
func (c *crew) allot(members []configs.Member) {
	a := &c.slots
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byLogin == nil {
		a.byLogin, a.size = map[string]*slots.Pool{}, map[string]int{}
	}
	for login, size := range c.parallel(members) {
		switch {
		case size == 0 && a.byLogin[login] == nil:
		case a.byLogin[login] == nil:
			a.byLogin[login], a.size[login] = slots.New(size), size
		default:
			if size == 0 {
				size = math.MaxInt32
			}
			a.byLogin[login].Resize(size - a.size[login])
			a.size[login] = size
		}
	}
}

// parallel is how many turns may be taken at once on each login of members; 0: any
// number. Of two agents that share one and disagree, the careful one counts.
func (c *crew) parallel(members []configs.Member) map[string]int {
	sizes := map[string]int{}
	for _, m := range members {
		for _, a := range c.chain(m.Agent) {
			login := loginOf(a)
			if had := sizes[login]; login != "" && (had == 0 || a.Parallel > 0 && a.Parallel < had) {
				sizes[login] = a.Parallel
			}
		}
	}
	return sizes
}

// allotSeats is allot for those that have a seat.
func (c *crew) allotSeats() {
	var members []configs.Member
	for _, s := range c.seats() {
		members = append(members, *s.member.Member)
	}
	c.allot(members)
}

// freeSlots is how many more turns may begin, by login.
func (c *crew) freeSlots() map[string]int {
	c.slots.mu.Lock()
	defer c.slots.mu.Unlock()
	free := map[string]int{}
	for program, p := range c.slots.byLogin {
		free[program] = p.Left()
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
	program := roster.AgentName(s.member.CurrentAgent())
	release, err := s.crew.slots.of(loginOf(s.member.CurrentAgent())).Take(ctx, func() {
		s.setWaits("a slot of " + program)
		s.crew.journal.Append(agent.Event{
			Member: s.member.Name, Turn: s.turn(), Data: agent.Waiting{For: "a slot of " + program},
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
