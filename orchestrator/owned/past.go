package owned

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/lives"
	"github.com/coveyteam/covey/teammate/agent"
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

// See reads a line of an earlier run.
func (p *Past) See(l journal.Line) {
	if l.Type == (journal.TeamStarted{}).EventType() {
		p.cutOff(l.Time)
	}
	p.last = l.Time
	switch l.Type {
	case agent.TurnStarted{}.EventType():
		p.turns.begin(l, l.Member, "")
	case agent.TurnEnded{}.EventType():
		p.turns.end(l, "")
	case agent.ToolCalled{}.EventType():
		var d agent.ToolCalled
		if json.Unmarshal(l.Data, &d) == nil && (writesAnything(d.Name) || slices.Contains(editTools(), d.Name)) {
			p.calls.begin(l, l.Member, d.ID)
		}
	case agent.ToolReturned{}.EventType():
		var d agent.ToolReturned
		if json.Unmarshal(l.Data, &d) == nil {
			p.calls.end(l, d.ID)
		}
	case agent.HookStarted{}.EventType():
		var d agent.HookStarted
		if json.Unmarshal(l.Data, &d) == nil && d.Command != FilesPolicy {
			p.hooks.begin(l, Hooks, d.ToolUseID+d.Command)
		}
	case agent.HookFinished{}.EventType():
		var d agent.HookFinished
		if json.Unmarshal(l.Data, &d) == nil && !d.Background {
			p.hooks.end(l, d.ToolUseID+d.Command)
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

// begin opens a span of who for the member of a line.
func (s pastSpans) begin(l journal.Line, who, key string) {
	s.open[l.Member+"/"+key] = Span{Who: who, From: l.Time}
}

// end closes it, if it is open.
func (s pastSpans) end(l journal.Line, key string) {
	if span, ok := s.open[l.Member+"/"+key]; ok {
		delete(s.open, l.Member+"/"+key)
		span.To = l.Time
		s.over[l.Member] = append(s.over[l.Member], span)
	}
}

// of returns the spans of a member and its hooks in earlier runs, once.
func (p *Past) of(member *lives.Member) []Span {
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
