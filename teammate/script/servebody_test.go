package script

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// endless is a reader without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// The bodies held at a time are limited, for each key and together, also if they arrive in
// parts.
func TestBodiesAreBounded(t *testing.T) {
	var held bodies
	read := func(key string, n int64) (*countedBody, error) {
		b := &countedBody{Reader: endless{}, of: &held, key: key}
		_, err := io.CopyN(io.Discard, b, n)
		return b, err
	}
	first, err := read("a", MaxRequest)
	if err != nil {
		t.Fatalf("the largest request: %v", err)
	}
	second, err := read("a", MaxRequest)
	if !errors.Is(err, errCrowded) {
		t.Errorf("a second one with the same key: %v", err)
	}
	if held.byKey["a"] > maxOfKey {
		t.Errorf("%d bytes are held for one key", held.byKey["a"])
	}
	var others []*countedBody
	crowded := false
	for _, key := range []string{"b", "c", "d"} {
		b, err := read(key, MaxRequest)
		crowded = crowded || errors.Is(err, errCrowded)
		others = append(others, b)
	}
	if !crowded || held.all > maxBodies {
		t.Errorf("%d bytes are held in all", held.all)
	}
	for _, b := range append(others, first, second) {
		b.done()
	}
	if held.all != 0 || len(held.byKey) != 0 {
		t.Errorf("%d bytes and %v are held in the end", held.all, held.byKey)
	}
	if _, err := read("a", MaxRequest); err != nil {
		t.Errorf("once there is room: %v", err)
	}
}

// A request with an unknown key is answered before its body has arrived.
func TestKeyComesBeforeTheBody(t *testing.T) {
	s, err := NewServer(nil, &ServerOptions{AllowEmpty: true})
	if err != nil {
		t.Fatal(err)
	}
	played, err := Parse("s.yaml", []byte(`steps: [{say: hello}]`))
	if err != nil {
		t.Fatal(err)
	}
	s.Admit("secret", played)
	web := httptest.NewServer(s)
	defer web.Close()
	for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens", "/v1/chat/completions", "/v1beta/models/m:countTokens"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(web.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Now().Add(bodyWait)); err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Length: 60000000\r\n\r\n{")
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		text, _ := io.ReadAll(r.Body)
		if r.StatusCode != http.StatusUnauthorized || !strings.Contains(string(text), errNoKey.Error()) {
			t.Errorf("%s: %d %s", path, r.StatusCode, text)
		}
		c.Close()
	}
}
