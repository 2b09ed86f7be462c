package bus

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSocketKey: who has to prove that it knows the key of the socket is refused without it, with a wrong one and
// with that of another run.
func TestSocketKey(t *testing.T) {
	b, _ := mustEmbed(t, Options{})
	handleWho(t, b)
	id := Identity{Kind: "operator", Name: "_", PID: 1}
	path := mustListenBy(t, b, func(net.Conn) (Identity, error) { asked := id; asked.NeedsKey = true; return asked, nil })
	key, err := os.ReadFile(KeyPath(path))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(KeyPath(path)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info, err)
	}
	if got, err := Ask[string, Identity](within(t, patience), mustDial(t, path), "who", ""); got != id || err != nil {
		t.Errorf("with the key: %+v, %v", got, err)
	}
	later, _ := mustEmbed(t, Options{})
	otherRun, err := os.ReadFile(KeyPath(mustListen(t, later, id)))
	if err != nil || string(otherRun) == string(key) {
		t.Fatalf("the key of another run: %v", err)
	}
	for name, wrong := range map[string]string{"another run's": string(otherRun), "none": "", "half": string(key[:10])} {
		if err := os.WriteFile(KeyPath(path), []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := dialError(t, path); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "is not that of the socket") {
			t.Errorf("with a wrong key (%s): %v", name, err)
		}
	}
	if err := os.Remove(KeyPath(path)); err != nil {
		t.Fatal(err)
	}
	if err := dialError(t, path); !errors.Is(err, ErrRefused) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a key: %v", err)
	}
}

// TestSocketKeyUnanswered: a caller that does not answer is refused, and holds up nobody.
func TestSocketKeyUnanswered(t *testing.T) {
	b, _ := mustEmbed(t, Options{})
	path := mustListenBy(t, b, func(net.Conn) (Identity, error) {
		return Identity{Kind: "operator", Name: "_", PID: 1, NeedsKey: true}, nil
	})
	for name, line := range map[string]string{"too long": strings.Repeat("x", 2*maxHello), "NATS": "CONNECT {}\n"} {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		// An error means that the listener has hung up already.
		_, _ = c.Write([]byte(line))
		mustDial(t, path)
		said := make([]byte, 4*maxHello)
		n := 0
		for {
			more, err := c.Read(said[n:])
			if n += more; err != nil {
				break
			}
		}
		if text := string(said[:n]); !strings.Contains(text, `"error"`) || strings.Contains(text, `"token"`) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestStopListening: the socket and its key go, and the others stay.
func TestStopListening(t *testing.T) {
	b, _ := mustEmbed(t, Options{})
	id := Identity{Kind: "tool", Name: "api", PID: 1}
	stays, goes := mustListen(t, b, id), mustListen(t, b, id)
	if err := errors.Join(b.StopListening(goes), b.StopListening(goes)); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(goes)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := dialError(t, goes); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a socket that is gone: %v", err)
	}
	mustDial(t, stays)
}
