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
	taken   bool       // last were in progress
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
// progress.
func (s *Shares) Divide(member string, now []string, c tasks.Cost) ([]string, tasks.Cost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of(member)
	if len(now) > 0 {
		of.last, of.taken = now, true
	}
	return of.charge(c)
}

// Completed is Divide for a task that a member has completed. It matters only in turns in which
// nothing was in progress: the news may come late, when the member is at another task.
func (s *Shares) Completed(member, task string) ([]string, tasks.Cost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of(member)
	if !of.taken {
		of.last = []string{task}
	}
	return of.charge(tasks.Cost{})
}

// of returns what is known of a member's turn. s.mu must be held.
func (s *Shares) of(member string) *share {
	of := s.members[member]
	if of == nil {
		of = &share{}
		note(&s.members, member, of)
	}
	return of
}

// charge returns what is to be charged, and to which tasks; without a task it waits.
func (of *share) charge(c tasks.Cost) ([]string, tasks.Cost) {
	due := of.waiting.Plus(c)
	if len(of.last) == 0 {
		of.waiting = due
		return nil, tasks.Cost{}
	}
	of.waiting = tasks.Cost{}
	return of.last, due
}
