package accounts

import (
	"context"
	"math"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
)

// slots holds the slots of all logins whose agents have a limit.
type slots struct {
	mu      sync.Mutex
	byLogin map[string]*pool
	size    map[string]int
}

// of returns the slots of a login; nil: it has no limit.
func (s *slots) of(login string) *pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byLogin[login]
}

// Allot sets the number of slots of each login to what the spec says. A login without a
// limit has slots for all members.
func (l *Logins) Allot(members []configs.Member) {
	s := &l.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byLogin == nil {
		s.byLogin, s.size = map[string]*pool{}, map[string]int{}
	}
	for login, size := range l.parallel(members) {
		switch {
		case size == 0 && s.byLogin[login] == nil:
		case s.byLogin[login] == nil:
			s.byLogin[login], s.size[login] = newPool(size), size
		default:
			if size == 0 {
				size = math.MaxInt32
			}
			s.byLogin[login].Resize(size - s.size[login])
			s.size[login] = size
		}
	}
}

// parallel returns how many turns may run at once on each login; 0: any number. If two
// agents share a login, the lower number counts.
func (l *Logins) parallel(members []configs.Member) map[string]int {
	sizes := map[string]int{}
	for _, m := range members {
		for _, a := range l.chain(m.Agent) {
			login := LoginOf(&a)
			if had := sizes[login]; login != "" && (had == 0 || a.Parallel > 0 && a.Parallel < had) {
				sizes[login] = a.Parallel
			}
		}
	}
	return sizes
}

// Free returns how many more turns may begin, by login. Logins without a limit are left
// out.
func (l *Logins) Free() map[string]int {
	s := &l.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	free := map[string]int{}
	for login, p := range s.byLogin {
		free[login] = p.unused()
	}
	return free
}

// Admit waits for a slot of a member's agent before its turn. release gives it back.
func (l *Logins) Admit(ctx context.Context, m *members.Member) (release func(), err error) {
	told := false
	give, err := l.slots.of(LoginOf(m.AgentInUse())).acquire(ctx, func() {
		told = true
		l.tell(m.Name, events.Waiting{Kind: events.ForSlot, For: "a slot of " + members.AgentName(m.CurrentAgent())})
	})
	if told {
		l.tell(m.Name, events.Waiting{Kind: events.ForSlot})
	}
	if err != nil {
		return nil, err
	}
	return l.hold(m, give), nil
}

// Adopt takes a slot of a member's agent for a turn that runs already. release gives it back.
func (l *Logins) Adopt(m *members.Member) (release func()) {
	return l.hold(m, l.slots.of(LoginOf(m.AgentInUse())).take())
}

// hold notes that a member has a slot.
func (l *Logins) hold(m *members.Member, give func()) (release func()) {
	l.change(m.Name, func(m *member) { m.slot = give })
	return func() { l.GiveBack(m.Name) }
}

// GiveBack releases the member's slot, and reports whether it had one.
func (l *Logins) GiveBack(name string) bool {
	var give func()
	l.change(name, func(m *member) { give, m.slot = m.slot, nil })
	if give != nil {
		give()
	}
	return give != nil
}

// Lend makes a member's slot available to others. takeBack waits for a slot again; it does
// nothing if the member had none.
func (l *Logins) Lend(name string) (takeBack func(context.Context) error) {
	m, ok := l.deps.Members.Member(name)
	if !l.GiveBack(name) || !ok {
		return func(context.Context) error { return nil }
	}
	return func(ctx context.Context) error {
		if now, _ := l.deps.Members.Member(name); now != m {
			return nil // the call outlived its member's life, and the slot belongs to the next one
		}
		_, err := l.Admit(ctx, m)
		return err
	}
}
