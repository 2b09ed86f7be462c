package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

func TestTheAgentWorksUntilAnAnswerCallsNothing(t *testing.T) {
	m := &fakeModel{t: t, answers: []any{
		answer(says("I look."), calls("Read", "c1"), calls("Bash", "c2")),
		answer(calls("Edit", "c3")),
		answer(says(" All "), says("done. ")),
	}}
	h := &fakeHost{mail: [][]agent.Input{nil,
		{{Kind: agent.FromMail, Text: "<mail>", MessageID: "m1"}}}}
	h.results = map[string]agent.ToolResult{"Bash": {Content: "out", Extra: []string{"a hook says so"}}}
	reply, err := newAgent(t, m).Run(t.Context(), prompt("goal", "and this"), h)
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Reply{Text: "All \ndone.", ToolCalls: 3,
		Usage: agent.Usage{InputTokens: 30, OutputTokens: 3}}
	if reply != want {
		t.Errorf("reply %+v, want %+v", reply, want)
	}
	if got := fmt.Sprint(h.calls); got != "[Read c1 Bash c2 Edit c3]" {
		t.Errorf("calls %s", got)
	}
	if err := checkResults(h.transcript()); err != nil {
		t.Error(err)
	}
	wantTalk := `user: goal | and this
assistant: I look. | Read c1 {"a":1} | Bash c2 {"a":1}
user: =c1 did Read
user: =c2 out | a hook says so
user: <mail>
assistant: Edit c3 {"a":1}
user: =c3 did Edit
assistant:  All  | done. 
`
	if got := written(h.transcript()); got != wantTalk {
		t.Errorf("transcript\n%s\nwant\n%s", got, wantTalk)
	}
	wantRequest := `user: goal | and this
assistant: I look. | Read c1 {"a":1} | Bash c2 {"a":1}
user: =c1 did Read | =c2 out | a hook says so | <mail>
`
	if r := m.requests[1]; written(r.Messages) != wantRequest || r.New != 1 || r.System != "be good" ||
		len(r.Tools) != 4 {
		t.Errorf("second request, new from %d:\n%s", r.New, written(r.Messages))
	}
	mail := h.records[4]
	if len(mail.Inputs) != 1 || mail.Inputs[0].MessageID != "m1" {
		t.Errorf("the mail's record does not say which message it shows: %+v", mail)
	}
	if extra := h.records[3].Inputs; len(extra) != 1 || extra[0].Kind != agent.FromContext {
		t.Errorf("what a hook added is recorded as %+v", extra)
	}
}

// written returns a conversation as text, one message per line.
func written(messages []agent.Message) string {
	var b strings.Builder
	for _, m := range messages {
		var parts []string
		for _, block := range m.Content {
			switch block.Type {
			case agent.TextBlock:
				parts = append(parts, block.Text)
			case agent.ToolUseBlock:
				parts = append(parts, fmt.Sprintf("%s %s %s", block.Name, block.ID, block.Input))
			case agent.ToolResultBlock:
				mark := "="
				if block.IsError {
					mark = "!"
				}
				parts = append(parts, mark+block.ToolUseID+" "+block.Content)
			}
		}
		fmt.Fprintf(&b, "%s: %s\n", m.Role, strings.Join(parts, " | "))
	}
	return b.String()
}

func TestAnAgentNeedsAModel(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("made without a model")
	}
}

func TestAnEmptyAnswerEndsTheRun(t *testing.T) {
	step := 3
	m := &fakeModel{t: t, answers: []any{
		agent.Response{Step: &step}, answer(says("back")),
	}}
	h := &fakeHost{}
	a := newAgent(t, m)
	reply, err := a.Run(t.Context(), prompt("x"), h)
	if err != nil || reply.Text != "" {
		t.Errorf("%+v, %v", reply, err)
	}
	// It is recorded for a resumed script, but no request contains it.
	if last := h.records[len(h.records)-1]; last.Step == nil || *last.Step != 3 ||
		len(last.Message.Content) != 0 {
		t.Errorf("recorded as %+v", last)
	}
	if _, err := a.Run(t.Context(), prompt("y"), h); err != nil {
		t.Fatal(err)
	}
	if r := m.requests[1]; written(r.Messages) != "user: x\nuser: y\n" || r.New != 1 {
		t.Errorf("new from %d:\n%s", r.New, written(r.Messages))
	}
}

func TestAModelErrorLeavesTheConversationSound(t *testing.T) {
	failure := &agent.APIError{Type: "overloaded", Message: "busy"}
	m := &fakeModel{t: t, answers: []any{answer(calls("Bash", "c1")), failure, answer(says("ok"))}}
	h := &fakeHost{}
	a := newAgent(t, m)
	reply, err := a.Run(t.Context(), prompt("x"), h)
	var got *agent.APIError
	if !errors.As(err, &got) || got != failure || reply.ToolCalls != 1 || reply.Usage.InputTokens != 10 {
		t.Errorf("%+v, %v", reply, err)
	}
	reply, err = a.Run(t.Context(), prompt("go on"), h)
	if err != nil || reply.Text != "ok" {
		t.Errorf("%+v, %v", reply, err)
	}
	// The failed request contained the result, so only the prompt is new.
	if r := m.requests[2]; written(r.Messages[r.New:]) != "user: go on\n" {
		t.Errorf("new:\n%s", written(r.Messages[r.New:]))
	}
}

// failingScript is a model whose step fails, like a step of a script.
type failingScript struct{ step int }

func (m failingScript) Generate(context.Context, agent.Request) (agent.Response, error) {
	return agent.Response{Step: &m.step}, &agent.APIError{Type: "overloaded"}
}

func TestAFailedStepOfAScriptIsRecorded(t *testing.T) {
	h := &fakeHost{}
	_, err := newAgent(t, failingScript{2}).Run(t.Context(), prompt("x"), h)
	var failure *agent.APIError
	if !errors.As(err, &failure) {
		t.Fatalf("got %v", err)
	}
	if last := h.records[len(h.records)-1]; last.Step == nil || *last.Step != 2 ||
		last.Message.Role != agent.Assistant {
		t.Errorf("the last record is %+v", last)
	}
}

func TestTheLimitOfPassesEndsTheRun(t *testing.T) {
	m := &fakeModel{t: t, answers: []any{answer(says("I try."), calls("Bash", "c1"))}}
	h := &fakeHost{mail: [][]agent.Input{nil}, passErr: agent.ErrMaxTurns}
	reply, err := newAgent(t, m).Run(t.Context(), prompt("x"), h)
	if !errors.Is(err, agent.ErrMaxTurns) || reply.Text != "I try." || reply.ToolCalls != 1 {
		t.Errorf("%+v, %v", reply, err)
	}
	if err := checkResults(h.transcript()); err != nil {
		t.Error(err)
	}
}

func TestAHaltFinishesTheBatch(t *testing.T) {
	m := &fakeModel{t: t,
		answers: []any{answer(says("both"), calls("Bash", "c1"), calls("Read", "c2"), calls("Edit", "c3"))}}
	h := &fakeHost{results: map[string]agent.ToolResult{
		"Bash": {
			Content: "a"}, "Read": {Content: "b", Halted: "budget"},
		"Edit": {Content: "c", Halted: "later"},
	}}
	reply, err := newAgent(t, m).Run(t.Context(), prompt("x"), h)
	if err != nil || reply.Halted != "budget" || reply.ToolCalls != 3 || reply.Text != "both" {
		t.Errorf("%+v, %v", reply, err)
	}
	if len(m.requests) != 1 {
		t.Errorf("%d requests after a halt", len(m.requests))
	}
	if err := checkResults(h.transcript()); err != nil {
		t.Error(err)
	}
}

func TestAnInterruptedBatchHasAllItsResults(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &fakeModel{t: t, answers: []any{
		answer(calls("Read", "c1"), calls("Bash", "c2"), calls("Edit", "c3")), answer(says("ok")),
	}}
	h := &fakeHost{onCall: func(c agent.ToolCall) {
		if c.ID == "c2" {
			cancel()
		}
	}}
	a := newAgent(t, m)
	reply, err := a.Run(ctx, prompt("x"), h)
	if !errors.Is(err, context.Canceled) || reply.ToolCalls != 2 {
		t.Errorf("%+v, %v", reply, err)
	}
	if err := checkResults(h.transcript()); err != nil {
		t.Error(err)
	}
	last := h.records[len(h.records)-1].Message.Content[0]
	if last.ToolUseID != "c3" || !last.IsError || !strings.Contains(last.Content, "interrupted") {
		t.Errorf("the call that was not made has the result %+v", last)
	}
	if reply, err = a.Run(t.Context(), prompt("go on"), h); err != nil || reply.Text != "ok" {
		t.Errorf("the next run: %+v, %v", reply, err)
	}
}

func TestAnInterruptedRequestLeavesThePrompt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &fakeModel{t: t, before: cancel, answers: []any{answer(says("ok"))}}
	h := &fakeHost{}
	a := newAgent(t, m)
	if _, err := a.Run(ctx, prompt("x"), h); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	m.before = nil
	if _, err := a.Run(t.Context(), prompt("y"), h); err != nil {
		t.Fatal(err)
	}
	if got := written(m.requests[0].Messages); got != "user: x\nuser: y\n" {
		t.Errorf("the request holds\n%s", got)
	}
}

func TestAFullDiskEndsTheRunAndNothingIsDoneTwice(t *testing.T) {
	for full := 1; full <= 5; full++ {
		m := &fakeModel{t: t, answers: []any{
			answer(calls("Bash", "c1"), calls("Bash", "c2")), answer(says("ok")), answer(says("ok")),
		}}
		h := &fakeHost{full: full}
		a := newAgent(t, m)
		_, err := a.Run(t.Context(), prompt("x"), h)
		if full < 5 != errors.Is(err, errDiskFull) {
			t.Errorf("%d records fit: %v", full, err)
		}
		if slices.Contains(h.calls, "Bash c2") && full < 3 {
			t.Errorf("%d records fit, but the second call was made after the first was lost", full)
		}
		h.full = 0
		m.answers = []any{answer(says("ok"))}
		if _, err := a.Run(t.Context(), prompt("again"), h); err != nil {
			t.Errorf("%d records fit; with room again: %v", full, err)
		}
		made := slices.Compact(slices.Sorted(slices.Values(h.calls)))
		if len(made) != len(h.calls) {
			t.Errorf("calls were made twice: %v", h.calls)
		}
	}
}

func TestWhatModelsGetWrongIsPutRight(t *testing.T) {
	raw := func(id, input string) agent.Block {
		return agent.Block{Type: agent.ToolUseBlock, ID: id, Name: "Bash",
			Input: json.RawMessage(input)}
	}
	m := &fakeModel{t: t, answers: []any{
		answer(raw("c1", "{ \"a\" : 1 }"), raw("c1", ""), raw("", `[1]`), raw("", `{"a":`),
			raw("c1_2", "null"),
			says(""), agent.Block{Type: "thinking", Text: "hm"},
			agent.Block{Type: agent.ToolResultBlock, ToolUseID: "c1"}),
		answer(says("ok")),
	}}
	h := &fakeHost{}
	if _, err := newAgent(t, m).Run(t.Context(), prompt("x"), h); err != nil {
		t.Fatal(err)
	}
	if err := checkResults(h.transcript()); err != nil {
		t.Error(err)
	}
	want := `assistant: Bash c1 {"a":1} | Bash c1_2 {} | Bash toolu_none {} | Bash toolu_none_2 {} | Bash c1_2_2 {}
`
	if got := written(h.transcript()[1:2]); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	if got := fmt.Sprint(h.calls); got != "[Bash c1 Bash c1_2]" {
		t.Errorf("calls made: %s", got)
	}
}
