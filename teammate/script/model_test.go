package script_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/script"
)

// said returns a summary of an answer: its texts, its calls by tool and id, or its error.
func said(r agent.Response, err error) string {
	var failure *agent.APIError
	if errors.As(err, &failure) {
		return "error " + failure.Type
	}
	if err != nil {
		return err.Error()
	}
	var parts []string
	for _, b := range r.Content {
		if b.Type == agent.TextBlock {
			parts = append(parts, b.Text)
		} else {
			parts = append(parts, b.Name+" "+b.ID)
		}
	}
	if len(parts) == 0 {
		return "(empty)"
	}
	return strings.Join(parts, ", ")
}

const example = `
steps:
  - say: I take task 1.
    call: [{tool: TaskUpdate, input: {taskId: "1"}}, {tool: Bash}]
  - say: Done.
  - when: "TeammateIdle hook feedback"
    say: Right, I run the tests first.
    call: [{tool: Bash, input: {command: go test ./...}}]
    times: 2
  - error: {type: overloaded}
  - {say: "", when: quiet}
  - {when: ping, say: pong, times: -1}
`

func TestAPassTakesTheFirstStepThatMayStillServe(t *testing.T) {
	m := parse(t, example).Model(&script.Options{IDPrefix: "ab_"})
	for i, turn := range []struct{ text, want string }{
		{"go", "I take task 1., TaskUpdate toolu_ab_0_0_0, Bash toolu_ab_0_0_1"},
		{"ping", "Done."},
		{"TeammateIdle hook feedback:\nno", "Right, I run the tests first., Bash toolu_ab_2_0_0"},
		{"x", "error overloaded"},
		{"ping", "pong"},
		{"TeammateIdle hook feedback:\nno", "Right, I run the tests first., Bash toolu_ab_2_1_0"},
		{"TeammateIdle hook feedback, quiet", "(empty)"},
		{"TeammateIdle hook feedback", "error unknown"},
		{"ping", "pong"},
		{"nothing", "error unknown"},
	} {
		if got := said(ask(m, turn.text)); got != turn.want {
			t.Errorf("pass %d, %q\n got %s\nwant %s", i, turn.text, got, turn.want)
		}
	}
}

func TestWhenLooksAtNewUserTextsAndResultsOnly(t *testing.T) {
	user := func(b ...agent.Block) agent.Message {
		return agent.Message{Role: agent.User,
			Content: b}
	}
	text := func(s string) agent.Block { return agent.Block{Type: agent.TextBlock, Text: s} }
	result := func(s string) agent.Block {
		return agent.Block{Type: agent.ToolResultBlock, ToolUseID: "t", Content: s, IsError: true}
	}
	assistant := agent.Message{Role: agent.Assistant, Content: []agent.Block{text("KEY")}}
	tests := []struct {
		name     string
		messages []agent.Message
		from     int
		want     bool
	}{
		{"a new prompt", []agent.Message{user(text("the KEY is here"))}, 0, true},
		{"the second block", []agent.Message{user(text("a"), text("KEY"))}, 0, true},
		{"a failed tool's result", []agent.Message{user(result("KEY"))}, 0, true},
		{"an older prompt", []agent.Message{user(text("KEY")), assistant, user(text("b"))}, 2, false},
		{"the assistant's own text", []agent.Message{user(text("a")), assistant}, 0, false},
		{"nothing new", []agent.Message{user(text("KEY"))}, 1, false},
		{"an index beyond the end", []agent.Message{user(text("KEY"))}, 9, false},
		{"an index before the beginning", []agent.Message{user(text("KEY"))}, -1, true},
		{"two blocks are not one text", []agent.Message{user(text("K"), text("EY"))}, 0, false},
	}
	s := parse(t, `steps: [{when: KEY, say: found}, {say: other}]`)
	for _, test := range tests {
		r, err := s.Model(nil).Generate(t.Context(),
			agent.Request{Messages: test.messages, New: test.from})
		if got := said(r, err) == "found"; got != test.want {
			t.Errorf("%s: %s", test.name, said(r, err))
		}
	}
}

func TestStepAndUsageStandInTheResponse(t *testing.T) {
	s := parse(t, `
steps:
  - {say: a}
  - {say: b, usage: {input_tokens: 1}}
  - {error: {type: rate_limit}}
usage: {input_tokens: 900, output_tokens: 120}
exhausted: stop
`)
	m := s.Model(nil)
	wants := []struct {
		step  int
		usage agent.Usage
	}{
		{0, agent.Usage{InputTokens: 900, OutputTokens: 120}},
		{1, agent.Usage{InputTokens: 1}},
		{2, agent.Usage{}},
		{-1, agent.Usage{InputTokens: 900, OutputTokens: 120}},
	}
	for i, want := range wants {
		r, _ := ask(m, "x")
		step := -1
		if r.Step != nil {
			step = *r.Step
		}
		if step != want.step || r.Usage != want.usage {
			t.Errorf("pass %d: step %d, usage %+v; want %+v", i, step, r.Usage, want)
		}
	}
}

func TestExhausted(t *testing.T) {
	_, err := ask(parse(t, "steps: [{say: x, when: never}]").Model(nil), "x")
	var failure *agent.APIError
	if !errors.As(err, &failure) || failure.End != events.EndModelError || !strings.Contains(failure.Message, "demo.yaml") ||
		!strings.Contains(failure.Message, "exhausted: stop") {
		t.Errorf("by default: %v", err)
	}
	r, err := ask(parse(t, "{steps: [], exhausted: stop}").Model(nil), "x")
	if err != nil || len(r.Content) != 0 || r.Step != nil {
		t.Errorf("stop: %+v, %v", r, err)
	}
	if _, err = ask(parse(t, "{steps: [], exhausted: error}").Model(nil), "x"); err == nil {
		t.Error("error: an answer")
	}
}

func TestDelayEndsWithTheContextAndLeavesTheStep(t *testing.T) {
	s := parse(t, `
steps: [{say: slow, delay: 2s}, {say: fast, delay: 0s}, {say: all}]
delay: 50ms
exhausted: stop
`)
	synctest.Test(t, func(t *testing.T) {
		m := s.Model(nil)
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Generate(ctx, request("x")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("interrupted: %v", err)
		}
		for _, want := range []struct {
			text string
			at   time.Duration
		}{{"slow", 3 * time.Second}, {"fast", 3 * time.Second}, {"all", 3050 * time.Millisecond},
			{"(empty)", 3100 * time.Millisecond}} {
			got := said(m.Generate(t.Context(), request("x")))
			if took := time.Since(begin); got != want.text || took != want.at {
				t.Errorf("%s after %v, want %s after %v", got, took, want.text, want.at)
			}
		}
	})
}

func TestAnEndedContextIsNoAnswer(t *testing.T) {
	m := parse(t, "steps: [{say: a}]").Model(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Generate(ctx, request("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := said(ask(m, "x")); got != "a" {
		t.Errorf("the step was used up: %s", got)
	}
}

func TestTheErrorIsACopy(t *testing.T) {
	s := parse(t, "steps: [{error: {type: overloaded, message: busy}, times: 2}]")
	m := s.Model(nil)
	for range 2 {
		_, err := ask(m, "x")
		var failure *agent.APIError
		if !errors.As(err, &failure) || failure.Message != "busy" {
			t.Fatalf("got %v", err)
		}
		failure.Message = "changed"
	}
}

// A member that is resumed from its transcript at any point continues exactly like
// one that was never stopped, and no call id is used twice.
func TestResumedModelsGoOnWhereTheyWere(t *testing.T) {
	s := parse(t, example+"exhausted: stop\n")
	texts := []string{"x", "ping", "quiet", "TeammateIdle hook feedback"}
	rapid.Check(t, func(t *rapid.T) {
		prompts := rapid.SliceOfN(rapid.SampledFrom(texts), 1, 12).Draw(t, "prompts")
		crashes := rapid.SliceOfN(rapid.Bool(), 12, 12).Draw(t, "crashes")
		through, cut := s.Model(nil), s.Model(nil)
		served := map[int]int{}
		ids := map[string]bool{}
		for i, prompt := range prompts {
			if crashes[i] {
				cut = s.Model(&script.Options{Served: served})
			}
			want := said(ask(through, prompt))
			r, err := ask(cut, prompt)
			if got := said(r, err); got != want {
				t.Fatalf("pass %d: %s, without a crash %s", i, got, want)
			}
			if r.Step != nil {
				served[*r.Step]++
			}
			for _, b := range r.Content {
				if b.Type == agent.ToolUseBlock && ids[b.ID] {
					t.Fatalf("%s came twice", b.ID)
				}
				ids[b.ID] = true
			}
		}
	})
}

func TestServedStepsThatAreGoneAreIgnored(t *testing.T) {
	served := map[int]int{0: 1, 7: 3}
	m := parse(t, "steps: [{say: a}, {say: b}]").Model(&script.Options{Served: served})
	if got := said(ask(m, "x")); got != "b" {
		t.Errorf("got %s", got)
	}
	if len(served) != 2 {
		t.Error("the caller's map was changed")
	}
}

func TestAPromptOfTenMegabytesIsSearched(t *testing.T) {
	m := parse(t, `steps: [{when: "needle$", say: found}]`).Model(nil)
	if got := said(ask(m, strings.Repeat("hay \xff", 2<<20)+"needle")); got != "found" {
		t.Errorf("got %s", got)
	}
}
