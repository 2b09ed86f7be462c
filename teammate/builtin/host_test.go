package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// fakeHost is a member without hooks, rules and disk. It records the agent's calls, and
// fails where a test requires it.
type fakeHost struct {
	mail    [][]agent.Input // what each Pass brings
	passErr error           // what Pass answers once mail is used up
	results map[string]agent.ToolResult
	onCall  func(agent.ToolCall)
	unbegun string // the id of a call that an earlier life has only asked about
	full    int    // after so many records the disk is full; 0: never

	passes  int
	calls   []string // names and ids, in order
	records []agent.Record
	tried   int
}

func (h *fakeHost) Pass(ctx context.Context) ([]agent.Input, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.passes++
	if h.passes <= len(h.mail) {
		return h.mail[h.passes-1], nil
	}
	return nil, h.passErr
}

func (h *fakeHost) Call(_ context.Context, c agent.ToolCall) agent.ToolResult {
	h.calls = append(h.calls, c.Name+" "+c.ID)
	if h.onCall != nil {
		h.onCall(c)
	}
	if r, ok := h.results[c.Name]; ok {
		return r
	}
	return agent.ToolResult{Content: "did " + c.Name}
}

func (h *fakeHost) Unbegun(_ context.Context, id string) bool { return id == h.unbegun }

var errDiskFull = errors.New("no space left on device")

func (h *fakeHost) Record(r agent.Record) error {
	h.tried++
	if h.full > 0 && h.tried > h.full {
		return errDiskFull
	}
	h.records = append(h.records, r)
	return nil
}

// transcript returns the history of a resumed agent.
func (h *fakeHost) transcript() []agent.Message {
	var list []agent.Message
	for _, r := range h.records {
		list = append(list, r.Message)
	}
	return list
}

// checkResults checks that every call has exactly one result, between the call and the
// next answer.
func checkResults(messages []agent.Message) error {
	open := map[string]bool{}
	used := map[string]bool{}
	for i, m := range messages {
		if m.Role == agent.Assistant && len(open) > 0 {
			return fmt.Errorf("message %d: an answer while calls are open: %v", i, open)
		}
		for _, b := range m.Content {
			switch b.Type {
			case agent.ToolUseBlock:
				if used[b.ID] {
					return fmt.Errorf("message %d: call id %q is used twice", i, b.ID)
				}
				used[b.ID], open[b.ID] = true, true
			case agent.ToolResultBlock:
				if !open[b.ToolUseID] {
					return fmt.Errorf("message %d: a result for %q, which is not open", i, b.ToolUseID)
				}
				delete(open, b.ToolUseID)
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("calls without a result: %v", open)
	}
	return nil
}

// checkRequest checks the requirements of model APIs.
func checkRequest(r agent.Request) error {
	for i, m := range r.Messages {
		if len(m.Content) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		// Consecutive messages of one role occur only where the new part begins.
		if i > 0 && m.Role == r.Messages[i-1].Role && i != r.New {
			return fmt.Errorf("messages %d and %d are both of the %s", i-1, i, m.Role)
		}
		if !slices.IsSortedFunc(m.Content, func(a, b agent.Block) int {
			return rank(a) - rank(b)
		}) {
			return fmt.Errorf("message %d: a tool result behind text", i)
		}
	}
	if r.New < 0 || r.New > len(r.Messages) {
		return fmt.Errorf("new is %d of %d", r.New, len(r.Messages))
	}
	return checkResults(r.Messages)
}

// rank sorts tool results before everything else.
func rank(b agent.Block) int {
	if b.Type == agent.ToolResultBlock {
		return 0
	}
	return 1
}

// fakeModel answers from a list, and checks every request.
type fakeModel struct {
	t        testing.TB
	answers  []any // agent.Response or error
	requests []agent.Request
	before   func()
}

func (m *fakeModel) Generate(ctx context.Context, r agent.Request) (agent.Response, error) {
	if m.before != nil {
		m.before()
	}
	if err := ctx.Err(); err != nil {
		return agent.Response{}, err
	}
	if err := checkRequest(r); err != nil {
		m.t.Errorf("request %d: %v", len(m.requests), err)
	}
	m.requests = append(m.requests, r)
	if len(m.answers) == 0 {
		return agent.Response{}, errors.New("the fake model has no answer left")
	}
	next := m.answers[0]
	m.answers = m.answers[1:]
	if err, ok := next.(error); ok {
		return agent.Response{}, err
	}
	return next.(agent.Response), nil
}

// answer returns a response with the usage that all answers of these tests have.
func answer(blocks ...agent.Block) agent.Response {
	return agent.Response{Content: blocks, Usage: agent.Usage{InputTokens: 10, OutputTokens: 1}}
}

func says(text string) agent.Block { return agent.Block{Type: agent.TextBlock, Text: text} }

func calls(name, id string) agent.Block {
	return agent.Block{Type: agent.ToolUseBlock, ID: id, Name: name, Input: []byte(`{"a":1}`)}
}

func prompt(texts ...string) []agent.Input {
	var list []agent.Input
	for _, text := range texts {
		list = append(list, agent.Input{Kind: agent.FromPerson, Text: text})
	}
	return list
}

func newAgent(t testing.TB, m agent.Model, history ...agent.Message) *Agent {
	t.Helper()
	a, err := New(Options{
		Model: m, System: func() string { return "be good" }, History: history,
		Tools: []agent.Spec{{Name: "Bash"}, {Name: "Edit", Edits: true}, {Name: "Read", ReadOnly: true},
			{Name: "TaskUpdate", Team: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}
