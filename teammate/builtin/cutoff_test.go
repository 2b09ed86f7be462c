package builtin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// cutOff returns an answer that reached the limit of output tokens.
func cutOff(blocks ...agent.Block) agent.Response {
	r := answer(blocks...)
	r.CutOff = true
	return r
}

// An answer that is cut off is continued, a few times in a row. A call that was cut in its middle
// does not run; its result says so, and is the only one.
func TestCutOff(t *testing.T) {
	broken := agent.Block{Type: agent.ToolUseBlock, ID: "c1", Name: "Bash", Input: []byte(`{"command":"rm -r`)}
	for name, tc := range map[string]struct {
		answers []any
		want    string // the conversation after the prompt, with continue for covey's request
		failed  bool
	}{
		"continued": {answers: []any{cutOff(says("one,")), cutOff(says("two,")), cutOff(says("three,")), answer(says("four."))},
			want: "one,|continue|two,|continue|three,|continue|four."},
		"counted in a row": {answers: []any{cutOff(says("one,")), cutOff(says("two,")), answer(calls("Read", "c2")),
			cutOff(says("three,")), cutOff(says("four,")), answer(says("five."))},
			want: "one,|continue|two,|continue|Read c2|=c2 did Read|three,|continue|four,|continue|five."},
		"never ends": {answers: []any{cutOff(says("1")), cutOff(says("2")), cutOff(says("3")), cutOff(says("4"))},
			want: "1|continue|2|continue|3|continue|4", failed: true},
		"in a call": {answers: []any{cutOff(says("I look"), calls("Read", "c0"), broken), answer(says("done"))},
			want: "I look, Read c0, Bash c1|=c0 did Read, !c1 Not run: the input of this call is not a JSON object|continue|done"},
		"empty": {answers: []any{cutOff(), answer(says("done"))}, want: "|continue|done"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, &fakeModel{t: t, answers: tc.answers})
			h := &fakeHost{}
			_, err := a.Run(t.Context(), prompt("go"), h)
			var api *agent.APIError
			if failed := errors.As(err, &api) && api.Type == "max_output_tokens" && strings.Contains(api.Message, "raise max_output"); failed != tc.failed ||
				!failed && err != nil {
				t.Errorf("error %v", err)
			}
			if have := brief(a.conv.messages[1:]); have != tc.want {
				t.Errorf("%s\nwant %s", have, tc.want)
			}
			if err := checkResults(a.conv.messages); err != nil {
				t.Error(err)
			}
		})
	}
}

// raisable is a model whose limit of output tokens can be raised.
type raisable struct{ agent.Model }

func (r raisable) Raise() (agent.Model, bool) { return raised(r), true }

// raised marks the answers of a model whose limit was raised.
type raised struct{ agent.Model }

func (r raised) Generate(ctx context.Context, req agent.Request) (agent.Response, error) {
	response, err := r.Model.Generate(ctx, req)
	for i := range response.Content {
		response.Content[i].Text += "^"
	}
	return response, err
}

// The first answer in a row that is cut off is made again with a higher limit, and counts as failed.
// If it is cut off again it is continued, and so is a cut answer whose limit the host does not raise.
func TestCutOffIsRaisedOnce(t *testing.T) {
	used := func(r agent.Response) agent.Response {
		r.Usage = agent.Usage{InputTokens: 1, OutputTokens: 9}
		return r
	}
	for name, tc := range map[string]struct {
		answers []any
		want    string
		failed  int64
	}{
		"enough":     {[]any{used(cutOff(says("one,"))), answer(says("one, two."))}, "one, two.^", 10},
		"not enough": {[]any{used(cutOff(says("one,"))), cutOff(says("two,")), cutOff(says("three,")), answer(says("four."))}, "two,^|continue|three,|continue|four.", 10},
		"refused":    {[]any{used(cutOff(says("one,"))), &agent.APIError{Type: "invalid_request"}, answer(says("two."))}, "one,|continue|two.", 0},
		"in each row": {[]any{cutOff(says("one,")), answer(calls("Read", "c1")), cutOff(says("two,")), answer(says("three."))},
			"Read c1|=c1 did Read|three.^", 22},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, raisable{&fakeModel{t: t, answers: tc.answers}})
			reply, err := a.Run(t.Context(), prompt("go"), &fakeHost{})
			if err != nil {
				t.Fatal(err)
			}
			if have := brief(a.conv.messages[1:]); have != tc.want {
				t.Errorf("%s\nwant %s", have, tc.want)
			}
			if reply.Usage.FailedTokens != tc.failed {
				t.Errorf("%d tokens failed, want %d", reply.Usage.FailedTokens, tc.failed)
			}
		})
	}
}

// brief renders messages in one line.
func brief(messages []agent.Message) string {
	var all []string
	for _, m := range messages {
		var parts []string
		for _, b := range m.Content {
			switch b.Type {
			case agent.TextBlock:
				parts = append(parts, strings.Replace(b.Text, cutText, "continue", 1))
			case agent.ToolUseBlock:
				parts = append(parts, b.Name+" "+b.ID)
			case agent.ToolResultBlock:
				mark := "="
				if b.IsError {
					mark = "!"
				}
				text, _, _ := strings.Cut(b.Content, ".")
				parts = append(parts, mark+b.ToolUseID+" "+text)
			}
		}
		if n := len(all); n > 0 && m.Role == agent.User && len(parts) == 1 && strings.HasPrefix(parts[0], "!") {
			all[n-1] += ", " + parts[0]
			continue
		}
		all = append(all, strings.Join(parts, ", "))
	}
	return strings.Join(all, "|")
}

// An answer that fills the model's window is cut off. What follows is too long for the model, so
// the conversation is summarized and goes on.
func TestCutOffAtTheWindow(t *testing.T) {
	m := &smallModel{window: 700}
	full := false
	m.next = func(int, agent.Request) []agent.Block {
		if full {
			return []agent.Block{says("done")}
		}
		full = true
		return []agent.Block{says(strings.Repeat("words ", 460))}
	}
	h := &compactingHost{}
	a := compacting(t, m)
	a.models[0] = cutting{m, &full}
	reply, err := a.Run(t.Context(), prompt("go"), h)
	if err != nil || reply.Text != "done" || m.overflows == 0 || len(h.done) != 1 {
		t.Errorf("%q, %v; %d overflows, %d summaries", reply.Text, err, m.overflows, len(h.done))
	}
}

// cutting cuts off the first answer of a model.
type cutting struct {
	*smallModel
	full *bool
}

func (c cutting) Generate(ctx context.Context, r agent.Request) (agent.Response, error) {
	first := !*c.full
	answer, err := c.smallModel.Generate(ctx, r)
	answer.CutOff = first
	return answer, err
}
