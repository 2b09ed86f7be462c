package launch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// modelScript writes a script file and returns its path.
func modelScript(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestServeModelsSaysWhere finds the server by the line that it prints, and ends
// it with its context.
func TestServeModelsSaysWhere(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- ServeModels(ctx, ModelServer{
			Scripts: []string{modelScript(t, "demo.yaml", "steps: [{say: hello}]"), "x=" + modelScript(t, "demo.yaml", "steps: [{say: x}]")},
			Addr:    "127.0.0.1:0", Out: in,
		})
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(strings.TrimSpace(url) + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(body), `"id":"demo"`) || !strings.Contains(string(body), `"id":"x"`) {
		t.Errorf("the models are %s (%v), want demo and x", body, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// TestServeModelsRefuses has what a server cannot begin with.
func TestServeModelsRefuses(t *testing.T) {
	good := modelScript(t, "demo.yaml", "steps: [{say: hello}]")
	for want, m := range map[string]ModelServer{
		"needs a script":            {Addr: "127.0.0.1:0"},
		"no name before the =":      {Scripts: []string{"=" + good}, Addr: "127.0.0.1:0"},
		"two scripts are called":    {Scripts: []string{good, good}, Addr: "127.0.0.1:0"},
		"not a loopback address":    {Scripts: []string{good}, Addr: "0.0.0.0:0"},
		"unknown key \"tell\"":      {Scripts: []string{modelScript(t, "b.yaml", "tell: me")}, Addr: "127.0.0.1:0"},
		"no such file or directory": {Scripts: []string{filepath.Join(t.TempDir(), "absent.yaml")}, Addr: "127.0.0.1:0"},
	} {
		m.Out = io.Discard
		err := ServeModels(t.Context(), m)
		if !errors.Is(err, ErrModelServer) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", m, err, want)
		}
	}
	out, in := io.Pipe()
	out.Close()
	err := ServeModels(t.Context(), ModelServer{Scripts: []string{good}, Addr: "127.0.0.1:0", Out: in})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("nobody learnt the URL, and the server says %v", err)
	}
}
