package bus

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestSocketIsPrivate(t *testing.T) {
	b, _ := mustEmbed(t, Options{})
	path := filepath.Join(privateTemp(t), "deep", "er", "control.sock")
	if err := b.Listen(path, func(net.Conn) (Identity, error) { return Identity{}, errors.New("no") }); err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %04o, want %04o", p, got, want)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestSharedFolderIsRefused(t *testing.T) {
	b, _ := mustEmbed(t, Options{})
	dir := privateTemp(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "control.sock")
	if err := b.Listen(path, nil); !errors.Is(err, ErrSocketDir) {
		t.Errorf("Listen in a folder of mode 0755: %v", err)
	}
	if _, err := Dial(t.Context(), path); !errors.Is(err, ErrSocketDir) {
		t.Errorf("Dial in a folder of mode 0755: %v", err)
	}
	link := filepath.Join(privateTemp(t), "link")
	if err := os.Symlink(privateTemp(t), link); err != nil {
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), filepath.Join(link, "control.sock")); !errors.Is(err, ErrSocketDir) {
		t.Errorf("Dial through a symbolic link: %v", err)
	}
}

// Somebody else may have made the folder first, to put a socket of theirs there.
func TestSquattedFolderIsRefused(t *testing.T) {
	dir := privateTemp(t)
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Skip("needs root to make a folder of another user")
	}
	b, _ := mustEmbed(t, Options{})
	path := filepath.Join(dir, "control.sock")
	for what, err := range map[string]error{"Listen": b.Listen(path, nil), "Dial": dialError(t, path)} {
		if !errors.Is(err, ErrSocketDir) || !strings.Contains(err.Error(), "XDG_RUNTIME_DIR") {
			t.Errorf("%s in another user's folder: %v", what, err)
		}
	}
}

func dialError(t *testing.T, path string) error {
	t.Helper()
	c, err := Dial(t.Context(), path)
	if err == nil {
		err = errors.Join(errors.New("it worked"), c.Close())
	}
	return err
}

func TestStaleSocketIsReplaced(t *testing.T) {
	path := filepath.Join(privateTemp(t), "control.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false) // as after kill -9
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b, _ := mustEmbed(t, Options{})
	identify := func(net.Conn) (Identity, error) { return Identity{Kind: "tool", Name: "api", PID: 1}, nil }
	if err := b.Listen(path, identify); err != nil {
		t.Fatalf("a stale socket is in the way: %v", err)
	}
	other, _ := mustEmbed(t, Options{})
	if err := other.Listen(path, identify); !errors.Is(err, ErrSocketInUse) {
		t.Errorf("Listen where another listens: %v", err)
	}
	mustDial(t, path)
	file := filepath.Join(privateTemp(t), "control.sock")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Listen(file, identify); err == nil {
		t.Error("a file that is no socket was replaced")
	}
}

func TestListenMakesItsFolder(t *testing.T) {
	b, _ := mustEmbed(t, Options{})
	handleWho(t, b)
	path := filepath.Join(privateTemp(t), "covey", "crew.sock")
	id := Identity{Kind: "tool", Name: "api", PID: 1}
	if err := b.Listen(path, func(net.Conn) (Identity, error) { return id, nil }); err != nil {
		t.Fatal(err)
	}
	if got, err := Ask[string, Identity](within(t, patience), mustDial(t, path), "who", ""); got != id ||
		err != nil {
		t.Errorf("Ask = %+v, %v", got, err)
	}
}

func TestRefusedCallerLearnsWhy(t *testing.T) {
	b, _ := mustEmbed(t, Options{})
	path := mustListenBy(t, b, func(net.Conn) (Identity, error) { return Identity{}, errors.New("you are user 7") })
	if _, err := Dial(t.Context(), path); !errors.Is(err, ErrRefused) ||
		!strings.Contains(err.Error(), "you are user 7") {
		t.Errorf("Dial = %v", err)
	}
	path = mustListen(t, b, Identity{Kind: "tool", Name: "a.>", PID: 1})
	if _, err := Dial(t.Context(), path); !errors.Is(err, ErrRefused) {
		t.Errorf("Dial as somebody whose name is no name: %v", err)
	}
}

func TestConnectionLimit(t *testing.T) {
	b, _ := mustEmbed(t, Options{MaxConns: 2})
	path := mustListen(t, b, Identity{Kind: "tool", Name: "api", PID: 1})
	first := mustDial(t, path)
	mustDial(t, path)
	if _, err := Dial(t.Context(), path); !errors.Is(err, ErrRefused) {
		t.Fatalf("the third of two connections: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; { // the place is free a moment later
		c, err := Dial(t.Context(), path)
		if err == nil {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		if !errors.Is(err, ErrRefused) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// One caller's idle connections keep neither others nor the operator ones out, and all callers'
// together do not keep the operator ones out.
func TestConnectionsOfOneCaller(t *testing.T) {
	b, _ := mustEmbed(t, Options{
		MaxConns: 16, MaxOfCaller: 6, Operator: func(id Identity) bool { return id.Kind == "operator" },
	})
	var mu sync.Mutex
	next := Identity{}
	path := mustListenBy(t, b, func(net.Conn) (Identity, error) {
		mu.Lock()
		defer mu.Unlock()
		next.PID++
		return next, nil
	})
	dial := func(kind, name string) error {
		mu.Lock()
		next.Kind, next.Name = kind, name
		mu.Unlock()
		c, err := Dial(t.Context(), path)
		if err == nil {
			t.Cleanup(func() { _ = c.Close() }) // the bus may have ended before
		}
		return err
	}
	for i := range 6 {
		if err := dial("tool", "api"); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	if err := dial("tool", "api"); !errors.Is(err, ErrRefused) ||
		!strings.Contains(err.Error(), "tool api has 6 connections") {
		t.Errorf("one more of the same caller: %v", err)
	}
	for i := range 6 {
		if err := dial("tool", "docs"); err != nil {
			t.Errorf("connection %d of another caller: %v", i, err)
		}
	}
	for _, name := range []string{"a", "b"} {
		if err := dial("tool", name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := dial("tool", "c"); !errors.Is(err, ErrRefused) ||
		!strings.Contains(err.Error(), "more than 14 connections") {
		t.Errorf("when only the places that are kept free are left: %v", err)
	}
	for i := range 2 {
		if err := dial("operator", "_"); err != nil {
			t.Errorf("connection %d of the operator: %v", i, err)
		}
	}
	if err := dial("operator", "_"); !errors.Is(err, ErrRefused) {
		t.Errorf("when no place is left: %v", err)
	}
}

func TestDialFails(t *testing.T) {
	dir := privateTemp(t)
	if _, err := Dial(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Dial of nothing: %v", err)
	}
	if _, err := Dial(t.Context(), filepath.Join(dir, "no", "dir")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Dial in no folder: %v", err)
	}
	for name, line := range map[string]string{
		"hangs up": "", "no JSON": "hello\n", "another format": `{"covey":9}` + "\n",
		"endless": strings.Repeat("x", 2*maxHello), "no server behind": `{"covey":1,"token":"x"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			if b, err := Dial(t.Context(), impostor(t, line)); err == nil {
				t.Error("it worked")
				_ = b.Close()
			}
		})
	}
}

// impostor listens at a path and says line to everybody, then hangs up.
func impostor(t *testing.T, line string) string {
	t.Helper()
	path := filepath.Join(privateTemp(t), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(c, line)
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return path
}

func TestDialEndsWithContext(t *testing.T) {
	path := filepath.Join(privateTemp(t), "s")
	l, err := net.Listen("unix", path) // accepts by the backlog, never says hello
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Dial(within(t, 20*time.Millisecond), path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Dial = %v", err)
	}
}

// rawDial connects like an attacker: it reads the credentials and then says
// what it likes.
func rawDial(t *testing.T, path string) (net.Conn, *bufio.Reader, hello) {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	line, err := r.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var h hello
	if err := json.Unmarshal(line, &h); err != nil {
		t.Fatal(err)
	}
	return c, r, h
}
