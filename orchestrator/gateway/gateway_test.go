package gateway

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/teammate/agent"
)

// rig is a gateway before a host.
type rig struct {
	t    testing.TB
	gate *Gateway
	web  *httptest.Server

	mu      sync.Mutex
	counted []events.TokensUsed
	left    error
	turn    int
}

// newRig returns a gateway and its host.
func newRig(t testing.TB, host http.HandlerFunc) *rig {
	r := &rig{t: t, web: httptest.NewServer(host), turn: 1}
	r.gate = New(Deps{
		Log: slog.New(slog.DiscardHandler), Processes: process.New(process.Unmarked), Clock: members.Clock{},
		Turn: func(string) int { r.mu.Lock(); defer r.mu.Unlock(); return r.turn },
		Left: func(string, string) error { r.mu.Lock(); defer r.mu.Unlock(); return r.left },
		Price: func(_ string, u agent.Usage, model string) float64 {
			return map[string]float64{"anthropic/m": float64(u.Total())}[model]
		},
		Count: func(_ string, e events.TokensUsed) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.counted = append(r.counted, e)
		},
	})
	t.Cleanup(func() {
		r.gate.Close()
		r.web.Close()
	})
	return r
}

// open opens a door to the host.
func (r *rig) open(edit func(*Access)) *Door {
	r.t.Helper()
	key := func() (string, error) { return "real-key", nil }
	openai := Host{URL: r.web.URL + "/v1", Provider: "openai", Key: key}
	a := Access{Member: "ana", Hosts: map[string]Host{
		"anthropic": {URL: r.web.URL, Provider: "anthropic", Key: key}, "chat": openai, "responses": openai,
		"gemini": {URL: r.web.URL, Provider: "google", Key: key},
	}}
	if edit != nil {
		edit(&a)
	}
	d, err := r.gate.Open(a)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// ask sends a request with the token of a door.
func (r *rig) ask(d *Door, path, body string) (*http.Response, string, error) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, d.URL()+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", d.Token())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, string(data), err
}

// used returns what was counted.
func (r *rig) used() []events.TokensUsed {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]events.TokensUsed{}, r.counted...)
}

const (
	messagesBody = `{"model":"m","tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"hi"}]}`
	asideBody    = `{"messages":[{"role":"user","content":"\"tools\":[{ a title"}],"model":"m"}`
)

// TestPass: each API passes to its host with the host's key, byte for byte, and what the answer says was used is
// counted, with requests without tools told apart.
func TestPass(t *testing.T) {
	for name, test := range map[string]struct {
		path, body, hostPath, header, answer string
		want                                 events.TokensUsed
	}{
		"messages": {"/v1/messages?beta=true", messagesBody, "/v1/messages?beta=true", "X-Api-Key: real-key",
			"event: message_start\r\ndata: {\"message\":{\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":5,\"output_tokens\":1}}}\r\n\r\n: ping\n\n" +
				"event: message_delta\ndata: {\"usage\":{\"output_tokens\":7}}\n\nevent: message_stop\ndata: {}\n\n",
			events.TokensUsed{Model: "anthropic/m", CostUSD: 22, Usage: agent.Usage{InputTokens: 15, CacheReadTokens: 5, OutputTokens: 7}}},
		"an aside": {"/v1/messages", asideBody, "/v1/messages", "X-Api-Key: real-key",
			"{\n \"usage\" : {\"input_tokens\":1,\n \"output_tokens\":2}}",
			events.TokensUsed{Model: "anthropic/m", CostUSD: 3, Aside: true, Usage: agent.Usage{InputTokens: 1, OutputTokens: 2}}},
		"responses": {"/v1/responses", messagesBody, "/v1/responses", "Authorization: Bearer real-key",
			"data: {\"response\":{\"usage\":null}}\n\ndata: {\"response\":{\"usage\":{\"input_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":3}}}\n\n",
			events.TokensUsed{Model: "openai/m", Usage: agent.Usage{InputTokens: 9, CacheReadTokens: 4, OutputTokens: 3}}},
		"chat": {"/chat/completions", messagesBody, "/v1/chat/completions", "Authorization: Bearer real-key",
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":6,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
			events.TokensUsed{Model: "openai/m", Usage: agent.Usage{InputTokens: 6, OutputTokens: 2}}},
		"gemini": {"/v1beta/models/g:streamGenerateContent?alt=sse&key=x", messagesBody, "/v1beta/models/g:streamGenerateContent?alt=sse",
			"X-Goog-Api-Key: real-key",
			"data: {\"usageMetadata\":{\"promptTokenCount\":4,\"candidatesTokenCount\":1,\"thoughtsTokenCount\":2}}\n\n",
			events.TokensUsed{Model: "google/g", Usage: agent.Usage{InputTokens: 4, OutputTokens: 3}}},
		"uncounted": {"/v1/chat/completions", messagesBody, "/v1/chat/completions", "Authorization: Bearer real-key", "data: 12\n\n",
			events.TokensUsed{Model: "openai/m", Usage: agent.Usage{Estimated: true, InputTokens: int64(len(messagesBody)+3) / 4, OutputTokens: 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
				got, err := io.ReadAll(req.Body)
				header, value, _ := strings.Cut(test.header, ": ")
				if err != nil || string(got) != test.body || req.URL.RequestURI() != test.hostPath || req.Header.Get(header) != value {
					t.Errorf("the host got %s %v %q, %v", req.URL.RequestURI(), req.Header, got, err)
				}
				for key, values := range req.Header {
					if strings.Contains(strings.Join(values, " "), "sk-covey-") {
						t.Errorf("the host got the token in %s", key)
					}
				}
				w.Header().Set("Content-Type", "text/event-stream")
				for i := range len(test.answer) { // in the smallest pieces
					_, _ = io.WriteString(w, test.answer[i:i+1])
				}
			})
			_, got, err := r.ask(r.open(nil), test.path, test.body)
			if err != nil || got != test.answer {
				t.Errorf("%q, %v", got, err)
			}
			if used := r.used(); len(used) != 1 || used[0] != test.want {
				t.Errorf("counted %+v, want %+v", used, test.want)
			}
		})
	}
}

// TestRefuse: a request that must not leave is refused in the form of its API, the turn ends for that reason, and
// the host hears nothing.
func TestRefuse(t *testing.T) {
	for name, test := range map[string]struct {
		edit    func(*Access)
		prepare func(r *rig, d *Door)
		path    string
		status  int
		text    string
		verdict error
		body    string // empty: messagesBody
	}{
		"another token": {prepare: func(_ *rig, d *Door) { d.token = "another" }, path: "/v1/messages", status: 401, text: `"authentication_error"`},
		"another path":  {path: "/v1/files", status: 404, text: "/v1/files is not passed on"},
		"another API":   {edit: func(a *Access) { delete(a.Hosts, "chat") }, path: "/v1/chat/completions", status: 404, text: "is not passed on"},
		"a model":       {edit: func(a *Access) { a.Models = []configs.ModelList{{Patterns: []string{"anthropic/claude-*"}}} }, path: "/v1/messages", status: 404, text: "the spec does not allow the model anthropic/m", verdict: &agent.APIError{}},
		"a policy's model": {edit: func(a *Access) {
			a.Models = []configs.ModelList{{Patterns: []string{"m"}}, {Patterns: []string{"anthropic/claude-*", "m"}, Policy: "p.yaml:4"}}
		}, path: "/v1/messages", status: 404,
			text: "the policy does not allow the model anthropic/m, only anthropic/claude-*, m (p.yaml:4)", verdict: &agent.APIError{}},
		"two models": {path: "/v1/messages", body: `{"model":"m","messages":[{"model":"x"}],"mod\u0065l":"dear"}`, status: 400,
			text: "names its model twice", verdict: errTwice},
		"a limit": {prepare: func(r *rig, _ *Door) { r.left = fmt.Errorf("%w: 5 of 5", agent.ErrMaxTokens) }, path: "/v1/messages", status: 400,
			text: "limits.max_tokens reached: 5 of 5", verdict: agent.ErrMaxTokens},
		"max_turns": {edit: func(a *Access) { a.MaxRequests = 2 }, prepare: func(_ *rig, d *Door) { d.turn, d.requests = 1, 2 }, path: "/v1/responses",
			status: 400, text: "limits.max_turns reached", verdict: agent.ErrMaxTurns},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(_ http.ResponseWriter, req *http.Request) {
				if _, err := io.Copy(io.Discard, req.Body); err == nil {
					t.Error("the host was asked")
				}
			})
			d := r.open(test.edit)
			token := d.Token()
			if test.prepare != nil {
				test.prepare(r, d)
			}
			_, verdict := d.Watch(t.Context())
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+test.path, strings.NewReader(cmp.Or(test.body, messagesBody)))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != test.status || !strings.Contains(string(body), test.text) {
				t.Errorf("%d %s, %v", resp.StatusCode, body, err)
			}
			said := errors.New("the program's own words")
			got := verdict(said)
			if _, isAPI := errors.AsType[*agent.APIError](test.verdict); isAPI {
				if _, ok := errors.AsType[*agent.APIError](got); !ok {
					t.Errorf("the turn ends with %v", got)
				}
			} else if want := test.verdict; want == nil && got != said || want != nil && !errors.Is(got, want) {
				t.Errorf("the turn ends with %v", got)
			}
		})
	}
}

// TestNames: only keys of a request's outermost object name its model, wherever its pieces end.
func TestNames(t *testing.T) {
	const once = `{"messages":[{"model":"x","text":"\"model\": {"}],"a\\":"b","max":"model","model" : "m","z":{"model":1}}`
	for body, want := range map[string]int{once: 1, once[:len(once)-1] + `,"\u006Dodel":"dear"}`: 2} {
		for size := 1; size <= len(body); size++ {
			var n names
			for piece := range slices.Chunk([]byte(body), size) {
				n.see(piece)
			}
			if n.models != want {
				t.Errorf("%s in pieces of %d names %d models", body, size, n.models)
			}
		}
	}
}

// TestWait: a vendor that asks one member to wait makes all on its login wait, and nobody else.
func TestWait(t *testing.T) {
	var mu sync.Mutex
	asked, wait := 0, "600"
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked == 1 {
			w.Header().Set("Retry-After", wait)
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	ana, ben, cem := r.open(nil), r.open(func(a *Access) { a.Member = "ben" }), r.open(func(a *Access) { a.Member, a.PassesLogin = "cem", "own" })
	for _, step := range []struct {
		door          *Door
		status, asked int
	}{{ana, 429, 1}, {ben, 429, 1}, {cem, 200, 2}} {
		_, verdict := step.door.Watch(t.Context())
		resp, _, err := r.ask(step.door, "/v1/messages", messagesBody)
		if err != nil || resp.StatusCode != step.status || asked != step.asked {
			t.Errorf("%s: %v, %v after %d requests", step.door.Member, resp, err, asked)
		}
		limit, ok := errors.AsType[*agent.LimitError](verdict(nil))
		if ok != (step.status == 429) || ok && time.Until(limit.Until) < 500*time.Second {
			t.Errorf("%s ends with %v", step.door.Member, limit)
		}
	}
	mu.Lock()
	asked, wait = 0, "0.05"
	mu.Unlock()
	dan := r.open(func(a *Access) { a.PassesLogin = "third" })
	for _, want := range []int{429, 200} { // the second waits a moment
		if resp, _, err := r.ask(dan, "/v1/messages", messagesBody); err != nil || resp.StatusCode != want {
			t.Errorf("%v, %v", resp, err)
		}
	}
}

// TestHosts: what a host does wrong passes as it is, and explains the turn that fails.
func TestHosts(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, `{"usage":{"input_tokens":3,"output_tokens":4}}`)
	_ = z.Close()
	failed := &agent.APIError{Type: "server_error", Message: "the program failed"}
	for name, test := range map[string]struct {
		host   http.HandlerFunc
		status int
		body   string
		broken bool
		text   string
		tokens int64
	}{
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html>log in</html>")
		}, 200, "<html>log in</html>", false, "a page (text/html), which is not the API", -1},
		"half an event": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"usage\":{\"input_tok")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, 200, "data: {\"usage\":{\"input_tok", true, "the program failed", -1},
		"gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(packed.Bytes())
		}, 200, `{"usage":{"input_tokens":3,"output_tokens":4}}`, false, "the program failed", 7},
		"no gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "plain")
		}, 200, "", true, "the program failed", -1},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, 302, "", false,
			"302 Found, which the gateway does not follow", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, test.host)
			d := r.open(nil)
			_, verdict := d.Watch(t.Context())
			stay := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+"/v1/messages", strings.NewReader(messagesBody))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Api-Key", d.Token())
			resp, err := stay.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if resp.StatusCode != test.status || test.body != "" && string(body) != test.body || (err != nil) != test.broken {
				t.Errorf("%d %q, %v", resp.StatusCode, body, err)
			}
			d.Close() // all that passes has been counted
			if got := verdict(failed); !strings.Contains(got.Error(), test.text) {
				t.Errorf("the turn ends with %v", got)
			}
			used := r.used()
			if test.tokens == 0 && len(used) != 0 || test.tokens > 0 && (len(used) != 1 || used[0].Usage.Total() != test.tokens || used[0].Usage.Estimated) {
				t.Errorf("counted %+v", used)
			}
		})
	}
	r := newRig(t, nil)
	r.web.Close()
	d := r.open(nil)
	_, verdict := d.Watch(t.Context())
	if resp, body, err := r.ask(d, "/v1/messages", messagesBody); err != nil || resp.StatusCode != 500 || !strings.Contains(body, "cannot be reached") {
		t.Errorf("a host that is down: %v %s, %v", resp, body, err)
	}
	if got := verdict(failed); !strings.Contains(got.Error(), "cannot be reached") {
		t.Errorf("the turn ends with %v", got)
	}
}

// TestIgnored: a program that answers without its gateway is stopped for that; one that has asked is not, and
// nor is one that says nothing.
func TestIgnored(t *testing.T) {
	r := newRig(t, func(http.ResponseWriter, *http.Request) {})
	d := r.open(nil)
	_, verdict := d.Watch(t.Context())
	if err := verdict(nil); err != nil {
		t.Errorf("silent: %v", err)
	}
	watched, verdict := d.Watch(t.Context())
	d.Saw(events.TextSaid{Text: "Done."})
	<-watched.Done()
	if err := verdict(watched.Err()); err == nil || !strings.Contains(err.Error(), "it ignores its base URL") {
		t.Errorf("%v", err)
	}
	if _, _, err := r.ask(d, "/v1/messages", messagesBody); err != nil {
		t.Fatal(err)
	}
	watched, verdict = d.Watch(t.Context())
	d.Saw(events.TextSaid{Text: "Done."})
	if err := verdict(nil); err != nil || context.Cause(watched) != context.Canceled {
		t.Errorf("%v", err)
	}
}

// TestStreams: of a hundred streams at once each event passes before the next one is sent.
func TestStreams(t *testing.T) {
	const streams, length = 100, 5
	next := make([]chan bool, streams)
	for i := range next {
		next[i] = make(chan bool)
	}
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		var n int
		_, _ = fmt.Sscan(req.Header.Get("Number"), &n)
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range length {
			fmt.Fprintf(w, "data: %d of %d\n\n", i, n)
			_ = http.NewResponseController(w).Flush()
			<-next[n]
		}
	})
	d := r.open(nil)
	var all sync.WaitGroup
	for n := range streams {
		all.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+"/v1/messages", strings.NewReader(messagesBody))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("X-Api-Key", d.Token())
			req.Header.Set("Number", fmt.Sprint(n))
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			for i := range length {
				want := fmt.Sprintf("data: %d of %d\n\n", i, n)
				got := make([]byte, len(want))
				if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
					t.Errorf("stream %d: %q, %v", n, got, err)
				}
				next[n] <- true
			}
		})
	}
	all.Wait()
}

// TestStreamedRequest: the host has the beginning of a request before its end is sent, and its answer passes though it
// begins before that end and ends after it.
func TestStreamedRequest(t *testing.T) {
	const event = "data: 1\n\n"
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		begin := make([]byte, 20)
		if _, err := io.ReadFull(req.Body, begin); err != nil || string(begin) != messagesBody[:20] {
			t.Errorf("the host got %q, %v", begin, err)
		}
		_, _ = io.WriteString(w, event)
		_ = control.Flush()
		rest, err := io.ReadAll(req.Body)
		if string(begin)+string(rest) != messagesBody {
			t.Errorf("the host got the rest %q, %v", rest, err)
		}
		_, _ = io.WriteString(w, event)
	})
	d := r.open(nil)
	body, rest := io.Pipe()
	go func() { _, _ = io.WriteString(rest, messagesBody[:40]) }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL()+"/v1/messages", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", d.Token())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got := make([]byte, len(event))
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != event {
		t.Errorf("the answer begins with %q, %v", got, err)
	}
	_, _ = io.WriteString(rest, messagesBody[40:])
	_ = rest.Close()
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != event {
		t.Errorf("the answer ends with %q, %v", got, err)
	}
}

// TestOwnAgent: a model of covey's own agent keeps to the list of models, and a 429 makes all members that use its
// key there wait, also those with programs, but no others. It does not matter whom the vendor has told.
func TestOwnAgent(t *testing.T) {
	for _, first := range []string{"own", "program"} {
		t.Run(first, func(t *testing.T) {
			asked := 0
			r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusTooManyRequests)
			})
			own := Own{Models: []configs.ModelList{{Patterns: []string{"openai/gpt-*"}}}, Provider: "openai", Model: "gpt-5"}
			ask := func(o Own, key string) error {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.web.URL+"/v1/chat/completions", strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+key)
				resp, err := r.gate.Transport(o, nil, http.DefaultTransport).RoundTrip(req)
				if err == nil {
					_ = resp.Body.Close()
				}
				return err
			}
			program := func() error {
				d := r.open(nil)
				_, verdict := d.Watch(t.Context())
				if resp, _, err := r.ask(d, "/v1/messages", messagesBody); err != nil || resp.StatusCode != 429 {
					t.Errorf("the program got %v, %v", resp, err)
				}
				return verdict(nil)
			}
			other := own
			other.Model = "o3"
			if err := ask(other, "real-key"); err == nil || !strings.Contains(err.Error(), "does not allow the model openai/o3") || asked != 0 {
				t.Errorf("another model: %v, %d requests", err, asked)
			}
			if first == "own" {
				if err := ask(own, "real-key"); err != nil {
					t.Error(err)
				}
			} else if err := program(); err == nil {
				t.Error("the program does not end with the limit")
			}
			for who, err := range map[string]error{"covey's own agent": ask(own, "real-key"), "a program": program()} {
				if _, ok := errors.AsType[*agent.LimitError](err); !ok || asked != 1 {
					t.Errorf("%s with that key: %v after %d requests", who, err, asked)
				}
			}
			if err := ask(own, "other-key"); err != nil || asked != 2 {
				t.Errorf("another key: %v, %d requests", err, asked)
			}
		})
	}
}
