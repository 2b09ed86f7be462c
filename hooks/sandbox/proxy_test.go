package sandbox

import (
	"io"
	"net"
	"testing"

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
