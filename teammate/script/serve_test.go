package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coveyteam/covey/teammate/script"
)

// conversation is the conversation of a Chat Completions client with a server.
type conversation struct {
	server   http.Handler
	key      string
	messages []map[string]any
}

// hear adds a user's text and returns the status and the text of the answer. An
// answer becomes part of the conversation, an error does not.
func (c *conversation) hear(t *testing.T, text string) (int, string) {
	t.Helper()
	c.messages = append(c.messages, map[string]any{"role": "user", "content": text})
	return c.again(t)
}

// again repeats the request without a new text.
func (c *conversation) again(t *testing.T) (int, string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "m", "messages": c.messages})
	if err != nil {
		t.Fatal(err)
	}
	w := knock(c.server, "POST", "/v1/chat/completions", string(body), "Authorization", "Bearer "+c.key)
	var answer struct {
		Choices []struct{ Message map[string]any }
		Error   struct{ Message string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if w.Code != http.StatusOK {
		return w.Code, answer.Error.Message
	}
	c.messages = append(c.messages, answer.Choices[0].Message)
	said, _ := answer.Choices[0].Message["content"].(string)
	return w.Code, said
}

func wantSaid(t *testing.T, what string, code int, got, want string) {
	t.Helper()
	if code != http.StatusOK || got != want {
		t.Errorf("%s: got %d %q, want %q", what, code, got, want)
	}
}

// TestServerTellsConversationsApart plays one script to several clients, which
// repeat requests, and which continue with a new server.
func TestServerTellsConversationsApart(t *testing.T) {
	const text = "steps: [{say: one}, {say: two}, {when: alarm, say: help}, {say: four}]"
	server := serverOf(t, text)
	a, b := &conversation{server: server}, &conversation{server: server}
	code, said := a.hear(t, "go")
	wantSaid(t, "first", code, said, "one")
	code, said = b.hear(t, "go")
	wantSaid(t, "another conversation with the same beginning", code, said, "one")
	code, said = a.hear(t, "on")
	wantSaid(t, "second", code, said, "two")
	a.messages = a.messages[:len(a.messages)-1] // the answer was lost on the way
	code, said = a.again(t)
	wantSaid(t, "the same request once more", code, said, "two")
	a.server = serverOf(t, text)
	code, said = a.hear(t, "on")
	wantSaid(t, "a server that was started again", code, said, "four")
	code, said = a.hear(t, "alarm")
	wantSaid(t, "a step that was passed over", code, said, "help")
	if code, said = a.hear(t, "on"); code != http.StatusBadRequest || !strings.Contains(said, "none of its 4 steps") {
		t.Errorf("a script that ran out answers %d %q; no agent may retry that", code, said)
	}
}

// TestServerErrorsServeOnce tests steps that leave no trace in a conversation.
func TestServerErrorsServeOnce(t *testing.T) {
	const text = `
steps:
  - {error: {type: overloaded}, times: 2}
  - say: ""
  - {when: alarm, error: {type: rate_limit, message: slow down}}
  - {say: here, times: -1}`
	server := serverOf(t, text)
	for run := range 2 { // the second time an agent begins anew, with the same words
		c := &conversation{server: server, key: "k"}
		for try := range 2 {
			if code, _ := c.hear(t, fmt.Sprint("try ", try)); code != http.StatusServiceUnavailable {
				t.Fatalf("run %d, try %d: got %d, want 503", run, try, code)
			}
		}
		code, said := c.again(t)
		wantSaid(t, "the empty answer", code, said, "")
		c.messages = c.messages[:len(c.messages)-1] // agents drop what says nothing
		code, said = c.hear(t, "hello")
		wantSaid(t, "after the failures", code, said, "here")
		if code, said := c.hear(t, "alarm"); code != http.StatusTooManyRequests || said != "slow down" {
			t.Errorf("got %d %q, want the rate limit", code, said)
		}
		code, said = c.again(t)
		wantSaid(t, "the retry", code, said, "here")
		code, said = c.hear(t, "alarm")
		wantSaid(t, "an error that was used up", code, said, "here")
	}
}

// TestServerChoosesScripts tests bearers and models in all their places.
func TestServerChoosesScripts(t *testing.T) {
	server := serverOfAll(t, map[string]string{"ann": "steps: [{say: I am Ann.}]", "bob": "steps: [{say: I am Bob.}]"})
	const body = `{"model":"%s","messages":[{"role":"user","content":"hi"}]}`
	for _, test := range []struct{ model, path, header, value, want string }{
		{"m", "/v1/messages", "X-Api-Key", "ann", "I am Ann."},
		{"m", "/v1/messages", "Authorization", "bearer bob", "I am Bob."},
		{"m", "/v1/messages", "X-Goog-Api-Key", "bob", "I am Bob."},
		{"m", "/v1/messages?key=ann", "", "", "I am Ann."},
		{"bob", "/chat/completions", "Authorization", "Bearer dummy", "I am Bob."},
		{"bob", "/chat/completions", "Authorization", "Bearer ann", "I am Ann."},
		{"m", "/v1/messages", "X-Api-Key", "carl", `no script for this API key, nor for model \"m\"; send one of ann, bob`},
	} {
		w := knock(server, "POST", test.path, fmt.Sprintf(body, test.model), test.header, test.value)
		if !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%+v: got %s", test, w.Body)
		}
	}
	for _, path := range []string{"/v1/models", "/models", "/v1beta/models"} {
		if w := knock(server, "GET", path, ""); w.Code != 200 || !strings.Contains(w.Body.String(), "ann") {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
	}
	if w := knock(server, "GET", "/v1/models/ann", ""); !strings.Contains(w.Body.String(), `"id":"ann"`) {
		t.Errorf("a model's card is %s", w.Body)
	}
	if w := knock(server, "POST", "/v2/nothing", ""); w.Code != 404 || !strings.Contains(w.Body.String(), "/v1/responses") {
		t.Errorf("a path that is not there: %d %s", w.Code, w.Body)
	}
}

// TestServerAsides tests requests that are not a pass of a conversation.
func TestServerAsides(t *testing.T) {
	server := serverOf(t, "steps: [{say: one}]\nhelpers: [{when: title, steps: [{say: Our title}]}]")
	for system, want := range map[string]string{"Write a title.": "Our title", "Is it a new topic?": `"content":"ok"`} {
		w := knock(server, "POST", "/v1/chat/completions", fmt.Sprintf(
			`{"messages":[{"role":"system","content":%q},{"role":"user","content":"go"}]}`, system))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: got %s, want %s", system, w.Body, want)
		}
	}
	c := &conversation{server: server}
	code, said := c.hear(t, "go")
	wantSaid(t, "the conversation itself", code, said, "one")
}

// TestServerTakesBigBodies tests conversations that are large, and those that are
// too large.
func TestServerTakesBigBodies(t *testing.T) {
	server := serverOf(t, `steps: [{when: "xx$", say: seen}]`)
	body := func(size int) string {
		return `{"messages":[{"role":"user","content":"` + strings.Repeat("x", size) + `"}]}`
	}
	if w := knock(server, "POST", "/v1/messages", body(1<<20)); !strings.Contains(w.Body.String(), "seen") {
		t.Errorf("1 MiB: %d %.200s", w.Code, w.Body)
	}
	if w := knock(server, "POST", "/v1/messages", body(script.MaxRequest)); w.Code != 400 ||
		!strings.Contains(w.Body.String(), "larger than 64 MiB") {
		t.Errorf("too large: %d %.200s", w.Code, w.Body)
	}
	if w := knock(server, "POST", "/v1/messages", "{"); w.Code != 400 || !strings.Contains(w.Body.String(), "not JSON") {
		t.Errorf("half a body: %d %s", w.Code, w.Body)
	}
}

// TestServeEnds ends a server during a request that would take an hour, and a
// request whose agent disconnects.
func TestServeEnds(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, stop := context.WithCancel(t.Context())
	l, err := script.Listen(ctx, "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	server := serverOf(t, "delay: 1h\nsteps: [{say: late}, {when: quick, say: now, delay: 0s}]")
	go func() { served <- server.Serve(ctx, l) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	post := func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, "POST", "http://"+l.Addr().String()+"/v1/messages",
			strings.NewReader(`{"messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			return err
		}
		resp, err := client.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if _, err := io.ReadAll(resp.Body); err != nil {
			return err
		}
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := post(short); err == nil || short.Err() == nil {
		t.Errorf("a cancelled request got %v", err)
	}
	answered := make(chan error, 1)
	go func() { answered <- post(context.WithoutCancel(ctx)) }()
	time.AfterFunc(20*time.Millisecond, stop) // before or after the request: it ends either way
	if err := <-served; err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if err := <-answered; err == nil {
		t.Error("a request that would take an hour was answered")
	}
}

func TestServeSaysWhyItCannot(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := serverOf(t, "steps: [{say: x}]").Serve(t.Context(), l); err == nil {
		t.Error("a closed port was served")
	}
	if _, err := script.NewServer(nil, nil); err == nil {
		t.Error("a server without scripts")
	}
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "example.com:80", "nonsense", "[::]:0"} {
		if l, err := script.Listen(t.Context(), addr); err == nil || !strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%s: got %v, %v; want a refusal that says what to write", addr, l, err)
		}
	}
}

// FuzzServer sends random bodies to all APIs: every answer is JSON or a stream, and
// nothing panics.
func FuzzServer(f *testing.F) {
	for _, body := range []string{
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},null,5,{"content":[["x"]]}]}],"stream":true}`,
		`{"input":[{"type":"function_call","call_id":"toolu_0_0_0","name":"Bash"},{}],"tools":[{"type":"namespace","tools":[{}]}]}`,
		`{"contents":[{"role":"model","parts":[{"functionCall":{"id":"toolu_99_9_9"}}]}],"systemInstruction":7}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"id":"x_toolu_0_999999999_0"}]}]}`, `[]`, `null`, `{"tools":[null]}`,
		`{"messages":[],"response_format":{"type":"json_schema","json_schema":{"schema":{"type":["object"],"required":["a"]}}}}`,
	} {
		f.Add(body)
	}
	server := serverOf(f, "exhausted: stop\nsteps: [{say: a, call: [{tool: Bash, input: {command: ls}}], times: -1}]")
	paths := []string{
		"/v1/messages", "/v1/chat/completions", "/v1/responses", "/v1beta/models/m:generateContent",
		"/v1beta/models/m:streamGenerateContent",
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range paths {
			w := knock(server, "POST", path, body)
			stream := w.Header().Get("Content-Type") == "text/event-stream"
			if w.Code >= 500 || !stream && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	})
}

// Agents that are admitted later have their own keys, which the server never shows.
func TestServerAdmitsLater(t *testing.T) {
	parse := func(text string) *script.Script {
		s, err := script.Parse("later.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if _, err := script.NewServer(nil, &script.ServerOptions{}); err == nil {
		t.Error("a server without scripts that nobody brings began")
	}
	s, err := script.NewServer(nil, &script.ServerOptions{AllowEmpty: true})
	if err != nil {
		t.Fatal(err)
	}
	one, two := conversation{server: s, key: "key-1"}, conversation{server: s, key: "key-2"}
	if code, text := one.hear(t, "hello"); code == http.StatusOK || !strings.Contains(text, "no script for this API key") {
		t.Errorf("nobody was admitted: %d %s", code, text)
	}
	s.Admit("key-1", parse("steps: [{say: one}]"))
	s.Admit("key-2", parse("steps: [{say: two}]"))
	code, text := one.again(t)
	wantSaid(t, "the first", code, text, "one")
	code, text = two.hear(t, "hello")
	wantSaid(t, "the second", code, text, "two")
	if code, text := (&conversation{server: s, key: "key-3"}).hear(t, "hello"); code == http.StatusOK || strings.Contains(text, "key-1") {
		t.Errorf("a key that was never admitted: %d %s", code, text)
	}
	if w := knock(s, "GET", "/v1/models", ""); strings.Contains(w.Body.String(), "key-") {
		t.Errorf("the models are listed as %s", w.Body)
	}
}
