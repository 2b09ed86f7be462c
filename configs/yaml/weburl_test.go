package yaml

import (
	"net/url"
	"testing"
)

func TestGoesOpen(t *testing.T) {
	for text, want := range map[string]bool{
		"https://example.com": false, "http://example.com": true, "http://localhost:8080": false, "http://127.0.0.1/x": false,
		"http://[::1]:80": false, "http://192.168.1.1": true, "http://localhost.example.com": true,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := GoesOpen(u); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
