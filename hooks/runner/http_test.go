package runner

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/coveyteam/covey/hooks"
	settingspkg "github.com/coveyteam/covey/hooks/settings"
)

// TestHTTPLeavesNothing: whatever way a call ends, no goroutine and no connection
// stays behind, and its time-out holds.
func TestHTTPLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ways := map[string]http.HandlerFunc{
		"answer": serves(200, `{}`),
		"error":  serves(500, strings.Repeat("x", 1<<16)),
		"hangs":  func(_ http.ResponseWriter, r *http.Request) { heldUp(r) },
		"trickles": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"decision":`)
			w.(http.Flusher).Flush()
			heldUp(r)
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		},
		"switches": func(w http.ResponseWriter, r *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		},
		"hangs up": func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
	}
	want := map[string]string{"answer": "", "error": "HTTP 500", "hangs": "timed out after 150ms",
		"trickles": "timed out after 150ms", "endless": "longer than 1048576 bytes", "hangs up": "socket hang up", "switches": "another protocol"}
	for name, do := range ways {
		s := httptest.NewServer(do)
		settings := httpOn(hooks.PreToolUse, s.URL)
		if strings.HasPrefix(want[name], "timed") { // the others are to come to their end, however slow the machine
			settings[hooks.PreToolUse][0].Hooks[0].Timeout = 0.15
		}
		out := post(t, posting(t, nil, settingspkg.Source{Settings: settings}), hooks.PreToolUseInput{ToolName: "Bash"})
		r := out.Results[0]
		if !strings.Contains(r.Warning, want[name]) || (r.Outcome == hooks.Success) != (want[name] == "") || out.Decision != hooks.Pass {
			t.Errorf("%s: %+v, want %q", name, r, want[name])
		}
		if timed := strings.HasPrefix(want[name], "timed"); timed != (r.Outcome == hooks.Cancelled) {
			t.Errorf("%s: outcome %s", name, r.Outcome)
		}
		if len(r.Stdout) > defaultOutputCap {
			t.Errorf("%s: %d bytes are kept", name, len(r.Stdout))
		}
		s.Close()
	}
}

// heldUp waits until the client has gone.
func heldUp(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// TestHTTPCancelled: a hook ends with whoever called it, and has no say then.
func TestHTTPCancelled(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	came := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(came)
		heldUp(r)
	}))
	defer s.Close()
	r := posting(t, nil, settingspkg.Source{Settings: httpOn(hooks.Stop, s.URL)})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-came; cancel() }()
	out, err := r.Run(ctx, hooks.Input{Payload: hooks.StopInput{}}, nil)
	if !errors.Is(err, context.Canceled) || out.Results[0].Outcome != hooks.Cancelled || out.Decision != hooks.Pass {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestHTTPKeepsToItself: no cookies from one call to the next, no proxy of the
// environment, no connection that is used twice, and no compression.
func TestHTTPKeepsToItself(t *testing.T) {
	proxy := newSite(t, serves(200, `{"decision":"block","reason":"by the proxy"}`))
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
		_, _ = io.WriteString(w, "{}")
	})
	var connections atomic.Int32
	source := settingspkg.Source{Settings: httpOn(hooks.Stop, s.at("site.test"))}
	source.Restrictions.AllowedHTTPHookURLs = []string{"http://site.test:*"}
	r := posting(t, []string{"HTTP_PROXY=" + proxy.URL}, source)
	dns := &names{hosts: map[string][]string{"site.test": {"127.0.0.1"}}}
	r.world.Resolver = dns.resolver()
	seen := map[string]bool{}
	for i := range 3 {
		if got := post(t, r, hooks.StopInput{}).Results[0]; got.Outcome != hooks.Success || got.Warning != "" {
			t.Fatalf("%+v", got)
		}
		last := s.since(0)[i]
		if last.Header.Get("Cookie") != "" || last.Header.Get("Accept-Encoding") != "" || !last.Close {
			t.Errorf("headers %v, close %v", last.Header, last.Close)
		}
		if !seen[last.RemoteAddr] {
			connections.Add(1)
		}
		seen[last.RemoteAddr] = true
	}
	if proxy.calls() != 0 || connections.Load() != 3 {
		t.Errorf("%d calls by the proxy, %d connections", proxy.calls(), connections.Load())
	}
}

// TestHTTPS: a certificate that nobody vouches for, or that is another host's,
// ends the call.
func TestHTTPS(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		_, _ = io.WriteString(w, `{"decision":"block","reason":"seen"}`)
	}))
	s.Config.ErrorLog = discardLog()
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	wrongName := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	for _, c := range []struct {
		url   string
		roots *x509.CertPool
		want  string
	}{{s.URL, nil, "certificate"}, {wrongName, roots, "certificate"}, {s.URL, roots, ""}} {
		r := posting(t, nil, settingspkg.Source{Settings: httpOn(hooks.Stop, c.url)})
		r.world.Roots = c.roots
		got := post(t, r, hooks.StopInput{}).Results[0]
		if c.want == "" && got.Outcome != hooks.Blocking || c.want != "" && !strings.Contains(got.Stderr, c.want) {
			t.Errorf("%s: %+v, want %q", c.url, got, c.want)
		}
	}
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
}

// TestHTTPFields: what all hooks can have, http hooks can, too.
func TestHTTPFields(t *testing.T) {
	t.Parallel()
	s := newSite(t, serves(200, `{}`))
	hook := func(change func(h *hooks.Handler)) hooks.Handler {
		h := hooks.Handler{Type: "http", URL: s.URL}
		change(&h)
		return h
	}
	group := hooks.Group{Matcher: "Bash", Hooks: []hooks.Handler{
		hook(func(h *hooks.Handler) { h.URL += "/once"; h.Once = true }),
		hook(func(h *hooks.Handler) { h.URL += "/git"; h.If = "Bash(git *)" }),
		hook(func(h *hooks.Handler) { h.URL += "/status"; h.StatusMessage = "asking" }),
		hook(func(h *hooks.Handler) { h.URL += "/status"; h.If = "Bash" }),                           // another hook
		hook(func(h *hooks.Handler) { h.URL += "/status"; h.Headers = map[string]string{"X": "2"} }), // the same, and the last
	}}
	r := posting(t, nil, settingspkg.Source{Settings: hooks.Settings{hooks.PreToolUse: {group}}})
	plugin := settingspkg.Source{Name: "p", Root: "/p", Settings: httpOn(hooks.PreToolUse, s.URL+"/status")}
	fire := func(r *Runner, command string) (paths []string, statuses []string) {
		t.Helper()
		before := s.calls()
		_, err := r.Run(t.Context(), hooks.Input{Common: hooks.Common{SessionID: "s"}, Payload: hooks.PreToolUseInput{ToolName: "Bash",
			ToolInput: json.RawMessage(fmt.Sprintf(`{"command":%q}`, command))}}, func(p hooks.Progress) {
			if p.Result == nil {
				statuses = append(statuses, p.Status)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, request := range s.since(before) {
			paths = append(paths, request.URL.Path+request.Header.Get("X"))
		}
		slices.Sort(paths)
		return paths, slices.Compact(slices.Sorted(slices.Values(statuses)))
	}
	if paths, statuses := fire(r, "git push"); !slices.Equal(paths, []string{"/git", "/once", "/status", "/status2"}) ||
		!slices.Equal(statuses, []string{""}) {
		t.Errorf("first call: %q, %q", paths, statuses)
	}
	if paths, _ := fire(r, "ls"); !slices.Equal(paths, []string{"/status", "/status2"}) {
		t.Errorf("second call: %q", paths)
	}
	group.Hooks = group.Hooks[2:3]
	r = posting(t, nil, settingspkg.Source{Settings: hooks.Settings{hooks.PreToolUse: {group}}}, plugin)
	if paths, statuses := fire(r, "ls"); !slices.Equal(paths, []string{"/status", "/status"}) ||
		!slices.Equal(statuses, []string{"", "asking"}) {
		t.Errorf("a plugin's copy is a hook of its own: %q, %q", paths, statuses)
	}
}

// TestManagedCopyWins: of equal hooks the managed one runs, wherever its layer
// stands, so that a copy cannot give it a shorter time or other headers.
func TestManagedCopyWins(t *testing.T) {
	t.Parallel()
	s := newSite(t, serves(200, `{}`))
	managed := settingspkg.Source{Name: "m", Managed: true, Settings: httpOn(hooks.Stop, s.URL)}
	managed.Settings[hooks.Stop][0].Hooks[0].Headers = map[string]string{"X-From": "managed"}
	other := settingspkg.Source{Name: "u", Settings: httpOn(hooks.Stop, s.URL)}
	for _, sources := range [][]settingspkg.Source{{managed, other}, {other, managed}} {
		out := post(t, posting(t, nil, sources...), hooks.StopInput{})
		if got := s.since(s.calls() - 1)[0].Header.Get("X-From"); out.Matched != 1 || got != "managed" {
			t.Errorf("%d hooks ran, the last from %q", out.Matched, got)
		}
	}
}

// TestBarredHooks: what is switched off does not run; what the spec makes binding
// refuses then, as it may not run and must not be lost.
func TestBarredHooks(t *testing.T) {
	t.Parallel()
	s := newSite(t, serves(200, `{}`))
	settings := httpOn(hooks.PreToolUse, s.URL+"/plain", s.URL+"/mandatory")
	settings[hooks.PreToolUse][0].Hooks[1].Mandatory = true
	settings[hooks.Stop] = []hooks.Group{{Hooks: []hooks.Handler{{Type: "command", Command: "true", Gate: true}, {Type: "command", Command: "false"}}}}
	own := settingspkg.Source{Name: "spec", Settings: settings}
	run := func(sources ...settingspkg.Source) (before, end hooks.Outcome) {
		r := posting(t, nil, append(sources, own)...)
		return post(t, r, hooks.PreToolUseInput{ToolName: "Bash"}), post(t, r, hooks.StopInput{})
	}
	before, end := run(layer("u.json", false, `{"disableAllHooks":true}`))
	if before.Matched != 1 || end.Matched != 1 || end.Decision != hooks.Pass || s.calls() != 1 {
		t.Errorf("a settings file: %+v\n%+v", before, end)
	}
	before, end = run(layer("m.json", true, `{"allowManagedHooksOnly":true}`))
	if before.Decision != hooks.Block || before.Permission.Decision != "deny" || end.Decision != hooks.Block || s.calls() != 1 {
		t.Errorf("managed settings: %+v\n%+v", before, end)
	}
	for _, feedback := range append(before.Feedback, end.Feedback...) {
		if !strings.Contains(feedback, "allowManagedHooksOnly in m.json: this hook is binding") {
			t.Errorf("feedback %q", feedback)
		}
	}
	before, end = run(layer("m.json", true, `{"disableAllHooks":true}`))
	if before.Decision != hooks.Block || end.Decision != hooks.Block || end.Matched != 1 {
		t.Errorf("managed settings: %+v\n%+v", before, end)
	}
}

// TestHTTPFaultsAtRun: what cannot be called says so in each result.
func TestHTTPFaultsAtRun(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{"": "has no url", "ftp://a/": "neither http", "http://0x7f.1/": "a number",
		"http://10.1.2.3/": "10.1.2.3, a private address", "http://[::ffff:10.0.0.1]/": "a private address",
		"http://169.254.169.254/latest/meta-data/": "a cloud tells its machines", "http://[::]/": "unspecified"} {
		got := post(t, posting(t, nil, settingspkg.Source{Settings: httpOn(hooks.Stop, url)}), hooks.StopInput{}).Results[0]
		if got.Outcome != hooks.NonBlockingError || !got.FailedOpen || !strings.Contains(got.Warning, want) || got.ExitCode != -1 {
			t.Errorf("%q: %+v, want %q", url, got, want)
		}
	}
}

// TestCheckHTTP: mistakes in a spec; of a settings file those that are merely odd
// leave the hook in.
func TestCheckHTTP(t *testing.T) {
	for text, want := range map[string]string{
		`"url":"https://h/"`: "",
		`"url":"https://h/","headers":{"A":"$T"},"allowedEnvVars":["T"]`: "",
		`"headers":{}`: "url: the hook has no url: write where it posts to",
		`"url":"https://h/","headers":{"A B":"x"}`:    `headers: "A B" cannot name a header`,
		`"url":"https://h/","headers":{"":"x"}`:       `headers: "" cannot name a header`,
		`"url":"https://h/","headers":{"host":"x"}`:   "odd headers: Host is not for hooks to set",
		`"url":"https://h/","headers":{"A":"${T}"}`:   "odd headers: A: $T will be empty: name it in allowedEnvVars",
		`"url":"https://h/","allowedEnvVars":["$T"]`:  `odd allowedEnvVars: "$T" cannot name a variable`,
		`"url":"https://h/","allowedEnvVars":["A=b"]`: `odd allowedEnvVars: "A=b" cannot name a variable`,
		`"url":"https://h/","allowedEnvVars":[""]`:    `odd allowedEnvVars: "" cannot name a variable`,
		`"url":"https://u:p@h/"`:                      "odd url: a name or password in a URL is shown",
		`"url":"http://169.254.169.254/"`:             "odd url: 169.254.169.254 is a link-local address",
		`"url":"https://h/","async":true`:             "odd async: only command hooks run in the background",
	} {
		file, warnings := settingspkg.Parse("s", []byte(`{"hooks":{"Stop":[{"hooks":[{"type":"http",`+text+`}]}]}}`))
		odd, isOdd := strings.CutPrefix(want, "odd ")
		kept := len(file.Hooks[hooks.Stop]) == 1
		if kept != (want == "" || isOdd) || (len(warnings) == 0) != (want == "") {
			t.Errorf("%s: kept %v, warnings %v", text, kept, warnings)
		}
		if want == "" || len(warnings) == 0 {
			continue
		}
		if !strings.Contains(warnings[0].Error(), "s:1: hooks.Stop[0].hooks[0]."+odd) {
			t.Errorf("%s: %v, want %q", text, warnings[0], odd)
		}
		var h hooks.Handler
		if err := json.Unmarshal([]byte(`{"type":"http",`+text+`}`), &h); err != nil {
			t.Fatal(err)
		}
		if len(settingspkg.Validate(hooks.Settings{hooks.Stop: {{Hooks: []hooks.Handler{h}}}})) != 1 {
			t.Errorf("%s: a spec has it pass", text)
		}
	}
	for event, want := range map[hooks.Event]bool{hooks.Stop: true, hooks.SessionStart: false, hooks.Setup: false, hooks.Notification: true,
		hooks.SessionEnd: true, hooks.ConfigChange: true} {
		problems := settingspkg.Validate(httpOn(event, "https://h/"))
		if (len(problems) == 0) != want {
			t.Errorf("%s: %v", event, problems)
		}
	}
}

// BenchmarkHTTPHook is one event with one http hook, connection and all.
func BenchmarkHTTPHook(b *testing.B) {
	s := httptest.NewServer(serves(200, `{}`))
	defer s.Close()
	r, err := New([]settingspkg.Source{{Settings: httpOn(hooks.Stop, s.URL)}}, &Options{Env: []string{}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if out, err := r.Run(b.Context(), hooks.Input{Payload: hooks.StopInput{}}, nil); err != nil || out.FailedOpen() > 0 {
			b.Fatalf("%+v, %v", out, err)
		}
	}
}
