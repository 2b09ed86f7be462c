package modelapi

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// ask is a small request.
func ask() agent.Request {
	return agent.Request{Messages: []agent.Message{agent.TextMessage(agent.User, "Hello")}}
}

// anthropic returns the config of a model at a server.
func anthropic(base string) Config {
	return Config{
		Provider: "anthropic", Model: "claude-x", API: Messages, BaseURL: base, Key: keyOf("sk-secret"),
		Times: Times{FirstWait: time.Millisecond, LongWait: 20 * time.Millisecond},
	}
}

// What lines for people begin with.
const (
	noCredit = "the account at BASE has no credit for anthropic/claude-x; add some, or use another model: "
	busy     = "BASE is overloaded with requests for anthropic/claude-x; wait, or name another model under fallback: "
	limiting = "BASE limits the requests for anthropic/claude-x; wait, or name another model under fallback: "
	failing  = "BASE failed on a request for anthropic/claude-x; wait, or name another model under fallback: "
	refusing = "BASE refuses a request for anthropic/claude-x: "
)

// TestFailures: what a person reads of each way to fail, the type that StopFailure hooks
// get, and whether the request is made again.
func TestFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		header string // Retry-After
		kind   string
		body   string
		want   string // type: text
		asked  int32
	}{
		"wrong key": {401, "", "application/json",
			`{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key sk-secret"}}`,
			"authentication_failed: BASE refuses the key of anthropic/claude-x (covey models shows where it comes from): invalid x-api-key (key)", 1},
		"no credit": {400, "", "application/json",
			`{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`,
			"billing_error: " + noCredit + "Your credit balance is too low", 1},
		"quota": {429, "", "application/json",
			`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`,
			"billing_error: " + noCredit + "You exceeded your current quota", 1},
		"unknown model": {404, "", "application/json",
			`{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}`,
			"model_not_found: BASE has no model anthropic/claude-x, or base_url is wrong: model: claude-x", 1},
		"unknown model at Ollama": {404, "", "application/json", `{"error":"model 'x' not found"}`,
			"model_not_found: BASE has no model anthropic/claude-x, or base_url is wrong: model 'x' not found", 1},
		"overload": {529, "", "application/json",
			`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "overloaded: " + busy + "Overloaded", tries},
		"rate limit": {429, "0.001", "application/json",
			`{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, "rate_limit: " + limiting + "slow down", tries},
		"server error": {500, "", "text/plain", "oops", "server_error: " + failing + "500 Internal Server Error: oops", tries},
		"too long": {400, "", "application/json",
			`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
			"invalid_request: the conversation is longer than the model's context: prompt is too long: 210000 tokens > 200000 maximum", 1},
		"vLLM": {400, "", "application/json", `{"object":"error","message":"bad tool","type":"BadRequestError","code":400}`,
			"invalid_request: " + refusing + "bad tool", 1},
		"redirect": {302, "", "text/html", "<html><body>Log in</body></html>",
			"model_not_found: BASE answered 302 Found without a place; is base_url right, or is a proxy between?", 1},
		"page of a proxy": {200, "", "text/html", "<html><style>a{}</style><body><h1>Access  denied</h1></body></html>",
			"unknown: BASE answered with text/html instead of a stream; is base_url right, or is a proxy between? " +
				"It begins: Access denied", 1},
		"502 of a proxy": {502, "", "text/html; charset=utf-8", "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
			"server_error: BASE answered with 502 Bad Gateway and text/html instead of a stream; is base_url right, or is a proxy between? " +
				"It begins: 502 Bad Gateway nginx", tries},
		"403 of a proxy": {403, "", "text/html", "<h1>Blocked</h1>", "authentication_failed: BASE answered with 403 Forbidden and text/html " +
			"instead of a stream; is base_url right, or is a proxy between? It begins: Blocked", 1},
		"401 without words": {401, "", "", "",
			"authentication_failed: BASE refuses the key of anthropic/claude-x (covey models shows where it comes from): 401 Unauthorized", 1},
		"403": {403, "", "application/json", `{"error":{"type":"permission_error","message":"not for you"}}`,
			"authentication_failed: the key may not use anthropic/claude-x at BASE; use another key or model: not for you", 1},
		"error with status 200": {200, "", "application/json", `{"error":{"message":"no such route","type":"invalid_request_error"}}`,
			"invalid_request: " + refusing + "no such route", 1},
		"overloaded within a stream": {200, "", "text/event-stream",
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
			"overloaded: " + busy + "Overloaded", tries},
		"malformed": {200, "", "text/event-stream", "data: {\"type\": nonsense\n\n",
			"unknown: BASE sent an event that is not as its API says (invalid character 'o' in literal null (expecting 'u')): " +
				"{\"type\": nonsense", tries},
		"refusal": {200, "", "text/event-stream", "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"," +
			"\"stop_details\":{\"explanation\":\"not this\"}}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
			"invalid_request: the model declined to answer: not this (a model under fallback would be asked instead)", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.Header().Set("Content-Type", tc.kind)
				w.Header().Set("Retry-After", tc.header)
				w.WriteHeader(tc.status)
				fmt.Fprint(w, tc.body)
			})
			for _, name := range apis {
				if name != Messages && tc.kind == "text/event-stream" {
					continue // those streams are of Messages
				}
				asked.Store(0)
				c := anthropic(server.URL)
				c.API = name
				_, err := generate(t, c, ask())
				var api *agent.APIError
				if !errors.As(err, &api) {
					t.Fatalf("%s: error = %v", name, err)
				}
				have := strings.ReplaceAll(api.Type+": "+api.Message, server.URL, "BASE")
				if have != tc.want || asked.Load() != tc.asked || strings.Contains(have, "\n") {
					t.Errorf("%s: %s\nwant %s\nasked %d times, want %d", name, have, tc.want, asked.Load(), tc.asked)
				}
				if strings.Contains(fmt.Sprint(err, api.Details), "sk-secret") {
					t.Errorf("%s: the error shows the key", name)
				}
			}
		})
	}
}

// TestRedirects: a redirect is not followed, and its error says what to write instead.
func TestRedirects(t *testing.T) {
	for to, want := range map[string]string{
		"/v2/messages?key=sk-x": "a redirect to BASE/v2/messages, which is not the API; is base_url right, or is a proxy between?",
		"https://api.example.com/anthropic/v1/messages": "and covey follows no redirects: write base_url: " +
			"https://api.example.com/anthropic if that is the API",
	} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
		_, err := generate(t, anthropic(server.URL), ask())
		want = "API error (model_not_found): BASE answered 302 Found, " + want
		if have := strings.ReplaceAll(fmt.Sprint(err), server.URL, "BASE"); have != want {
			t.Errorf("%s\nwant %s", have, want)
		}
	}
}

// TestUnreachable: servers that cannot be asked at all.
func TestUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	signed := httptest.NewUnstartedServer(http.NotFoundHandler())
	signed.Config.ErrorLog = log.New(io.Discard, "", 0)
	signed.StartTLS()
	defer signed.Close()
	for base, want := range map[string]string{
		closed:                         "cannot be reached: connection refused",
		"http://covey-test.invalid":    "is the network up, and base_url right?",
		signed.URL:                     "is not trusted; if it is your own, name its authority in SSL_CERT_FILE: x509: certificate signed by unknown authority",
		"http://127.0.0.1:1/\x7f/path": "invalid control character in URL",
	} {
		for _, api := range apis {
			c := anthropic(base)
			c.API = api
			_, err := generate(t, c, ask())
			var failed *agent.APIError
			if !errors.As(err, &failed) || failed.Type != "server_error" || !strings.Contains(failed.Message, want) {
				t.Errorf("%s, %q: %v", api, base, err)
			}
		}
	}
}

// failingTransport fails each request as a network does.
type failingTransport struct {
	err   error // nil: there is no connection, however long one waits
	asked int
}

func (f *failingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	f.asked++
	if f.err == nil {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return nil, f.err
}

// TestNoNetwork: the line says what to look at, and comes within seconds, also where packets are
// lost without a word.
func TestNoNetwork(t *testing.T) {
	proxy := &net.OpError{Op: "proxyconnect", Net: "tcp", Err: syscall.ECONNREFUSED}
	for _, tc := range []struct {
		err   error
		asked int
		want  string
	}{
		{nil, 1, "http://server.test cannot be reached: there is no connection after 10s; is the network up, and base_url right?"},
		{syscall.ENETUNREACH, tries, "http://server.test cannot be reached: network is unreachable; is the network up, and base_url right?"},
		{proxy, tries, "the proxy to http://server.test cannot be reached: connection refused; does it run, and is HTTPS_PROXY or HTTP_PROXY right?"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := anthropic("http://server.test")
			transport := &failingTransport{err: tc.err}
			c.Times, c.Transport = Times{}, transport
			begun := time.Now()
			_, err := generate(t, c, ask())
			if want := "API error (server_error): " + tc.want; err == nil || err.Error() != want || transport.asked != tc.asked {
				t.Errorf("asked %d times: %v\nwant %s", transport.asked, err, want)
			}
			if took := time.Since(begun); took > connectTime {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestLongWaitIsALimit: a member does not sleep for minutes with a turn open. Until when it is
// limited comes from what the provider says, in headers or in words.
func TestLongWaitIsALimit(t *testing.T) {
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	for name, tc := range map[string]struct {
		header map[string]string
		text   string
		want   time.Duration // 0: no limit, the request is made again
	}{
		"seconds":      {header: map[string]string{"Retry-After": "3600"}, want: time.Hour},
		"milliseconds": {header: map[string]string{"Retry-After-Ms": "600000"}, want: 10 * time.Minute},
		"date":         {header: map[string]string{"Retry-After": time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}, want: time.Hour},
		"Anthropic, the bucket that is empty": {want: 2 * time.Hour, header: map[string]string{
			"anthropic-ratelimit-requests-remaining": "12", "anthropic-ratelimit-requests-reset": in(9 * time.Hour),
			"anthropic-ratelimit-input-tokens-remaining": "0", "anthropic-ratelimit-input-tokens-reset": in(2 * time.Hour),
		}},
		"Anthropic, of a subscription": {want: 3 * time.Hour, header: map[string]string{
			"anthropic-ratelimit-unified-status": "rejected",
			"anthropic-ratelimit-unified-reset":  fmt.Sprint(time.Now().Add(3 * time.Hour).Unix()),
		}},
		"OpenAI": {want: 6*time.Minute + 30*time.Second, header: map[string]string{
			"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m30s",
			"x-ratelimit-remaining-tokens": "4000", "x-ratelimit-reset-tokens": "8h0m0s",
		}},
		"OpenAI, nothing is empty": {header: map[string]string{"x-ratelimit-remaining-tokens": "1", "x-ratelimit-reset-tokens": "8h"}},
		"no date":                  {header: map[string]string{"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "soon"}},
		"words":                    {text: "Rate limit reached for gpt-5. Please try again in 7m12s. Visit https://x", want: 432 * time.Second},
		"words, of the limit":      {text: "You may make 50 requests in 1 hour."},
		"words, of both":           {text: "At most 50 requests in 9 hours; please retry in 40m.", want: 40 * time.Minute},
		"words, short":             {text: "Please try again in 20ms."},
		"words, long":              {text: "Usage limit reached, resets in 3 hours 5 minutes", want: 185 * time.Minute},
		"words, a time":            {text: "resets at " + in(4*time.Hour), want: 4 * time.Hour},
		"headers before words":     {text: "try again in 9h", want: time.Hour, header: map[string]string{"Retry-After": "3600"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				for key, value := range tc.header {
					w.Header().Set(key, value)
				}
				w.WriteHeader(http.StatusTooManyRequests)
				w.Write(encode(object{"error": object{"type": "rate_limit_error", "message": cmp.Or(tc.text, "come back later")}}))
			})
			begun := time.Now()
			_, err := generate(t, anthropic(server.URL), ask())
			var limit *agent.LimitError
			if !errors.As(err, &limit) {
				var api *agent.APIError
				if tc.want > 0 || !errors.As(err, &api) || api.Type != "rate_limit" {
					t.Fatalf("error = %v", err)
				}
				return
			}
			if !strings.HasSuffix(limit.Text, "under fallback: "+cmp.Or(tc.text, "come back later")) {
				t.Errorf("it says %q", limit.Text)
			}
			// The servers' times are in whole seconds, and the test may take some.
			if until := limit.Until.Sub(begun); until < tc.want-2*time.Second || until > tc.want+time.Minute {
				t.Errorf("limited for %s, want %s", until, tc.want)
			}
		})
	}
}

// TestSilence: a server that stops in the middle of an answer is noticed, and people hear of it before
// the request is made again. One that is slow is not mistaken for it, above all not before its first
// byte.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := anthropic("http://server.test")
		c.Times = Times{}
		var asked atomic.Int32
		c.Transport = pipe(func(say func(string), closed <-chan struct{}) {
			try := asked.Add(1)
			time.Sleep(4 * time.Minute) // less than Silence
			for range 10 {
				say("event: ping\ndata: {\"type\": \"ping\"}\n\n")
				time.Sleep(25 * time.Second) // less than a third of Idle
			}
			if try > 1 {
				say("data: {\"type\":\"message_stop\"}\n\n")
			}
			<-closed
		})
		req := ask()
		var heard atomic.Pointer[string]
		req.Say = func(text string) {
			if heard.Swap(&text) != nil {
				t.Error("people hear of it twice")
			}
		}
		begun := time.Now()
		resp, err := generate(t, c, req)
		if err != nil || asked.Load() != 2 || !resp.Usage.Estimated {
			t.Errorf("asked %d times: %+v, %v", asked.Load(), resp, err)
		}
		if want := "anthropic/claude-x: nothing came for 30s in the middle of an answer; after 1m30s the request is made again"; heard.Load() == nil ||
			*heard.Load() != want {
			t.Errorf("people do not hear %s", want)
		}
		if took := time.Since(begun); took > 2*(4*time.Minute+10*25*time.Second)+90*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// wholes are answers of each API that are not streamed.
var wholes = map[API]string{
	Messages: `{"type":"message","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Yes"},` +
		`{"type":"tool_use","id":"c","name":"A","input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":2}}`,
	Responses: `{"status":"completed","output":[{"type":"reasoning","summary":[{"text":"hm"}]},{"type":"message","content":[{"text":"Yes"}]},` +
		`{"type":"function_call","call_id":"c","name":"A","arguments":"{\"x\":1}"}],"usage":{"input_tokens":3,"output_tokens":2}}`,
	Chat: `{"choices":[{"message":{"content":"Yes","reasoning_content":"hm","tool_calls":[{"id":"c","function":{"name":"A","arguments":"{\"x\":1}"}}]},` +
		`"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`,
}

// TestBrokenStreams: a host whose streams break twice is asked for whole answers from then on; if it
// refuses that, it is asked for streams again.
func TestBrokenStreams(t *testing.T) {
	for _, api := range apis {
		streams, refused := 0, false
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			var body struct {
				Stream  bool
				Options object `json:"stream_options"`
			}
			readJSON(t, r.Body, &body)
			switch {
			case body.Stream:
				streams++
				stream(w, []byte(streamOf(streams0(api))))
			case refused:
				w.WriteHeader(http.StatusBadRequest)
			default:
				if body.Options != nil {
					t.Errorf("%s: the request has options of a stream", api)
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, wholes[api])
			}
		})
		c := anthropic(server.URL)
		c.API = api
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r, err := m.Generate(t.Context(), ask())
			have := ""
			for _, b := range r.Content {
				have += string(b.Type) + " " + b.Thinking + b.Text + b.ID + b.Name + string(b.Input) + "|"
			}
			if err != nil || have != `thinking hm|text Yes|tool_use cA{"x":1}|` || r.Usage.InputTokens-r.Usage.FailedTokens != 3 || streams != 2 {
				t.Errorf("%s: after %d streams: %s, %+v, %v", api, streams, have, r.Usage, err)
			}
		}
		refused = true
		if _, err := m.Generate(t.Context(), ask()); err == nil {
			t.Errorf("%s: a refused request was answered", api)
		}
		if _, err := m.Generate(t.Context(), ask()); err == nil || streams <= 2 {
			t.Errorf("%s: %d streams, %v", api, streams, err)
		}
	}
}

// streams0 returns an event that begins an answer and does not end it.
func streams0(api API) string {
	if api == Chat { // finish_reason would end it
		return `{"choices":[{"delta":{"content":"Half"}}]}`
	}
	return begun[api]
}

// TestRaise: the limit of output tokens is raised where the spec gives none.
func TestRaise(t *testing.T) {
	for api, key := range map[API]string{Messages: "max_tokens", Responses: "max_output_tokens", Chat: "max_tokens"} {
		var sent []object
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			var body object
			readJSON(t, r.Body, &body)
			sent = append(sent, body)
			w.WriteHeader(http.StatusBadRequest)
		})
		c := anthropic(server.URL)
		c.API = api
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		raised, ok := m.Raise()
		if !ok {
			t.Fatalf("%s: it is not raised", api)
		}
		if _, err := raised.Generate(t.Context(), ask()); err == nil || fmt.Sprint(sent[0][key]) != "64000" {
			t.Errorf("%s: sent %v, %v", api, sent, err)
		}
		if _, again := raised.(agent.Raiser).Raise(); again {
			t.Errorf("%s: it is raised twice", api)
		}
	}
}

// TestKeyIsMissing: the error of a missing key ends the request.
func TestKeyIsMissing(t *testing.T) {
	for _, api := range []API{Messages, Responses, Chat} {
		c := anthropic("http://127.0.0.1:1")
		c.API, c.Key = api, func() (string, error) { return "", errors.New("no key here") }
		if _, err := generate(t, c, ask()); err == nil || err.Error() != "no key here" {
			t.Errorf("%s: %v", api, err)
		}
	}
}

// TestReasoningThatCannotBeRead: reasoning that the provider cannot decrypt any more is left
// out of a second request.
func TestReasoningThatCannotBeRead(t *testing.T) {
	var sizes []int
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Input []object }
		readJSON(t, r.Body, &body)
		if sizes = append(sizes, len(body.Input)); len(sizes) == 1 {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"The encrypted content could not be verified","code":"invalid_encrypted_content"}}`)
			return
		}
		stream(w, []byte("data: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"message\",\"content\":[{\"text\":\"Hi\"}]}]}}\n\n"))
	})
	c := Config{Provider: "openai", Model: "gpt-5", API: Responses, BaseURL: server.URL, Key: keyOf("k")}
	req := ask()
	req.Messages = append(req.Messages, agent.Message{Role: agent.Assistant, Content: []agent.Block{
		{Type: agent.ThinkingBlock, Raw: encode(object{"type": "reasoning"}), Model: "openai/gpt-5"},
		{Type: agent.TextBlock, Text: "Hello"},
	}})
	resp, err := generate(t, c, req)
	if err != nil || len(sizes) != 2 || sizes[0] != 3 || sizes[1] != 2 || resp.Content[0].Text != "Hi" {
		t.Errorf("%+v, %v; items %v", resp, err, sizes)
	}
}

// The tokens of a try that failed are counted, and apart.
func TestFailedTries(t *testing.T) {
	var tries atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":100,\"output_tokens\":1}}}\n\n")
		if tries.Add(1) < 3 {
			return // the connection breaks
		}
		fmt.Fprint(w, "data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"text\",\"text\":\"Hi\"}}\n\n"+
			"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n"+
			"data: {\"type\":\"message_stop\"}\n\n")
	}))
	defer server.Close()
	m, err := New(anthropic(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Usage{InputTokens: 300, OutputTokens: 7, FailedTokens: 202}
	if r, err := m.Generate(t.Context(), ask()); err != nil || r.Usage != want {
		t.Errorf("%+v, %v; want %+v", r.Usage, err, want)
	}
	tries.Store(-10)
	want = agent.Usage{InputTokens: 300, OutputTokens: 3, FailedTokens: 303}
	if r, err := m.Generate(t.Context(), ask()); err == nil || r.Usage != want {
		t.Errorf("all tries fail: %+v, %v; want %+v", r.Usage, err, want)
	}
}

// TestPause: pauses grow, up to a ceiling, and differ, so that members that failed at the same time
// do not come back at the same time.
func TestPause(t *testing.T) {
	m, err := New(Config{API: Chat})
	if err != nil {
		t.Fatal(err)
	}
	for n, longest := range map[int]time.Duration{1: time.Second / 2, 2: time.Second, 3: 2 * time.Second, 20: 30 * time.Second} {
		seen := map[time.Duration]bool{}
		for range 50 {
			pause := m.pause(n)
			if seen[pause] = true; pause < longest/2 || pause > longest {
				t.Errorf("the pause after try %d is %s, want up to %s", n, pause, longest)
			}
		}
		if len(seen) < 40 {
			t.Errorf("of 50 pauses after try %d only %d differ", n, len(seen))
		}
	}
}
