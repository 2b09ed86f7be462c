package budget

import (
	"sync"

	"github.com/coveyteam/covey/tasks"
)

// Shares decides for which tasks the model requests of members count: those that the member has
// in progress, each for an equal part. What a turn uses before its first task counts for that
// one, and what it uses after one for the last. A turn without a task counts for none. The zero
// value is ready to use. Its methods may be called from any goroutine.
type Shares struct {
	mu      sync.Mutex
	members map[string]*share
}

// share is what is known of a member's turn.
type share struct {
	last    []string   // the tasks that its last request counted for
	waiting tasks.Cost // of requests before the turn's first task
}

// Begin begins a turn of a member.
func (s *Shares) Begin(member string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.members, member)
}

// Divide returns the tasks to which a cost of a member is to be charged, and what is to be
// charged with it: what has waited for a task. now are the tasks that the member has in
// progress, or the one that it has just completed.
func (s *Shares) Divide(member string, now []string, c tasks.Cost) ([]string, tasks.Cost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.members[member]
	if of == nil {
		of = &share{}
		note(&s.members, member, of)
	}
	if len(now) > 0 {
		of.last = now
	}
	due := of.waiting.Plus(c)
	if len(of.last) == 0 {
		of.waiting = due
		return nil, tasks.Cost{}
	}
	of.waiting = tasks.Cost{}
	return of.last, due
}
