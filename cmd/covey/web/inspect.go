package web

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/cmd/covey/pages"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// maxInspected bounds how many tasks the main page marks: the newest ones with finished work.
const maxInspected = 200

// alarmBook knows the alarms of finished work, for the main page. They come from git, so they are
// looked for beside the page, once for each commit. The zero value is ready to use.
type alarmBook struct {
	mu     sync.Mutex
	known  map[string]inspection // by task
	judged bool                  // the spec has gates for tasks
	read   time.Time             // when judged was read
}

// inspection is what was found in one state of a task's work.
type inspection struct {
	stamp  string
	alarms []pages.Alarm
}

// of returns the alarms of a task's work, as far as they are known.
func (b *alarmBook) of(id string) []pages.Alarm {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known[id].alarms
}

// put keeps what was found in a state of work.
func (b *alarmBook) put(id, stamp string, found []pages.Alarm) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[string]inspection{}
	}
	b.known[id] = inspection{stamp, found}
}

// looked notes that a state of work was looked at, also if that failed: the page of the task shows
// why.
func (b *alarmBook) looked(id, stamp string) { b.put(id, stamp, b.of(id)) }

// words returns what the main page says of a task: the words of its strong alarms. w is the Works
// of s.
func (b *alarmBook) words(s *view.State, w view.Works, t *view.Task) []string {
	b.mu.Lock()
	gated := b.judged
	b.mu.Unlock()
	return pages.AlarmWords(append(slices.Clone(b.of(t.ID)), pages.StateAlarms(s, w, t, gated)...))
}

// gated reports whether the team has gates for tasks. The spec is read again after a while,
// because it may be edited.
func (b *alarmBook) gated(p *Page) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.read) > time.Minute {
		b.read = time.Now()
		if team, err := p.env.TeamOf(p.place); err == nil {
			b.judged = len(team.Gates["TaskCompleted"]) > 0
		}
	}
	return b.judged
}

// watchAlarms looks at finished work as it comes, until ctx ends.
func (p *Page) watchAlarms(ctx context.Context) {
	for ctx.Err() == nil {
		p.alarms.gated(p)
		todo, next := p.uninspected()
		for id, stamp := range todo {
			if ctx.Err() != nil {
				return
			}
			limited, cancel := context.WithTimeout(ctx, readTime)
			if one, err := p.taskPage(limited, id); err == nil {
				p.inspect(limited, one)
			}
			cancel()
			p.alarms.looked(id, stamp)
		}
		if len(todo) > 0 {
			p.feed.Change(nil) // the main page shows what was found
			continue
		}
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
		select { // a busy team writes many lines
		case <-time.After(termview.Gather):
		case <-ctx.Done():
		}
	}
}

// uninspected returns the tasks with finished work that has changed since it was looked at, and
// its states.
func (p *Page) uninspected() (todo map[string]string, next <-chan struct{}) {
	stamps := map[string]string{}
	next = p.feed.Read(func(now termview.Now) {
		s := now.State
		for _, m := range slices.Backward(s.Merges) {
			for _, id := range m.Tasks {
				t := s.Task(id)
				if t == nil || t.Status != tasks.Completed || stamps[id] != "" || len(stamps) == maxInspected {
					continue
				}
				stamps[id] = stampOf(m)
			}
		}
	})
	p.alarms.mu.Lock()
	defer p.alarms.mu.Unlock()
	maps.DeleteFunc(stamps, func(id, stamp string) bool { return p.alarms.known[id].stamp == stamp })
	return stamps, next
}

// stampOf says which state of work was looked at. A merge that is over has no files outside of
// what its author owns, and no protected ones.
func stampOf(m *view.Merge) string {
	if m.State.Over() {
		return m.Commit + " over"
	}
	return m.Commit
}
