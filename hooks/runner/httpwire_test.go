//go:build unix

package runner

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// rawSite answers one request with bytes and hangs up. came ends it, and gives
// the bytes that came.
func rawSite(t *testing.T, response string) (port string, came func() string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	request := make(chan string, 1)
	go func() {
		defer close(request)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var raw strings.Builder
		parsed, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &raw)))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, parsed.Body)
		request <- raw.String()
		_, _ = io.WriteString(conn, response)
	}()
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port, func() string {
		_ = listener.Close()
		return <-request
	}
}

// TestHTTPWire: each archive holds a configuration and a response, and the exact
// bytes of the request and what comes of the answer. __PORT__ is the server's.
func TestHTTPWire(t *testing.T) {
	files, err := filepath.Glob("testdata/http/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d archives, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			checkHTTPWire(t, file)
		})
	}
}

// checkHTTPWire runs one archive, or with -update rewrites it.
func checkHTTPWire(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{}
	for _, f := range archive.Files {
		parts[f.Name] = string(f.Data)
	}
	head, body, _ := strings.Cut(strings.TrimSuffix(parts["response"], "\n"), "\n\n")
	port, came := rawSite(t, strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"+body)
	file1, warnings := settings.Parse("s.json", []byte(strings.ReplaceAll(parts["settings.json"], "__PORT__", port)))
	for _, w := range warnings {
		t.Log(w)
	}
	event := hooks.Event(strings.TrimSpace(parts["event"]))
	in, err := hooks.ParseInput(event, []byte(parts["input.json"]), hooks.Common{SessionID: "5e551011", TranscriptPath: "/t/s.jsonl",
		Cwd: "/", PromptID: "9a0", PermissionMode: "acceptEdits"})
	if err != nil {
		t.Fatal(err)
	}
	r := posting(t, strings.Fields(parts["env"]), settings.Source{Name: "s.json", Settings: file1.Hooks, Restrictions: file1.Restrictions})
	out, err := r.Run(t.Context(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := func(text string) string {
		return strings.ReplaceAll(strings.ReplaceAll(text, ":"+port, ":__PORT__"), "\r\n", "\n")
	}
	got := map[string]string{"request": shown(came()) + "\n", "outcome.json": shown(wireForm(t, out))}
	for i, f := range archive.Files {
		want, checked := got[f.Name]
		if checked && *update {
			archive.Files[i].Data = []byte(want)
		} else if checked && want != string(f.Data) {
			t.Errorf("%s:\n%s\nwant\n%s", f.Name, want, f.Data)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// recordedHTTP is one recorded run of an http hook.
type recordedHTTP struct {
	goldenCase
	Response struct {
		Stdout   string
		Stderr   string
		ExitCode *int `json:"exit_code"`
		Outcome  string
	}
}

// TestConformanceHTTP runs what was recorded of a real host, with a server that says
// what the recorded one said.
func TestConformanceHTTP(t *testing.T) {
	data, err := os.ReadFile("testdata/golden_http.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []recordedHTTP
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) < 4 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			checkGoldenHTTP(t, c)
		})
	}
}

// checkGoldenHTTP runs one case.
func checkGoldenHTTP(t *testing.T, c recordedHTTP) {
	s := newSite(t, serves(200, c.Response.Stdout))
	text := strings.ReplaceAll(string(c.Hooks), "__PORT__", s.port())
	file, warnings := settings.Parse("golden", []byte(`{"hooks":`+text+"}"))
	if len(warnings) > 0 {
		t.Errorf("warnings %v", warnings)
	}
	out := post(t, posting(t, []string{"RIGTOK=secret"}, settings.Source{Name: "golden", Settings: file.Hooks}), c.unrecorded())
	result := out.Results[0]
	if result.Stdout != c.Response.Stdout || result.Stderr != c.Response.Stderr {
		t.Errorf("stdout %q and stderr %q, want %q and %q", result.Stdout, result.Stderr, c.Response.Stdout,
			c.Response.Stderr)
	}
	code := -1
	if c.Response.ExitCode != nil {
		code = *c.Response.ExitCode
	}
	if result.ExitCode != code || result.FailedOpen != (c.Response.Outcome == "error") {
		t.Errorf("%+v, want exit code %d and outcome %s", result, code, c.Response.Outcome)
	}
	for i, m := range out.Messages {
		out.Messages[i] = strings.ReplaceAll(hooks.Unframed(m), s.port(), "<PORT>")
	}
	if !slices.Equal(out.Messages, c.Messages) {
		t.Errorf("the model sees\n%q\nwant\n%q", out.Messages, c.Messages)
	}
	if c.Name == "http_hook_ok" {
		if h := s.since(0)[0].Header; h.Get("X-Rig") != "vsecret" || h.Get("X-Plain") != "p" {
			dump, _ := httputil.DumpRequest(s.since(0)[0], false)
			t.Errorf("the headers are\n%s", dump)
		}
	}
}
