package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rawjson"
	"github.com/coveyteam/covey/hooks/wording"
	"github.com/coveyteam/covey/orchestrator/mailtext"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/teammate/agent"
)

// hookCall is the Data of a tasks.HookMessage: the call of the hook that it came from.
type hookCall struct {
	Event     hooks.Event `json:"event"`
	ToolUseID string      `json:"tool_use_id"`
	Command   string      `json:"command"`
	// Feedback says that a hook of a turn end found fault with it, after it.
	Feedback bool `json:"feedback,omitempty"`
}

// errand is a hook that a member has in the background.
type errand struct {
	command string
	rewake  bool // it may wake the member yet
	since   time.Time
}

// wakeLimit bounds how long storing a hook's call may take.
const wakeLimit = 10 * time.Second

// Settle waits for the hooks of a session in the background, and ends them when
// ctx ends. Which version of the team's hooks started them does not matter.
func (l *liveHooks) Settle(ctx context.Context, session string) {
	if now := l.now(); now != nil {
		now.runner.Settle(ctx, session)
	}
}

// endErrands ends what members have left in the background: each has given its own
// hooks their time, but others may fire some for it when it has gone.
func (c *crew) endErrands(ctx context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cancel()
	c.live.Settle(ctx, "")
}

// behind hears of a hook that the member has in the background, and of its end. As
// long as one may wake the member, the team is not done (DESIGN 10.3).
func (s *seat) behind(ctx context.Context, p hooks.Progress) {
	b := p.Background
	if p.Result == nil {
		s.crew.mu.Lock()
		defer s.crew.mu.Unlock()
		if s.errands == nil {
			s.errands = map[string]errand{}
		}
		s.errands[b.ID] = errand{command: p.Command, rewake: b.Rewake, since: s.crew.clock.Now()}
		return
	}
	if b.Wakes {
		s.call(ctx, p)
	}
	// Off the list only once its call is in the mailbox: the team would look as if
	// there were nothing more to come.
	s.crew.mu.Lock()
	delete(s.errands, b.ID)
	s.crew.mu.Unlock()
	s.crew.poke()
}

// call puts what a hook wakes the member with into its mailbox. It is stored once,
// and so shown once, whatever is killed meanwhile.
func (s *seat) call(ctx context.Context, p hooks.Progress) {
	// The hook has ended; that the team ends as well must not lose what it found.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wakeLimit)
	defer cancel()
	b := p.Background
	data := hookCall{Event: p.Event, ToolUseID: p.ToolUseID, Command: p.Command, Feedback: b.Feedback}
	by := actors.Actor{CallID: actors.CallID("hook", s.member.Name+" "+b.ID)}
	_, err := s.crew.store.Mail().Send(ctx, by, mail.Outgoing{
		To: []string{s.member.Name}, Kind: mail.HookMessage, Text: strings.Join(b.Messages, "\n"),
		Summary: mailtext.Summary(b.Summary), Data: rawjson.Encode(data),
	})
	if err != nil {
		s.crew.journal.Append(agent.Event{Member: s.member.Name, Turn: s.turn(), Data: agent.Warning{
			Text: fmt.Sprintf("what the hook %s was to wake %s with could not be stored: %v", p.Command,
				s.member.Name, err),
		}})
	}
}

// callInput is such mail as an input.
func callInput(m mail.Message) agent.Input {
	in := agent.Input{Kind: agent.FromContext, Text: m.Text, MessageID: m.ID}
	var call hookCall
	if json.Unmarshal(m.Data, &call) == nil && call.Feedback {
		in.Kind = agent.FromHook
	}
	return in
}

// awaited reports whether a hook in the background may wake the member yet;
// crew.mu is held.
func (s *seat) awaited() bool {
	for _, e := range s.errands {
		if e.rewake {
			return true
		}
	}
	return false
}

// errandNames are the hooks that a member has in the background, for people: those
// that may wake it first, then by age. crew.mu is held.
func (s *seat) errandNames() []string {
	var list []errand
	for _, e := range s.errands {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b errand) int {
		if a.rewake != b.rewake {
			if a.rewake {
				return -1
			}
			return 1
		}
		return a.since.Compare(b.since)
	})
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = wording.OneLine(e.command)
	}
	return names
}
