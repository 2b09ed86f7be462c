package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
)

// TestForward: what connects to a listener talks with an address elsewhere, each to the other's end, and
// all connections end with the listener.
func TestForward(t *testing.T) {
	far, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer far.Close()
	go func() {
		for {
			c, err := far.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	near, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Forward(far.Addr().String())(near)
	}()
	dial := func() *net.TCPConn {
		t.Helper()
		c, err := net.Dial("tcp", near.Addr().String())
		testkit.Must(t, err)
		return c.(*net.TCPConn)
	}
	c := dial()
	_, err = c.Write([]byte("hello"))
	testkit.Must(t, err)
	testkit.Must(t, c.CloseWrite())
	if said, err := io.ReadAll(c); string(said) != "hello" || err != nil {
		t.Errorf("it says %q, %v", said, err)
	}
	open := dial()
	_, err = open.Write([]byte("x"))
	testkit.Must(t, err)
	_, err = io.ReadFull(open, make([]byte, 1))
	testkit.Must(t, err)
	testkit.Must(t, near.Close())
	<-ended
	if _, err := open.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives its listener")
	}
}

// The names of a list: with their ports, with wildcards, and never an address of this machine by the
// name of somebody else.
func TestEntry(t *testing.T) {
	t.Parallel()
	hosts := []string{"example.com", "*.example.org", "db:5432", "Upper.example"}
	for address, want := range map[string]bool{
		"example.com:443": true, "example.com:80": true, "example.com:22": false, "example.com.:443": true, "EXAMPLE.com:443": true,
		"a.example.com:443": false, "example.org:443": false, "a.example.org:443": true, "a.b.example.org:443": true,
		"aexample.org:443": false, "db:5432": true, "db:80": false, "upper.example:443": true, "": false, "[::1]:443": false,
	} {
		host, port, _ := net.SplitHostPort(address)
		if _, ok := entry(hosts, host, port); ok != want {
			t.Errorf("%s: %v", address, ok)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer l.Close()
	if _, err := dialer("*.example.com").DialContext(t.Context(), "tcp", l.Addr().String()); err == nil || !strings.Contains(err.Error(), "this machine") {
		t.Errorf("a name led to this machine: %v", err)
	}
	c, err := dialer("localhost:1").DialContext(t.Context(), "tcp", l.Addr().String())
	testkit.Must(t, err)
	c.Close()
}

// The end of a session ends the connections of its proxy, also tunnels that nobody closes.
func TestProxyEnds(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	defer silent.Close()
	ended := make(chan struct{})
	go func() { Serve(l, []string{silent.Addr().String()}, nil); close(ended) }()
	c, err := net.Dial("tcp", l.Addr().String())
	testkit.Must(t, err)
	defer c.Close()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", silent.Addr())
	buf := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	if _, err := io.ReadFull(c, buf); err != nil || !strings.Contains(string(buf), "200") {
		t.Fatalf("%v %q", err, buf)
	}
	l.Close()
	<-ended
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	if _, err := c.Read(buf); err == nil || ctx.Err() != nil {
		t.Errorf("the tunnel is still open: %v", err)
	}
}
