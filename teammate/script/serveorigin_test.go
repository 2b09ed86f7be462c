package script_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coveyteam/covey/teammate/script"
)

// A web page must not drive the model server; agents send no Origin.
func TestServerRefusesWebPages(t *testing.T) {
	server := serverOf(t, "steps: [{say: Hello., times: -1}]")
	l, err := script.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	base := "http://" + l.Addr().String()
	for _, tt := range []struct {
		name, host, header, value string
		want                      int
	}{
		{"an agent", "127.0.0.1:1", "", "", http.StatusOK},
		{"an agent by name", "localhost:1", "", "", http.StatusOK},
		{"an agent over IPv6", "[::1]:1", "", "", http.StatusOK},
		{"its own origin", "127.0.0.1:1", "Origin", "http://127.0.0.1:1", http.StatusOK},
		{"a page", "127.0.0.1:1", "Origin", "https://evil.example", http.StatusForbidden},
		{"a file", "127.0.0.1:1", "Origin", "null", http.StatusForbidden},
		{"another port", "127.0.0.1:1", "Origin", "http://127.0.0.1:2", http.StatusForbidden},
		{"another site", "127.0.0.1:1", "Sec-Fetch-Site", "cross-site", http.StatusForbidden},
		{"a sister site", "127.0.0.1:1", "Sec-Fetch-Site", "same-site", http.StatusForbidden},
		{"a name rebound to us", "evil.example:1", "", "", http.StatusForbidden},
	} {
		for method, path := range map[string]string{"POST": "/v1/chat/completions", "GET": "/v1/models"} {
			r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(
				`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = tt.host
			if tt.header != "" {
				r.Header.Set(tt.header, tt.value)
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != tt.want {
				t.Errorf("%s, %s: status %d, want %d", tt.name, method, answer.StatusCode, tt.want)
			}
		}
	}
}
