//go:build unix

package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
)

// stage is where the tools of a test meet. Its tools have the input {"n": "NAME"}.
type stage struct {
	t  *testing.T
	do func(ctx context.Context, name string) agent.ToolResult

	mu      sync.Mutex
	log     []string
	running int
	most    int
}

func (s *stage) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, text)
}

// tool returns a tool of the stage.
func (s *stage) tool(name string, readOnly bool) agent.Tool {
	return stageTool{agent.Spec{Name: name, ReadOnly: readOnly, Schema: []byte(`{"type":"object"}`)}, s}
}

type stageTool struct {
	spec agent.Spec
	s    *stage
}

func (t stageTool) Spec() agent.Spec { return t.spec }

func (t stageTool) Run(ctx context.Context, call agent.ToolCall) agent.ToolResult {
	var in struct{ N string }
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return agent.Failed("%v", err)
	}
	t.s.mu.Lock()
	t.s.running++
	t.s.most = max(t.s.most, t.s.running)
	if alone := !t.spec.ReadOnly; alone && t.s.running > 1 {
		t.s.t.Errorf("%s runs together with %d others", in.N, t.s.running-1)
	}
	t.s.mu.Unlock()
	defer func() {
		t.s.mu.Lock()
		defer t.s.mu.Unlock()
		t.s.running--
	}()
	return t.s.do(ctx, in.N)
}

// Run notes the hooks that fire for tools, and denies the call with the name "no".
func (s *stage) Run(ctx context.Context, in hooks.Input, _ func(hooks.Progress)) (hooks.Outcome, error) {
	out := hooks.Outcome{Event: in.Payload.Event(), Decision: hooks.Pass}
	var names []string
	switch p := in.Payload.(type) {
	case hooks.PreToolUseInput:
		names = append(names, nameOf(p.ToolInput))
		if names[0] == "no" {
			out.Decision, out.Feedback = hooks.Block, []string{"not that"}
		}
	case hooks.PostToolUseInput:
		names = append(names, nameOf(p.ToolInput))
	case hooks.PostToolUseFailureInput:
		names = append(names, nameOf(p.ToolInput))
	case hooks.PostToolBatchInput:
		for _, c := range p.ToolCalls {
			names = append(names, nameOf(c.ToolInput))
		}
	default:
		return out, ctx.Err()
	}
	s.note(string(out.Event) + " " + strings.Join(names, " "))
	return out, ctx.Err()
}

func nameOf(input json.RawMessage) string {
	var in struct{ N string }
	if json.Unmarshal(input, &in) != nil {
		return string(input)
	}
	return in.N
}

// onStage returns a member whose model makes calls, written TOOL:NAME, in one message.
func (s *stage) onStage(calls ...string) *member {
	var list []string
	for _, c := range calls {
		tool, name, _ := strings.Cut(c, ":")
		list = append(list, fmt.Sprintf(`{tool: %s, input: {n: "%s"}}`, tool, name))
	}
	m := newMember(s.t, []byte("steps:\n  - call: ["+strings.Join(list, ", ")+"]\n  - say: end\n"))
	m.runner, m.extra = s, []agent.Tool{s.tool("Look", true), s.tool("Peek", true), s.tool("Touch", false)}
	return m
}

// results returns the results in the order of the journal, "!" before failures.
func (m *member) results() []string {
	var list []string
	for _, r := range all[events.ToolReturned](m) {
		text := r.Content
		if r.IsError {
			text = "!" + text
		}
		list = append(list, text)
	}
	return list
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", what, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// Read-only calls run at the same time, whatever order they end in: their hooks, results
// and events keep the order of the calls. A call that changes something runs alone.
func TestReadOnlyCallsRunAtTheSameTime(t *testing.T) {
	var begun, ended sync.Map
	for _, name := range []string{"a", "b", "c"} {
		begun.Store(name, make(chan struct{}))
		ended.Store(name, make(chan struct{}))
	}
	wait := func(m *sync.Map, name string) {
		c, _ := m.Load(name)
		<-c.(chan struct{})
	}
	tell := func(m *sync.Map, name string) {
		if c, ok := m.Load(name); ok {
			close(c.(chan struct{}))
		}
	}
	s := &stage{t: t}
	s.do = func(_ context.Context, name string) agent.ToolResult {
		tell(&begun, name)
		defer tell(&ended, name)
		switch name { // each waits for one after it: none would end if one began after another's end
		case "a":
			wait(&begun, "b")
			wait(&ended, "b")
		case "b":
			wait(&begun, "a")
			wait(&ended, "c")
		case "c":
			panic("oh")
		}
		return agent.ToolResult{Content: name, Response: []byte(`"` + name + `"`)}
	}
	m := s.onStage("Look:a", "Peek:no", "Peek:b", "Look:c", "Touch:x", "Touch:y", "Look:z")
	m.run(t, "go")
	panicked := "!<tool_use_error>Error: internal error in Look: oh</tool_use_error>"
	same(t, "results", m.results(), "a", "!not that", "b", panicked, "x", "y", "z")
	same(t, "hooks", s.log, "PreToolUse a", "PreToolUse no", "PreToolUse b", "PreToolUse c",
		"PostToolUse a", "PostToolUse b", "PostToolUseFailure c",
		"PreToolUse x", "PostToolUse x", "PreToolUse y", "PostToolUse y", "PreToolUse z", "PostToolUse z",
		"PostToolBatch a no b c x y z")
}

// At most eight calls run at the same time, and the ninth begins when the first has ended.
func TestReadOnlyCallsAreBounded(t *testing.T) {
	s := &stage{t: t}
	var eight sync.WaitGroup
	eight.Add(8)
	var calls, want []string
	for i := range 20 {
		name := fmt.Sprint(i)
		calls, want = append(calls, "Look:"+name), append(want, name)
	}
	s.do = func(_ context.Context, name string) agent.ToolResult {
		if slices.Contains(want[:8], name) {
			eight.Done()
			eight.Wait()
		}
		return agent.ToolResult{Content: name, Response: []byte(`""`)}
	}
	m := s.onStage(calls...)
	m.run(t, "go")
	same(t, "results", m.results(), want...)
	if s.most != 8 {
		t.Errorf("%d calls ran at the same time", s.most)
	}
}

// When the turn is interrupted, every call that runs ends and has its one result, and none
// begins any more.
func TestReadOnlyCallsAreInterruptedTogether(t *testing.T) {
	s := &stage{t: t}
	var both sync.WaitGroup
	both.Add(2)
	var m *member
	s.do = func(ctx context.Context, name string) agent.ToolResult {
		both.Done()
		both.Wait()
		m.mate.Interrupt("enough")
		<-ctx.Done()
		return agent.Failed("cut %s", name)
	}
	m = s.onStage("Look:a", "Look:b", "Touch:x")
	m.run(t, "go")
	same(t, "results", m.results(), "!cut a", "!cut b", "!Not run: the turn was interrupted before this call.")
	same(t, "hooks", s.log, "PreToolUse a", "PreToolUse b", "PostToolUseFailure a", "PostToolUseFailure b")
}

// asked is a person who allows everything, and notes it.
type asked struct{ s *stage }

func (asked) Present() bool { return true }

func (a asked) Ask(_ context.Context, q teammate.Question) teammate.Answer {
	a.s.note("asked " + nameOf(q.Call.Input))
	return teammate.Answer{Allow: true, By: "anna"}
}

// People are asked about one call at a time, in the order of the calls, while those that
// they have allowed already run.
func TestQuestionsAboutReadOnlyCallsComeOneByOne(t *testing.T) {
	s := &stage{t: t}
	s.do = func(_ context.Context, name string) agent.ToolResult {
		return agent.ToolResult{Content: name, Response: []byte(`""`)}
	}
	m := s.onStage("Touch:a", "Look:b", "Look:c")
	look, err := rules.Parse("Look")
	if err != nil {
		t.Fatal(err)
	}
	m.cut = func(o *teammate.Options) {
		o.Rights = permission.NewRights(permission.Policy{Mode: "default", Ask: []rules.Rule{look}}, nil)
		o.Asker = asked{s}
	}
	m.run(t, "go")
	same(t, "results", m.results(), "a", "b", "c")
	same(t, "hooks", s.log, "PreToolUse a", "asked a", "PostToolUse a",
		"PreToolUse b", "asked b", "PreToolUse c", "asked c", "PostToolUse b", "PostToolUse c", "PostToolBatch a b c")
}
