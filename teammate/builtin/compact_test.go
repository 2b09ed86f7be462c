package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// smallModel reads window tokens, of four bytes each, and says so when a request is longer. It
// summarizes when asked to, and otherwise answers with next.
type smallModel struct {
	t         *testing.T
	window    int64
	tells     bool // Describe tells the window
	requests  int
	summaries int
	overflows int
	next      func(n int, r agent.Request) []agent.Block // n counts from 1
}

func (m *smallModel) Describe() (string, int64) {
	if m.tells {
		return "test/small", m.window
	}
	return "test/small", 0
}

func (m *smallModel) Generate(_ context.Context, r agent.Request) (agent.Response, error) {
	m.requests++
	if m.requests > 500 {
		m.t.Fatal("the agent never stops asking")
	}
	if err := checkResults(r.Messages); err != nil {
		m.t.Errorf("request %d: %v", m.requests, err)
	}
	size := (r.Size() + 3) / 4
	if size > m.window {
		m.overflows++
		return agent.Response{}, &agent.APIError{Type: "invalid_request", Message: "prompt is too long", Overflow: true}
	}
	used := agent.Usage{InputTokens: size, OutputTokens: 1}
	last := r.Messages[len(r.Messages)-1].Content
	if asked := last[len(last)-1].Text; strings.HasPrefix(asked, "Summarize this conversation") || asked == agent.BriefRequest {
		m.summaries++
		return agent.Response{Content: []agent.Block{says("what was done so far")}, Usage: used}, nil
	}
	return agent.Response{Content: m.next(m.requests, r), Usage: used}, nil
}

// compactingHost is a fakeHost that is an agent.Compactor and an events.Observer.
type compactingHost struct {
	fakeHost
	refusal string
	done    []agent.Compaction
	seen    []events.Data
}

func (h *compactingHost) MayCompact(_ context.Context, _, custom string) (string, string) {
	return custom, h.refusal
}

func (h *compactingHost) Reminders(_ context.Context, files []string) []string {
	return []string{"files: " + strings.Join(files, " ")}
}

func (h *compactingHost) Compacted(_ context.Context, c agent.Compaction) ([]agent.Input, error) {
	h.done = append(h.done, c)
	return nil, nil
}

func (h *compactingHost) Observe(d events.Data) { h.seen = append(h.seen, d) }

// compacting returns an agent on a model, without tools and with a short system prompt.
func compacting(t *testing.T, m *smallModel) *Agent {
	t.Helper()
	m.t = t
	a, err := New(Options{Model: m, System: func() string { return "be good" }})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A long turn stays below what its model reads: first old results are collapsed, then the
// conversation is summarized. No request is ever too long, and the model is told what it must
// know. Thinking that is still there stands before its call, byte for byte as it came.
func TestLongTurn(t *testing.T) {
	result := strings.Repeat("x", 4000) // 1,000 tokens
	m := &smallModel{window: 10_000, tells: true}
	thought := func(call string) string { return `{ "signature":"+/==", "thinking":"<` + call + `>" }` }
	m.next = func(n int, r agent.Request) []agent.Block {
		if n > 60 {
			return []agent.Block{says("done")}
		}
		for _, said := range r.Messages {
			if said.Role == agent.Assistant && len(said.Content) == 3 && string(said.Content[0].Raw) != thought(said.Content[2].ID) {
				t.Errorf("request %d: the thinking before %s is %s", n, said.Content[2].ID, said.Content[0].Raw)
			}
		}
		return []agent.Block{{Type: agent.ThinkingBlock, Raw: []byte(thought(fmt.Sprint("c", n)))}, says(strings.Repeat("thought ", 60)), {
			Type: agent.ToolUseBlock, ID: fmt.Sprint("c", n), Name: "Read", Input: []byte(fmt.Sprintf(`{"file_path":"f%d"}`, n)),
		}}
	}
	h := &compactingHost{fakeHost: fakeHost{results: map[string]agent.ToolResult{"Read": {Content: result}}}}
	a := compacting(t, m)
	reply, err := a.Run(t.Context(), prompt("build it"), h)
	if err != nil || reply.Text != "done" {
		t.Fatalf("%q, %v", reply.Text, err)
	}
	if m.overflows > 0 || m.summaries == 0 || m.summaries != len(h.done) {
		t.Errorf("%d overflows, %d summaries, %d recorded", m.overflows, m.summaries, len(h.done))
	}
	layers := map[string]int{}
	for _, d := range h.seen {
		if c, ok := d.(events.Compacted); ok {
			layers[c.Layer]++
			if c.After >= c.Before {
				t.Errorf("%+v", c)
			}
		}
	}
	if layers["results"] < m.summaries || m.summaries > 10 {
		t.Errorf("layers %v with %d summaries", layers, m.summaries)
	}
	first := h.done[0]
	text := written([]agent.Message{first.Message})
	for _, want := range []string{"what was done so far", "files: f", "Continue the work"} {
		if !strings.Contains(text, want) {
			t.Errorf("after the compaction there is no %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "build it") {
		t.Error("the goal, which the model has answered, is repeated")
	}
}

// What arrived since the last answer is not lost in a summary, but repeated after it.
func TestSummaryKeepsTheNews(t *testing.T) {
	m := &smallModel{window: 1000, tells: true, next: func(int, agent.Request) []agent.Block { return []agent.Block{says("done")} }}
	a := compacting(t, m)
	h := &compactingHost{}
	for _, text := range []string{strings.Repeat("long ", 630), strings.Repeat("news ", 30)[:60] + "a new task", "another one"} {
		if _, err := a.Run(t.Context(), prompt(text), h); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.done) != 1 || !strings.HasSuffix(written([]agent.Message{h.done[0].Message}), "a new task\n") {
		t.Errorf("%+v", h.done)
	}
}

// A model whose window is unknown says itself when a conversation is too long: then the request
// is made again with less.
func TestOverflow(t *testing.T) {
	m := &smallModel{window: 2000, next: func(int, agent.Request) []agent.Block { return []agent.Block{says("done")} }}
	a := compacting(t, m)
	h := &compactingHost{}
	for n := range 20 {
		reply, err := a.Run(t.Context(), prompt(fmt.Sprint(n, strings.Repeat(" word", 300))), h)
		if err != nil || reply.Text != "done" {
			t.Fatalf("turn %d: %q, %v", n, reply.Text, err)
		}
	}
	if m.summaries < 2 || len(h.done) != m.summaries {
		t.Errorf("%d summaries, %d recorded", m.summaries, len(h.done))
	}
}

// The death spiral: each refusal of a gate makes the conversation too long again, and each
// summary makes room for the next refusal. The guard ends it with the second overflow; without
// the guard it goes on for as long as the gate refuses.
func TestDeathSpiral(t *testing.T) {
	feedback := []agent.Input{{Kind: agent.FromHook, Text: strings.Repeat("tests fail ", 100)}}
	spiral := func(t *testing.T, guarded bool) (m *smallModel, refusals int, err error) {
		m = &smallModel{window: 700, next: func(int, agent.Request) []agent.Block {
			return []agent.Block{says(strings.Repeat("I tried ", 250))}
		}}
		a := compacting(t, m)
		h := &compactingHost{}
		_, err = a.Run(t.Context(), prompt("go"), h)
		for ; err == nil && refusals < 40; refusals++ {
			if !guarded {
				a.room.reacted = false
			}
			_, err = a.Run(t.Context(), feedback, h)
		}
		return m, refusals, err
	}
	m, refusals, err := spiral(t, true)
	var failed *agent.APIError
	if !errors.As(err, &failed) || failed.End != events.EndPromptTooLong || !strings.Contains(failed.Message, "smaller tasks") {
		t.Errorf("after %d refusals: %v", refusals, err)
	}
	if refusals != 2 || m.summaries != 1 {
		t.Errorf("guarded: %d refusals, %d summaries", refusals, m.summaries)
	}
	m, refusals, err = spiral(t, false)
	if err != nil || refusals != 40 || m.summaries != 40 {
		t.Errorf("without the guard: %d refusals, %d summaries, %v", refusals, m.summaries, err)
	}
}

// A compaction after an overflow that failed is not tried again because a gate refuses: the
// guard holds until a tool call or another prompt. Without it each refusal tries again.
func TestFailedCompactionIsNotTriedAgain(t *testing.T) {
	for guarded, want := range map[bool]int{true: 1, false: 6} {
		m := &smallModel{window: 300, next: func(int, agent.Request) []agent.Block { return []agent.Block{says("done")} }}
		a := compacting(t, m)
		h := &countingHost{compactingHost: compactingHost{refusal: "a PreCompact hook refuses"}}
		if _, err := a.Run(t.Context(), prompt("go"), h); err != nil {
			t.Fatal(err)
		}
		inputs := prompt(strings.Repeat("word ", 400))
		for n := range 6 {
			if !guarded {
				a.room.reacted = false
			}
			_, err := a.Run(t.Context(), inputs, h)
			var failed *agent.APIError
			if !errors.As(err, &failed) || failed.End != events.EndPromptTooLong {
				t.Fatalf("%d: %v", n, err)
			}
			inputs = []agent.Input{{Kind: agent.FromHook, Text: "tests fail"}}
		}
		if h.asked != want || m.requests != 7 {
			t.Errorf("guarded %v: compacted %d times, want %d; %d requests", guarded, h.asked, want, m.requests)
		}
	}
}

// countingHost counts how often a conversation was to be compacted.
type countingHost struct {
	compactingHost
	asked int
}

func (h *countingHost) MayCompact(ctx context.Context, trigger, custom string) (string, string) {
	h.asked++
	return h.compactingHost.MayCompact(ctx, trigger, custom)
}

// A hook keeps a conversation from being compacted, so the request that would be too long is
// not made.
func TestBlockingLimit(t *testing.T) {
	m := &smallModel{window: 1000, tells: true, next: func(int, agent.Request) []agent.Block { return []agent.Block{says("done")} }}
	a := compacting(t, m)
	h := &compactingHost{refusal: "a PreCompact hook refuses: keep everything"}
	var err error
	for range 10 {
		if _, err = a.Run(t.Context(), prompt(strings.Repeat("word ", 100)), h); err != nil {
			break
		}
	}
	var failed *agent.APIError
	if !errors.As(err, &failed) || failed.End != events.EndBlockingLimit || !strings.Contains(failed.Message, "keep everything") {
		t.Errorf("%v", err)
	}
	if m.overflows > 0 || m.summaries > 0 || len(h.seen) == 0 || len(h.seen) > 3 {
		t.Errorf("%d overflows, %d summaries, reports %+v", m.overflows, m.summaries, h.seen)
	}
}

// A prompt that is too long by itself cannot be helped; the agent says so after few requests.
func TestHugePrompt(t *testing.T) {
	m := &smallModel{window: 1000, next: func(int, agent.Request) []agent.Block { return nil }}
	a := compacting(t, m)
	_, err := a.Run(t.Context(), prompt(strings.Repeat("word ", 2000)), &compactingHost{})
	var failed *agent.APIError
	if !errors.As(err, &failed) || failed.End != events.EndPromptTooLong || m.requests > 6 {
		t.Errorf("%d requests: %v", m.requests, err)
	}
}

// A person compacts a conversation with /compact.
func TestCompactByHand(t *testing.T) {
	m := &smallModel{window: 1000, next: func(int, agent.Request) []agent.Block { return []agent.Block{says("done")} }}
	a := compacting(t, m)
	h := &compactingHost{}
	for _, text := range []string{"first", "/compact keep the names", "second"} {
		in := []agent.Input{{Kind: agent.FromPerson, Text: text}}
		if _, err := a.Run(t.Context(), in, h); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.done) != 1 || h.done[0].Trigger != "manual" || len(h.done[0].Inputs) != 1 || m.requests != 3 {
		t.Errorf("%d requests, %+v", m.requests, h.done)
	}
}

// A provider that loses the conversation from its cache makes each request dear: people are told,
// but not where covey itself has changed what the cache had.
func TestLostCache(t *testing.T) {
	reads := []int64{0, 900, 950, 0, 0, 800}
	n := 0
	m := &fakeModel{t: t}
	for _, read := range reads {
		m.answers = append(m.answers, agent.Response{
			Content: []agent.Block{says("done")}, Usage: agent.Usage{InputTokens: 1000, CacheReadTokens: read},
		})
	}
	a := newAgent(t, m)
	h := &compactingHost{}
	for range reads {
		if _, err := a.Run(t.Context(), prompt("go on"), h); err != nil {
			t.Fatal(err)
		}
		if n++; len(h.seen) > 0 != (n >= 4) {
			t.Fatalf("after %d requests: %+v", n, h.seen)
		}
	}
	if len(h.seen) != 1 {
		t.Errorf("%+v", h.seen)
	}
}

// After a compaction the model has its plan and its skills again: what it wrote and loaded itself.
func TestPlanAndSkillsStay(t *testing.T) {
	m := &smallModel{window: 100_000}
	m.next = func(n int, r agent.Request) []agent.Block {
		call := func(tool, input string) []agent.Block {
			return []agent.Block{{Type: agent.ToolUseBlock, ID: fmt.Sprint("c", n), Name: tool, Input: []byte(input)}}
		}
		switch n {
		case 1:
			return call("Skill", `{"skill":"lint"}`)
		case 2:
			return call("ExitPlanMode", `{"plan":"first the tests"}`)
		case 3:
			return call("Skill", `{"skill":"lint"}`)
		}
		return []agent.Block{says("done")}
	}
	h := &compactingHost{fakeHost: fakeHost{results: map[string]agent.ToolResult{"Skill": {Content: "Base directory for this skill: /lint\n\nhow to lint"}}}}
	a := compacting(t, m)
	for _, text := range []string{"go", "/compact", "go", "/compact"} {
		if _, err := a.Run(t.Context(), []agent.Input{{Kind: agent.FromPerson, Text: text}}, h); err != nil {
			t.Fatal(err)
		}
	}
	if len(h.done) != 2 {
		t.Errorf("%d compactions", len(h.done))
	}
	for i, c := range h.done {
		text := written([]agent.Message{c.Message})
		if strings.Count(text, "how to lint") != 1 || strings.Count(text, "first the tests") != 1 {
			t.Errorf("compaction %d: %s", i+1, text)
		}
	}
}
