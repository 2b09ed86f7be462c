package teamhooks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/plan"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
)

// wakeLimit limits how long storing a message that wakes a member may take.
const wakeLimit = 10 * time.Second

// Background tracks the background hooks of members. While one may wake its member, the team
// is not done. Its methods may be called from any goroutine.
type Background struct {
	store *tasks.Store
	clock members.Clock
	ended func()                                // called when a hook has ended
	tell  func(member string, data events.Data) // reports what a member waits for, and warnings

	mu      sync.Mutex
	running map[string]map[string]backgroundHook // by member and by the hook's id
}

// backgroundHook is a hook that runs in the background.
type backgroundHook struct {
	command string
	rewake  bool // it may wake the member
	since   time.Time
}

// NewBackground makes a Background. It calls ended when a hook has ended, and tell with what members
// wait for and with warnings for people.
func NewBackground(store *tasks.Store, c members.Clock, ended func(), tell func(member string, data events.Data)) *Background {
	return &Background{store: store, clock: c, ended: ended, tell: tell, running: map[string]map[string]backgroundHook{}}
}

// Observe records that a member's background hook has begun or ended.
func (b *Background) Observe(ctx context.Context, member string, p hooks.Progress) {
	id := p.Background.ID
	if p.Result == nil {
		b.change(member, func(running map[string]backgroundHook) {
			running[id] = backgroundHook{command: p.Command, rewake: p.Background.Rewake, since: b.clock.Now()}
		})
		return
	}
	if p.Background.Wakes {
		b.wake(ctx, member, p)
	}
	// The hook stays listed until its message is stored, so that the team does not look done in
	// between.
	b.change(member, func(running map[string]backgroundHook) { delete(running, id) })
	b.ended()
}

// change edits the hooks of a member, and reports for which of them the member waits, if that changes.
func (b *Background) change(member string, edit func(map[string]backgroundHook)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.waker(member)
	if b.running[member] == nil {
		b.running[member] = map[string]backgroundHook{}
	}
	edit(b.running[member])
	if now := b.waker(member); now != before {
		b.tell(member, events.Waiting{Kind: events.ForHook, For: now})
	}
}

// Complete adds the commands of background hooks to an idle event. It implements crew.Completer.
func (b *Background) Complete(_ context.Context, m *members.Member, e events.Event) (events.Event, error) {
	if idle, ok := e.Data.(events.Idle); ok {
		idle.Background = slices.Concat(idle.Background, b.Commands(m.Name))
		e.Data = idle
	}
	return e, nil
}

// Rejoined drops the hooks of a session that has ended. It implements crew.Rejoiner.
func (b *Background) Rejoined(ctx context.Context, m *members.Member, _ members.Return) error {
	return b.Left(ctx, m.Name)
}

// Left drops the hooks of a member that has left the team. It implements crew.Leaver.
func (b *Background) Left(_ context.Context, member string) error {
	b.change(member, func(running map[string]backgroundHook) { clear(running) })
	return nil
}

// wake stores the message that wakes the member. The message is stored only once, also if
// covey is killed meanwhile.
func (b *Background) wake(ctx context.Context, member string, p hooks.Progress) {
	// The hook has ended, and its result must not be lost if the team ends, too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wakeLimit)
	defer cancel()
	by := actors.Actor{CallID: actors.CallID("hook", member+" "+p.Background.ID)}
	_, err := b.store.Mail().Send(ctx, by, mail.Outgoing{
		To: []string{member}, Kind: mail.HookMessage, Text: strings.Join(p.Background.Messages, "\n"),
		Summary: mail.Summary(p.Background.Summary), Data: texts.Encode(mail.HookCall{
			Event: string(p.Event), ToolUseID: p.ToolUseID, Command: p.Command, Feedback: p.Background.Feedback,
		}),
	})
	if err != nil {
		text := fmt.Sprintf("what the hook %s was to wake %s with could not be stored: %v", p.Command, member, err)
		b.tell(member, events.Warning{Text: text})
	}
}

// Describe sets which members a background hook may wake. It implements crew.Describer.
func (b *Background) Describe(s *plan.Scene, _ []*members.Member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range s.Seats {
		s.Seats[i].Awaited = b.waker(s.Seats[i].Name) != ""
	}
}

// MayWake reports whether a background hook may wake the member.
func (b *Background) MayWake(member string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waker(member) != ""
}

// waker names the first hook that may wake the member; empty: there is none. b.mu must be held.
func (b *Background) waker(member string) string {
	if list := b.sorted(member); len(list) > 0 && list[0].rewake {
		return "hook " + texts.OneLine(list[0].command)
	}
	return ""
}

// Commands returns the commands of a member's background hooks, one line each. Those that may
// wake the member come first, and then the oldest.
func (b *Background) Commands(member string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.sorted(member)
	commands := make([]string, len(list))
	for i, h := range list {
		commands[i] = texts.OneLine(h.command)
	}
	return commands
}

// sorted returns a member's background hooks in the order of Commands. b.mu must be held.
func (b *Background) sorted(member string) []backgroundHook {
	return slices.SortedFunc(maps.Values(b.running[member]), func(x, y backgroundHook) int {
		if x.rewake != y.rewake {
			if x.rewake {
				return -1
			}
			return 1
		}
		return x.since.Compare(y.since)
	})
}
