package modelapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// apis are the APIs that a model can be asked by.
var apis = []API{Messages, Responses, Chat}

// errorEvents are errors within a stream whose status is 200, in the form of each API. The first
// %s is for a code, the second for a text.
var errorEvents = map[API]string{
	Messages:  `{"type":"error","error":{"type":"%s","message":"%s"}}`,
	Responses: `{"type":"response.failed","response":{"error":{"code":"%s","message":"%s"}}}`,
	Chat:      `{"error":{"code":"%s","message":"%s"}}`,
}

// begun is the beginning of an answer of each API.
var begun = map[API]string{
	Messages:  `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Half"}}`,
	Responses: `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"text":"Half"}]}}`,
	Chat:      `{"choices":[{"delta":{"content":"Half"},"finish_reason":"stop"}]}`,
}

// askFor asks a server that answers each request with a stream of these events. It returns how
// often the server was asked.
func askFor(t *testing.T, api API, data ...string) (agent.Response, int32, error) {
	t.Helper()
	var asked atomic.Int32
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		stream(w, []byte(streamOf(data...)))
	})
	c := anthropic(server.URL)
	c.API = api
	resp, err := generate(t, c, ask())
	var f *agent.APIError
	if errors.As(err, &f) {
		f.Message = strings.ReplaceAll(f.Message, server.URL, "BASE")
	}
	return resp, asked.Load(), err
}

// TestErrorInTheMiddle: an error in a stream whose status is 200 ends the answer, and nothing of
// it is used, although a part has come. Its words decide whether the request is made again.
func TestErrorInTheMiddle(t *testing.T) {
	for _, tc := range []struct {
		code, text string
		want       string
		asked      int32
	}{
		{"overloaded_error", "Overloaded", "overloaded: " + busy + "Overloaded", tries},
		{"server_error", "Sorry.", "server_error: " + failing + "Sorry.", tries},
		{"rate_limit_exceeded", "Please try again in 1ms.", "rate_limit: " + limiting + "Please try again in 1ms.", tries},
		{"insufficient_quota", "No more.", "billing_error: " + noCredit + "No more.", 1},
		{"context_length_exceeded", "Too much.",
			"invalid_request: the conversation is longer than the model's context: Too much.", 1},
		{"invalid_request_error", "Bad tool.", "invalid_request: " + refusing + "Bad tool.", 1},
		{"new_error", "What?", "unknown: BASE reports an error for anthropic/claude-x: What?", tries},
		{"invalid_api_key", "wrong key sk-secret", "authentication_failed: BASE refuses the key of anthropic/claude-x " +
			"(covey models shows where it comes from): wrong key (key)", 1},
	} {
		for _, api := range apis {
			t.Run(tc.code+"/"+string(api), func(t *testing.T) {
				t.Parallel()
				resp, asked, err := askFor(t, api, begun[api], fmt.Sprintf(errorEvents[api], tc.code, tc.text))
				var f *agent.APIError
				if !errors.As(err, &f) || len(resp.Content) > 0 {
					t.Fatalf("%+v, %v", resp, err)
				}
				if have := f.Type + ": " + f.Message; have != tc.want || asked != tc.asked {
					t.Errorf("%s\nwant %s\nasked %d times, want %d", have, tc.want, asked, tc.asked)
				}
			})
		}
	}
}

// TestErrorWithoutWords: an error that says nothing still has a text for people.
func TestErrorWithoutWords(t *testing.T) {
	for _, tc := range []struct {
		api  API
		data string
	}{
		{Messages, `{"type":"error"}`},
		{Messages, `{"type":"error","error":{"message":{"not":"a text"}}}`},
		{Responses, `{"type":"response.failed","response":{}}`},
		{Responses, `{"type":"response.failed","response":{"error":null}}`},
		{Chat, `{"error":{}}`},
		{Chat, `{"error":true}`},
	} {
		_, asked, err := askFor(t, tc.api, tc.data)
		var f *agent.APIError
		if !errors.As(err, &f) || strings.TrimSpace(f.Message) == "" || asked != tries {
			t.Errorf("%s: asked %d times: %v", tc.data, asked, err)
		}
	}
}

// TestMalformedEvents: an event that is not as its API says is shown, and the request is made
// again, because another answer may be whole.
func TestMalformedEvents(t *testing.T) {
	for _, tc := range []struct {
		api  API
		data string
	}{
		{Messages, `{"type": nonsense`}, {Messages, `[]`}, {Messages, `{"type":"content_block_start","content_block":"text"}`},
		{Messages, `{"type":"content_block_delta","index":"first"}`},
		{Responses, `{"type": nonsense`}, {Responses, `"text"`}, {Responses, `{"type":"response.completed"}`},
		{Responses, `{"type":"response.completed","response":[]}`},
		{Chat, `{"choices": nonsense`}, {Chat, `7`}, {Chat, `{"choices":[{"delta":"Hi"}]}`},
	} {
		resp, asked, err := askFor(t, tc.api, tc.data)
		var f *agent.APIError
		if !errors.As(err, &f) || f.Type != "unknown" || asked != tries || len(resp.Content) > 0 {
			t.Errorf("%s of %s: asked %d times: %+v, %v", tc.data, tc.api, asked, resp, err)
			continue
		}
		if !strings.HasPrefix(f.Message, "BASE sent an event that is not as its API says (") || !strings.HasSuffix(f.Message, tc.data) {
			t.Errorf("%s of %s: %s", tc.data, tc.api, f.Message)
		}
	}
}

// TestMalformedItem: an item of an answer may be wrong although its event is right.
func TestMalformedItem(t *testing.T) {
	resp, asked, err := askFor(t, Responses,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"text":"Half"}]}}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","arguments":{"x":1}}}`,
		`{"type":"response.completed","response":{"usage":{"input_tokens":10,"output_tokens":2}}}`)
	want := agent.Usage{InputTokens: 10 * tries, OutputTokens: 2 * tries, FailedTokens: 12 * tries}
	if err == nil || !strings.Contains(err.Error(), "is not as its API says") || len(resp.Content) > 0 || resp.Usage != want || asked != tries {
		t.Errorf("asked %d times: %+v, %v", asked, resp, err)
	}
}

// TestLimitInTheMiddle: what an error within a stream says of its end counts like the words of an
// error with a status: the member is limited, and the request is not made again.
func TestLimitInTheMiddle(t *testing.T) {
	for _, api := range apis {
		for text, want := range map[string]time.Duration{
			"Rate limit reached. Please try again in 7m12s.":      432 * time.Second,
			"At most 50 requests in 9 hours; please retry in 40m": 40 * time.Minute,
			"You have reached your limit, resets in 3 hours":      3 * time.Hour,
		} {
			from := time.Now()
			_, asked, err := askFor(t, api, begun[api], fmt.Sprintf(errorEvents[api], "rate_limit_error", text))
			var limit *agent.LimitError
			if !errors.As(err, &limit) || asked != 1 || !strings.HasSuffix(limit.Text, ": "+text) {
				t.Errorf("%s: %q: asked %d times: %v", api, text, asked, err)
				continue
			}
			if lasts := limit.Until.Sub(from); lasts < want-2*time.Second || lasts > want+time.Minute {
				t.Errorf("%s: %q: limited for %s, want %s", api, text, lasts, want)
			}
		}
	}
}

// TestTemperature: the temperature of the spec is sent, 0 too, and none if the spec has none,
// because some models refuse any.
func TestTemperature(t *testing.T) {
	zero, warm := 0.0, 0.75
	for _, api := range apis {
		for want, given := range map[string]*float64{"": nil, `"temperature":0,`: &zero, `"temperature":0.75,`: &warm} {
			var sent string
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				sent = strings.TrimSuffix(string(body), "}") + ",}" // the last key has no comma
				w.WriteHeader(http.StatusBadRequest)
			})
			c := anthropic(server.URL)
			c.API, c.Temperature = api, given
			if _, err := generate(t, c, ask()); err == nil {
				t.Fatal("a refused request was answered")
			}
			if !strings.Contains(sent, `"model":"claude-x"`) || !strings.Contains(sent, want) ||
				strings.Contains(sent, "temperature") != (given != nil) {
				t.Errorf("%s: sent %s, want %q", api, sent, want)
			}
		}
	}
}
