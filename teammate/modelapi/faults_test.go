package modelapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// shown renders an answer or an error in one line.
func shown(r agent.Response, err error) string {
	var parts []string
	for _, b := range r.Content {
		switch b.Type {
		case agent.TextBlock:
			parts = append(parts, "text "+b.Text)
		case agent.ToolUseBlock:
			parts = append(parts, fmt.Sprintf("call %s %s %s", b.ID, b.Name, b.Input))
		case agent.ThinkingBlock:
			parts = append(parts, "thinking "+string(b.Raw))
		}
	}
	u := r.Usage
	use := fmt.Sprintf("%d/%d", u.InputTokens, u.OutputTokens)
	if u.Estimated {
		use = "estimated"
	}
	if u.FailedTokens > 0 {
		use += fmt.Sprintf(" (%d failed)", u.FailedTokens)
	}
	if parts = append(parts, use); r.CutOff {
		parts = append(parts, "cut off")
	}
	if err != nil {
		var api *agent.APIError
		if !errors.As(err, &api) {
			return err.Error()
		}
		parts = append(parts, api.Type+": "+api.Message)
	}
	return strings.Join(parts, " | ")
}

// streamOf returns a stream of events with these data.
func streamOf(data ...string) string {
	return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n"
}

// Parts of streams.
const (
	started  = `{"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1}}}`
	stopped  = `{"type":"message_stop"}`
	declined = "the model declined to answer: Not this. (a model under fallback would be asked instead)"
)

// TestFaults: what servers of each API do that is not in its documents, or hardly, and what
// becomes of it. The recordings in testdata have the longer exchanges.
func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		api          API
		name, stream string
		want         string
	}{
		{Messages, "usage is cumulative", streamOf(started,
			`{"type":"message_delta","usage":{"output_tokens":4}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9,"input_tokens":10}}`, stopped), "10/9"},
		{Messages, "usage is missing", streamOf(`{"type":"content_block_start","content_block":{"type":"text","text":"Hi"}}`, stopped),
			"text Hi | estimated"},
		{Messages, "empty deltas, unknown events and blocks", streamOf(started, `{"type":"ping"}`, `{"type":"news","index":7}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"later_delta","later":1}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"later_block"}}`,
			`{"type":"message_delta","usage":{"output_tokens":2}}`, stopped), "text  | 10/2"},
		{Messages, "several thoughts, redacted, unsigned", streamOf(started,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"thinking":"<a> & \"b\""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"signature":"S1"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"signature":"+/=="}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"x+/="}}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"thinking","thinking":"more"}}`,
			`{"type":"message_delta","usage":{"output_tokens":2}}`, stopped),
			`thinking {"signature":"S1+/==","thinking":"<a> & \"b\"","type":"thinking"} | thinking {"type":"redacted_thinking","data":"x+/="} | ` +
				`thinking {"thinking":"more","type":"thinking"} | 10/2`},
		{Messages, "the window is full", streamOf(started, `{"type":"content_block_start","content_block":{"type":"text","text":"Half"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"},"usage":{"output_tokens":2}}`, stopped),
			"text Half | 10/2 | cut off"},
		{Messages, "refusal", streamOf(started, `{"type":"content_block_start","content_block":{"type":"text","text":"Half"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"explanation":"Not this."}},"usage":{"output_tokens":2}}`, stopped),
			"10/2 (12 failed) | invalid_request: " + declined},

		{Responses, "usage is missing, and the output is at the end only", streamOf(
			`{"type":"response.completed","response":{"output":[{"type":"message","content":[{"text":"Hi"}]}]}}`), "text Hi | estimated"},
		{Responses, "empty deltas, unknown events and items", streamOf(`{"type":"response.later"}`,
			`{"type":"response.output_text.delta","delta":""}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"later_call"}}`,
			`{"type":"response.completed","response":{"usage":{"input_tokens":10,"output_tokens":2}}}`), "10/2"},
		{Responses, "refusal", streamOf(
			`{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"refusal","refusal":"Not this."}]}],` +
				`"usage":{"input_tokens":10,"output_tokens":2}}}`), "10/2 (12 failed) | invalid_request: " + declined},
		{Responses, "cut off", streamOf(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"},` +
			`"output":[{"type":"message","content":[{"text":"Half"}]}],"usage":{"input_tokens":10,"output_tokens":2}}}`),
			"text Half | 10/2 | cut off"},
		{Responses, "failed, with usage", streamOf(`{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"Bad prompt"},` +
			`"usage":{"input_tokens":10,"output_tokens":2}}}`), "10/2 (12 failed) | invalid_request: " + refusing + "Bad prompt"},
		{Responses, "an error within the stream", streamOf(`{"type":"error","code":"invalid_prompt","message":"Bad prompt"}`),
			"0/0 | invalid_request: " + refusing + "Bad prompt"},
		{Responses, "a call without call_id, and without arguments", streamOf(
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_2","name":"B"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_1","name":"A","arguments":"{}"}}`,
			`{"type":"response.completed","response":{"usage":{"input_tokens":10,"output_tokens":2}}}`), "call fc_1 A {} | call fc_2 B  | 10/2"},

		{Chat, "usage in a chunk without choices", streamOf(`{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}`,
			`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}`, `[DONE]`), "text Hi | 10/2"},
		{Chat, "usage is missing, content is null", streamOf(`{"choices":[{"delta":{"content":null,"tool_calls":null},"finish_reason":null}]}`,
			`{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}],"usage":null}`, `[DONE]`), "text Hi | estimated"},
		{Chat, "indexes out of order", streamOf(
			`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"B","arguments":"{\"x\":"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"A","arguments":"{}"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}`,
			`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}`, `[DONE]`), `call a A {} | call b B {"x":1} | 10/2`},
		{Chat, "a call without id, whose arguments are an object", streamOf(
			`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"A","arguments":{"x":1}}}]},"finish_reason":"stop"}],`+
				`"usage":{"prompt_tokens":10,"completion_tokens":2}}`, `[DONE]`), `call  A {"x":1} | 10/2`},
		{Chat, "refusal", streamOf(`{"choices":[{"delta":{"refusal":"Not this."},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":10,"completion_tokens":2}}`, `[DONE]`), "10/2 (12 failed) | invalid_request: " + declined},
		{Chat, "a filter", streamOf(`{"choices":[{"delta":{"content":"Not this."},"finish_reason":"content_filter"}],`+
			`"usage":{"prompt_tokens":10,"completion_tokens":2}}`, `[DONE]`), "10/2 (12 failed) | invalid_request: " + declined},
		{Chat, "an error after the usage", streamOf(`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}}`,
			`{"error":{"message":"bad tool","code":400,"type":"invalid_request_error"}}`), "10/2 (12 failed) | invalid_request: " + refusing + "bad tool"},
	} {
		t.Run(string(tc.api)+"/"+tc.name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, []byte(tc.stream)) })
			c := anthropic(server.URL)
			c.API = tc.api
			have := strings.ReplaceAll(shown(generate(t, c, ask())), server.URL, "BASE")
			if have != tc.want {
				t.Errorf("%.1000s\nwant %.1000s", have, tc.want)
			}
		})
	}
}

// TestBigText: a text of 20 MiB arrives whole in pieces, and, where the API repeats it, in one
// event. What is allocated grows with the text, and not with its square, which would be 13 GiB.
func TestBigText(t *testing.T) {
	const pieces, size = 1280, 16 << 10
	piece := strings.Repeat("0123456789abcdef", size/16)
	whole := strings.Repeat(piece, pieces)
	for _, tc := range []struct {
		api                 API
		first, delta, after string // events; "PIECE" in delta and "WHOLE" in after are replaced
	}{
		{Messages, `{"type":"content_block_start","content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","delta":{"text":"PIECE"}}`, stopped},
		{Responses, `{"type":"response.created"}`, `{"type":"response.output_text.delta","delta":"PIECE"}`,
			`{"type":"response.completed","response":{"output":[{"type":"message","content":[{"text":"WHOLE"}]}]}}`},
		{Chat, `{"choices":[]}`, `{"choices":[{"delta":{"content":"PIECE"}}]}`, `{"choices":[{"finish_reason":"stop"}]}`},
	} {
		t.Run(string(tc.api), func(t *testing.T) {
			delta := []byte(streamOf(strings.Replace(tc.delta, "PIECE", piece, 1)))
			after := []byte(streamOf(strings.Replace(tc.after, "WHOLE", whole, 1), "[DONE]"))
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				stream(w, []byte(streamOf(tc.first)))
				for range pieces {
					stream(w, delta)
				}
				stream(w, after)
			})
			c := anthropic(server.URL)
			c.API = tc.api
			var before, then runtime.MemStats
			runtime.ReadMemStats(&before)
			resp, err := generate(t, c, ask())
			runtime.ReadMemStats(&then)
			if err != nil || len(resp.Content) != 1 {
				t.Fatalf("%d blocks, %v", len(resp.Content), err)
			}
			if text := resp.Content[0].Text; text != whole {
				t.Errorf("%d bytes of %d arrived", len(text), len(whole))
			}
			// It was 192 to 294 MiB, with those of the server and of the decoder.
			if used := then.TotalAlloc - before.TotalAlloc; used > 32*uint64(len(whole)) {
				t.Errorf("%d MiB were allocated for a text of %d", used>>20, len(whole)>>20)
			}
		})
	}
}

// TestOverflowTexts: how providers and the hosts that copy their APIs say that a conversation is
// too long, and what is not meant by it.
func TestOverflowTexts(t *testing.T) {
	for body, want := range map[string]bool{
		`{"error":{"type":"invalid_request_error","message":"prompt is too long: 201000 tokens > 200000 maximum"}}`:                                                                                     true,
		`{"error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 199000 + 16000 > 200000, decrease input length or ` + "`max_tokens`" + `"}}`: true,
		`{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}`:                                                                                 true,
		`{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."}}`:                                                                   true,
		`{"object":"error","message":"The decoder prompt (length 9000) is longer than the maximum model length of 8192.","code":400}`:                                                                   true,
		`{"error":{"code":400,"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`:                                        true,
		`{"error":{"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_ctx":4096}}`:                                                     true,
		`{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens","code":400}}`:                                                        true,
		`{"error":"input length 9000 exceeds maximum context length 8192"}`:                                                                                                                             true,
		`{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error"}}`:                                                                                true,
		`{"error":{"message":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}}`:                                 true,
		`{"error":{"message":"prompt token count of 70000 exceeds the limit of 64000","code":"model_max_prompt_tokens_exceeded"}}`:                                                                      true,
		`{"error":{"message":"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for this model"}}`:                                                                       false,
		`{"error":{"message":"messages: text content blocks must be non-empty"}}`:                                                                                                                       false,
		`{"error":{"message":"tools.0.name: string is too long"}}`:                                                                                                                                      false,
	} {
		err := wire{}.failed(http.StatusBadRequest, parseError([]byte(body)))
		if err.Overflow != want || err.Type != "invalid_request" {
			t.Errorf("%s: overflow %v, %s", body, err.Overflow, err.Type)
		}
	}
	if err := (wire{}).failed(http.StatusRequestEntityTooLarge, said{Message: "request too large"}); !err.Overflow {
		t.Error("413 is no overflow")
	}
}

// TestCacheMarks: a request has at most four, however many calls it has, and the last mark of
// the request before is one of them, because a provider looks for one only 20 blocks back.
func TestCacheMarks(t *testing.T) {
	c := anthropic("")
	req := ask()
	req.System, req.Tools = "Be good.", []agent.Spec{{Name: "A"}, {Name: "B"}}
	sent := &encoded{}
	var marked []string // the texts of marked blocks of the request before
	for turn := range 4 {
		answer, results := agent.Message{Role: agent.Assistant}, agent.Message{Role: agent.User}
		var now []string
		p := messages{wire{Config: c, sent: sent}}
		text, err := io.ReadAll(fill(p.body(req), p.conversation(req.Messages)).reader())
		if err != nil {
			t.Fatal(err)
		}
		var b struct{ Messages []struct{ Content []object } }
		decode(t, text, &b)
		all := strings.Count(string(text), `"cache_control"`)
		for _, m := range b.Messages {
			for _, block := range m.Content {
				if block["cache_control"] != nil {
					now = append(now, fmt.Sprint(block["text"], block["content"]))
				}
			}
		}
		if all > 4 || all != len(now)+2 || turn > 0 && now[0] != marked[len(marked)-1] {
			t.Errorf("turn %d: %d marks, on %q, before on %q", turn, all, now, marked)
		}
		marked = now
		for i := range 15 {
			id := fmt.Sprint(turn, "_", i)
			answer.Content = append(answer.Content, agent.Block{Type: agent.ToolUseBlock, ID: id, Name: "A"})
			results.Content = append(results.Content, agent.Block{Type: agent.ToolResultBlock, ToolUseID: id, Content: id})
		}
		req.Messages = append(req.Messages, answer, results)
	}
}

// TestReasoningIsDroppedOnce: a provider that still cannot read the conversation is not asked
// again and again.
func TestReasoningIsDroppedOnce(t *testing.T) {
	var asked atomic.Int32
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"message":"could not be verified","code":"invalid_encrypted_content"}}`)
	})
	c := anthropic(server.URL)
	c.API = Responses
	have := strings.ReplaceAll(shown(generate(t, c, ask())), server.URL, "BASE")
	if have != "0/0 | invalid_request: "+refusing+"could not be verified" || asked.Load() != 2 {
		t.Errorf("asked %d times: %s", asked.Load(), have)
	}
}
