package modelapi_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin"
	"github.com/coveyteam/covey/teammate/modelapi"
)

// answers are answers of each API that call a tool.
var answers = map[modelapi.API]string{
	modelapi.Messages: `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"Read","input":{"file":"a"}}}
{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"d","name":"Read","input":{"file":"b"}}}
{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"input_tokens":9,"output_tokens":9}}
{"type":"message_stop"}`,
	modelapi.Responses: `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"Read","arguments":"{\"file\":\"a\"}"}}
{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"d","name":"Read","arguments":"{\"file\":\"b\"}"}}
{"type":"response.completed","response":{"usage":{"input_tokens":9,"output_tokens":9}}}`,
	modelapi.Chat: `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"Read","arguments":"{\"file\":\"a\"}"}},{"index":1,"id":"d","function":{"name":"Read","arguments":"{\"file\":\"b\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":9}}
[DONE]`,
}

// loop is a host whose agent makes passes until it says stop.
type loop struct{ pass func() error }

func (l loop) Pass(context.Context) ([]agent.Input, error) { return nil, l.pass() }
func (l loop) Record(agent.Record) error                   { return nil }
func (l loop) Call(context.Context, agent.ToolCall) agent.ToolResult {
	return agent.ToolResult{Content: strings.Repeat("package main // <a line of code>\n", 20)}
}

// instant answers each request at once, after it has read it.
type instant string

func (i instant) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
		Body: io.NopCloser(strings.NewReader("data: " + strings.ReplaceAll(string(i), "\n", "\n\ndata: ") + "\n\n")),
	}, nil
}

// passes makes n passes with a conversation that has about this many messages before, each pass of
// which adds three, and calls begin before the first of them, when all earlier ones were sent.
func passes(t testing.TB, api modelapi.API, messages, n int, begin, end func()) {
	m, err := modelapi.New(modelapi.Config{Provider: "openai", Model: "m", API: api, BaseURL: "http://localhost",
		Key: func() (string, error) { return "", nil }, Transport: instant(answers[api])})
	if err != nil {
		t.Fatal(err)
	}
	history := []agent.Message{agent.TextMessage(agent.User, "Do it.")}
	for i := 0; len(history) < messages; i++ {
		id := func(k int) string { return fmt.Sprint("h", i, "_", k) }
		call := func(k int) agent.Block {
			return agent.Block{Type: agent.ToolUseBlock, ID: id(k), Name: "Read", Input: []byte(`{"file":"a"}`)}
		}
		result := func(k int) agent.Message {
			return agent.Message{Role: agent.User, Content: []agent.Block{{Type: agent.ToolResultBlock, ToolUseID: id(k),
				Content: strings.Repeat("package main // <a line of code>\n", 20)}}}
		}
		history = append(history, agent.Message{Role: agent.Assistant, Content: []agent.Block{call(0), call(1)}}, result(0), result(1))
	}
	a, err := builtin.New(builtin.Options{Model: m, History: history})
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	_, err = a.Run(t.Context(), []agent.Input{{Kind: agent.FromPerson, Text: "Go on."}}, loop{func() error {
		if made == 1 {
			begin()
		}
		if made > n {
			end()
			return agent.ErrMaxTurns
		}
		made++
		return nil
	}})
	if err != agent.ErrMaxTurns {
		t.Fatal(err)
	}
}

// TestPassCostsWhatIsNew: a pass encodes what is new in a conversation, however long it is.
func TestPassCostsWhatIsNew(t *testing.T) {
	for api := range answers {
		cost := func(messages int) (allocated, objects uint64) {
			var before, after runtime.MemStats
			passes(t, api, messages, 20, func() { runtime.ReadMemStats(&before) }, func() { runtime.ReadMemStats(&after) })
			return (after.TotalAlloc - before.TotalAlloc) / 20, (after.Mallocs - before.Mallocs) / 20
		}
		small, few := cost(200)
		big, many := cost(2000)
		if many > few*3/2 || big > small*3 { // lists of messages grow now and then
			t.Errorf("%s: with 2,000 messages a pass takes %d bytes in %d objects, with 200 %d in %d", api, big, many, small, few)
		}
	}
}

func BenchmarkPass(b *testing.B) {
	for api := range answers {
		for _, messages := range []int{200, 2000} {
			b.Run(fmt.Sprintf("%s/%d", api, messages), func(b *testing.B) {
				passes(b, api, messages, 1+b.N, b.ResetTimer, b.StopTimer)
			})
		}
	}
}
