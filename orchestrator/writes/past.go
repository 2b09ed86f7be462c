package writes

import (
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
)

// Past records when members could write in earlier runs, read from the journal when it
// is opened: a turn that continues after kill -9 is held to what was written before.
type Past struct {
	began time.Time // start of this run
	last  time.Time // time of the last line
	turns pastSpans
	calls pastSpans
	hooks pastSpans

	mu   sync.Mutex
	told map[string]bool // members whose spans were returned already
}

// pastSpans are spans by member, open ones by the key that ends them.
type pastSpans struct {
	over map[string][]Span
	open map[string]Span // by member and key
}

// killGrace is how long after the last line of a killed run its members may have
// continued to write: covey was killed, and the programs it had started were not.
const killGrace = 30 * time.Second

// NewPast returns an empty Past.
func NewPast() *Past {
	spans := func() pastSpans {
		return pastSpans{over: map[string][]Span{}, open: map[string]Span{}}
	}
	return &Past{began: time.Now(), turns: spans(), calls: spans(), hooks: spans(), told: map[string]bool{}}
}

// See takes an event of an earlier run.
func (p *Past) See(e events.Event) {
	if _, ok := e.Data.(events.TeamStarted); ok {
		p.cutOff(e.Time)
	}
	p.last = e.Time
	switch d := e.Data.(type) {
	case events.TurnStarted:
		p.turns.begin(e, e.Member, "")
	case events.TurnEnded:
		p.turns.end(e, "")
	case events.ToolCalled:
		if writesAnything(d.Name) || slices.Contains(editTools(), d.Name) {
			p.calls.begin(e, e.Member, d.ID)
		}
	case events.ToolReturned:
		p.calls.end(e, d.ID)
	case events.HookStarted:
		if d.Command != FilesPolicy {
			p.hooks.begin(e, Hooks, d.ToolUseID+d.Command)
		}
	case events.HookFinished:
		if !d.Background {
			p.hooks.end(e, d.ToolUseID+d.Command)
		}
	}
}

// cutOff ends the open spans of a run that was killed. Its members continued a little
// longer, but not into the next run. Hooks may continue for ever, so they do not count
// as suspects.
func (p *Past) cutOff(next time.Time) {
	end := p.last.Add(killGrace)
	if end.After(next) {
		end = next
	}
	for _, spans := range []pastSpans{p.turns, p.calls} {
		for _, span := range spans.open {
			span.To = end
			spans.over[span.Who] = append(spans.over[span.Who], span)
		}
		clear(spans.open)
	}
	clear(p.hooks.open)
}

// begin opens a span of who for the member of an event.
func (s pastSpans) begin(e events.Event, who, key string) {
	s.open[e.Member+"/"+key] = Span{Who: who, From: e.Time}
}

// end closes it, if it is open.
func (s pastSpans) end(e events.Event, key string) {
	if span, ok := s.open[e.Member+"/"+key]; ok {
		delete(s.open, e.Member+"/"+key)
		span.To = e.Time
		s.over[e.Member] = append(s.over[e.Member], span)
	}
}

// of returns the spans of a member and its hooks in earlier runs, once.
func (p *Past) of(member *members.Member) []Span {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := member.Name
	if p.told[name] {
		return nil
	}
	p.told[name] = true
	p.cutOff(p.began)
	spans := p.turns
	if byCalls(member) {
		spans = p.calls
	}
	return slices.Concat(p.hooks.over[name], spans.over[name])
}
