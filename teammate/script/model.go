package script

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// Options configure a Model. The zero value makes a model at the beginning of its script.
type Options struct {
	// IDPrefix is part of every tool call id. Members that share a script need
	// different prefixes if their ids must differ.
	IDPrefix string
	// Served is how often each step has served already, according to the transcript
	// of a resumed member. Steps that the script does not have are ignored, because
	// the script may have been edited.
	Served map[int]int
	// Name and Window are what Describe returns.
	Name   string
	Window int64
}

// Model plays a script for one conversation. It is safe for concurrent use.
type Model struct {
	script *Script
	prefix string
	name   string
	window int64

	mu sync.Mutex
	// served is how often each step has served; steps that have not served are absent.
	served map[int]int
}

// Model returns a model that plays s; opts may be nil.
func (s *Script) Model(opts *Options) *Model {
	m := &Model{script: s, served: map[int]int{}}
	if opts != nil {
		m.prefix, m.name, m.window = opts.IDPrefix, opts.Name, opts.Window
		maps.Copy(m.served, opts.Served)
	}
	return m
}

// Describe implements agent.Described.
func (m *Model) Describe() (name string, window int64) { return m.name, m.window }

// Generate answers with the first step that may still serve and whose `when`, if it
// has one, matches a user text or tool result that is new in req. A step has served
// once it has given its answer or its error; if ctx ends during the step's delay,
// the step has not served. If no step is left, the answer is empty (exhausted:
// stop) or a fatal *APIError of type unknown.
//
// An error of the script comes with a Response that names the step.
func (m *Model) Generate(ctx context.Context, req agent.Request) (agent.Response, error) {
	i, nth, found := m.claimStep(req)
	if !found {
		return m.exhausted(ctx)
	}
	s := m.script.steps[i]
	if err := agent.Sleep(ctx, s.delay); err != nil {
		m.releaseStep(i)
		return agent.Response{}, err
	}
	if s.fail != nil {
		failure := *s.fail // a copy, because the caller may change it
		return agent.Response{Step: &i}, &failure
	}
	return agent.Response{Content: m.content(i, nth), Usage: s.usage, Step: &i}, nil
}

// claimStep finds the step for a request and counts it as served under one lock, so
// that of two concurrent requests only one gets a step's last use. nth is how often
// the step had served before.
func (m *Model) claimStep(req agent.Request) (i, nth int, found bool) {
	// Every request starts at the first step, because a step whose `when` did not
	// match earlier may serve later.
	texts := newTexts(req)
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, s := range m.script.steps {
		if s.times >= 0 && m.served[i] >= s.times {
			continue
		}
		if s.when == nil || matchAny(s.when, texts) {
			nth := m.served[i]
			m.served[i]++
			return i, nth, true
		}
	}
	return 0, 0, false
}

// releaseStep undoes claimStep for a request that ended during the step's delay.
func (m *Model) releaseStep(i int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.served[i]--
}

// exhausted returns the answer to a request for which no step is left.
func (m *Model) exhausted(ctx context.Context) (agent.Response, error) {
	// This pass has the same delay as any other model request.
	if err := agent.Sleep(ctx, m.script.delay); err != nil {
		return agent.Response{}, err
	}
	if m.script.stop {
		return agent.Response{Usage: m.script.usage}, nil
	}
	return agent.Response{}, &agent.APIError{
		Type: "unknown", End: events.EndModelError,
		Message: fmt.Sprintf("script %s: none of its %d steps may serve this pass; "+
			"add a step, or `exhausted: stop`", m.script.name, len(m.script.steps)),
	}
}

// content returns the content of step i when it serves for the nth time, from 0. A
// tool call's id is made of the step, nth and the call's position, so that equal
// runs have equal ids and no id occurs twice, even in a resumed conversation.
func (m *Model) content(i, nth int) []agent.Block {
	s := m.script.steps[i]
	var blocks []agent.Block
	if s.say != "" {
		blocks = append(blocks, agent.Block{Type: agent.TextBlock, Text: s.say})
	}
	for k, c := range s.calls {
		blocks = append(blocks, agent.Block{
			Type:  agent.ToolUseBlock,
			ID:    fmt.Sprintf("toolu_%s%d_%d_%d", m.prefix, i, nth, k),
			Name:  c.tool,
			Input: c.input,
		})
	}
	return blocks
}

// newTexts returns the user texts and tool results that no earlier request
// contained.
func newTexts(req agent.Request) []string {
	var texts []string
	for _, message := range req.Messages[min(max(req.New, 0), len(req.Messages)):] {
		if message.Role != agent.User {
			continue
		}
		for _, b := range message.Content {
			switch b.Type {
			case agent.TextBlock:
				texts = append(texts, b.Text)
			case agent.ToolResultBlock:
				texts = append(texts, b.Content)
			}
		}
	}
	return texts
}

// matchAny reports whether expr matches one of texts. Each text is matched
// separately, so that ^ and $ match the ends of a message.
func matchAny(expr *regexp.Regexp, texts []string) bool {
	return slices.ContainsFunc(texts, expr.MatchString)
}
