package accounts

import (
	"context"
	"fmt"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/tasks"
)

// Shares decides for which tasks the model requests of members count: those that the member has
// in progress, each for an equal part. What a turn uses before its first task counts for that
// one, and what it uses after one for the last. A turn without a task counts for none. Its
// methods may be called from any goroutine.
type Shares struct {
	Store *tasks.Store // keeps what tasks have cost

	mu      sync.Mutex
	members map[string]*share
}

// share is what is known of a member's turn.
type share struct {
	last    []string   // the tasks that its last request counted for
	taken   bool       // last were in progress
	waiting tasks.Cost // of requests before the turn's first task
}

// Saw counts what a member's model requests cost. It implements crew.Watcher.
func (s *Shares) Saw(ctx context.Context, m *members.Member, e events.Event) error {
	switch used := e.Data.(type) {
	case events.TurnStarted:
		s.begin(m.Name)
	case events.TokensUsed:
		return s.Charge(ctx, m.Name, tasks.Cost{
			Tokens: used.Usage.Total(), FailedTokens: used.Usage.FailedTokens, USD: used.CostUSD,
		})
	}
	return nil
}

// Charge adds what a member has used to its tasks in progress. It is stored even if the member
// is being stopped, because the tokens are spent.
func (s *Shares) Charge(ctx context.Context, member string, c tasks.Cost) error {
	ctx = context.WithoutCancel(ctx)
	list, err := s.Store.InProgress(ctx, member)
	if err != nil {
		return fmt.Errorf("for which task tokens count: %w", err)
	}
	var now []string
	for _, t := range list {
		now = append(now, t.ID)
	}
	ids, due := s.divide(member, now, c)
	return s.keep(ctx, ids, due)
}

// Stored counts for a task that a member has completed what the turn has used without a task. That
// is something only if the member has not taken the task first. It implements crew.Follower.
func (s *Shares) Stored(ctx context.Context, e events.Event) error {
	data, ok := e.Data.(events.TaskChanged)
	if !ok || data.Change.Op != tasks.TaskCompleted || data.Change.Task.Owner == "" {
		return nil
	}
	ids, due := s.complete(data.Change.Task.Owner, data.Change.Task.ID)
	return s.keep(ctx, ids, due)
}

// keep stores what tasks have cost.
func (s *Shares) keep(ctx context.Context, ids []string, due tasks.Cost) error {
	if due == (tasks.Cost{}) {
		return nil
	}
	if err := tasks.Charge(ctx, s.Store, ids, due); err != nil {
		return fmt.Errorf("count tokens for tasks: %w", err)
	}
	return nil
}

// begin begins a turn of a member.
func (s *Shares) begin(member string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.members, member)
}

// divide returns the tasks to which a cost of a member is to be charged, and what is to be
// charged with it: what has waited for a task. now are the tasks that the member has in
// progress.
func (s *Shares) divide(member string, now []string, c tasks.Cost) ([]string, tasks.Cost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of(member)
	if len(now) > 0 {
		of.last, of.taken = now, true
	}
	return of.charge(c)
}

// complete is divide for a task that a member has completed. It matters only in turns in which
// nothing was in progress: the news may come late, when the member is at another task.
func (s *Shares) complete(member, task string) ([]string, tasks.Cost) {
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
