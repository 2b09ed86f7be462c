package script

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"sync"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// Options tune a Model. The zero value is a model at the beginning of its script.
type Options struct {
	// IDPrefix stands in every tool call id. Give each member one of its own
	// where ids must differ between members that share a script.
	IDPrefix string
	// Served says how often each step has served already, as the transcript of
	// a resumed member tells. Steps that the script does not have are ignored:
	// it may have been edited since.
	Served map[int]int
}

// Model plays a script for one conversation. It is safe for concurrent use.
type Model struct {
	script *Script
	prefix string

	mu sync.Mutex
	// served is how often each step has served; steps that have not are absent.
	served map[int]int
}

// Model returns a model that plays s; opts may be nil.
func (s *Script) Model(opts *Options) *Model {
	m := &Model{script: s, served: map[int]int{}}
	if opts != nil {
		m.prefix = opts.IDPrefix
		maps.Copy(m.served, opts.Served)
	}
	return m
}

// Generate answers with the first step that may still serve and whose `when`,
// if it has one, is found in a user text or tool result that is new in req. A
// step has served once its answer, or its error, has been given; a request
// whose ctx ends during the step's delay leaves it as it was. With no step
// left the answer is empty (exhausted: stop) or a fatal *APIError of type unknown.
//
// An error of the script comes with a Response that says which step it was.
func (m *Model) Generate(ctx context.Context, req agent.Request) (agent.Response, error) {
	i, nth, found := m.take(req)
	if !found {
		return m.exhausted(ctx)
	}
	s := m.script.steps[i]
	if err := pause(ctx, s.delay); err != nil {
		m.putBack(i)
		return agent.Response{}, err
	}
	if s.fail != nil {
		failure := *s.fail // a copy: the script stays as it is whatever a caller does
		return agent.Response{Step: &i}, &failure
	}
	return agent.Response{Content: m.content(i, nth), Usage: s.usage, Step: &i}, nil
}

// take finds the step for a request and counts it as served, in one go: of two
// requests at the same time, only one may have a step's last serving. nth says
// how often the step had served before.
func (m *Model) take(req agent.Request) (i, nth int, found bool) {
	// Steps are looked at in order each time: one whose `when` did not match
	// earlier may serve later.
	texts := news(req)
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

// putBack makes a serving undone: its request was over before the step's delay.
func (m *Model) putBack(i int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.served[i]--
}

// exhausted is the answer when no step is left for a request.
func (m *Model) exhausted(ctx context.Context) (agent.Response, error) {
	// This pass is a model request like any other, and takes its time.
	if err := pause(ctx, m.script.delay); err != nil {
		return agent.Response{}, err
	}
	if m.script.stop {
		return agent.Response{Usage: m.script.usage}, nil
	}
	return agent.Response{}, &agent.APIError{
		Type: "unknown", Fatal: true,
		Message: fmt.Sprintf("script %s: none of its %d steps may serve this pass; "+
			"add a step, or `exhausted: stop`", m.script.name, len(m.script.steps)),
	}
}

// content is what step i says when it serves for the nth time, from 0. A tool
// call's id is made of step, serving and place, so that the same run gives the
// same ids and none comes twice, resumed or not.
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

// news are the user texts and tool results that no earlier request held.
func news(req agent.Request) []string {
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

// matchAny reports whether expr is found in one of texts. They are looked at one
// by one, so that ^ and $ mean the ends of a message.
func matchAny(expr *regexp.Regexp, texts []string) bool {
	for _, text := range texts {
		if expr.MatchString(text) {
			return true
		}
	}
	return false
}

// pause waits for d, or fails with ctx's error. Even without a delay a ctx that
// has ended is an error: a script must stop as a model does.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
