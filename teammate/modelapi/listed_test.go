package modelapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestListed: a host is asked for its list of models once, with the key in the way of its
// API, and its errors are those of other requests.
func TestListed(t *testing.T) {
	for _, tc := range []struct {
		api          API
		status       int
		kind, body   string
		path, header string
		want         string // names, or the error
	}{
		{Messages, 200, "application/json", `{"data":[{"id":"b"},{"id":"a"}]}`, "/v1/models", "X-Api-Key: sk-secret", "[a b]"},
		{Chat, 200, "application/json", `{"data":null}`, "/models", "Authorization: Bearer sk-secret", "[]"},
		{Responses, 404, "text/plain", "404 page not found", "/models", "", ErrNoList.Error()},
		{Chat, 401, "application/json", `{"error":{"message":"bad key sk-secret"}}`, "/models", "",
			"API error (authentication_failed): BASE refuses the key of anthropic/claude-x (covey models shows where it comes from): bad key (key)"},
		{Chat, 200, "text/html", "<h1>Log in</h1>", "/models", "",
			"API error (unknown): BASE answered with text/html instead of a list of models; is base_url right, or is a proxy between? " +
				"It begins: Log in"},
	} {
		asked := 0
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			name, value, _ := strings.Cut(tc.header, ": ")
			if r.URL.Path != tc.path || r.Header.Get(name) != value {
				t.Errorf("asked for %s with %v", r.URL.Path, r.Header)
			}
			w.Header().Set("Content-Type", tc.kind)
			w.WriteHeader(tc.status)
			fmt.Fprint(w, tc.body)
		})
		c := anthropic(server.URL)
		c.API = tc.api
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		names, err := m.Listed(t.Context())
		have := fmt.Sprint(names)
		if err != nil {
			have = strings.ReplaceAll(err.Error(), server.URL, "BASE")
		}
		if have != tc.want || asked != 1 {
			t.Errorf("%s\nwant %s; asked %d times", have, tc.want, asked)
		}
	}
}
