package web

import (
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// However many connections another user makes, the operator's are taken, and files of the process are
// left over; who closes one makes room.
func TestPlaces(t *testing.T) {
	p := newPlaces(nil)
	own, taken := os.Geteuid(), map[int]int{}
	others := []int{-1, own + 1, own + 2, own + 3}
	for _, user := range others {
		for range 1500 {
			if p.take(user) {
				taken[user]++
			}
		}
	}
	if taken[-1] != maxOther || taken[own+1] != maxOther || taken[own+2] != maxOther || taken[own+3] != maxOthers-3*maxOther {
		t.Errorf("others have these places: %v", taken)
	}
	for i := range maxOwn {
		if !p.take(own) {
			t.Fatalf("the operator has %d places", i)
		}
	}
	if p.take(own) {
		t.Error("there is no end of the operator's places")
	}
	p.free(own)
	p.free(own + 1)
	if !p.take(own) || p.take(own+2) || !p.take(own+3) {
		t.Error("a place that was given back is not free")
	}
}

// What is over the bound is closed at once, and a connection that is closed gives its place back.
func TestPlacesOfConnections(t *testing.T) {
	f := newFramed(t)
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", f.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	var open []net.Conn
	for range maxOwn {
		open = append(open, dial())
	}
	if _, err := dial().Read(make([]byte, 1)); err == nil {
		t.Error("one more connection than there are places is answered")
	}
	_ = open[0].Close()
	for late := time.Now().Add(hangs); ; { // until the server has seen that
		c := dial()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err == nil {
			if _, err := c.Read(make([]byte, 1)); err == nil {
				return
			}
		}
		if time.Now().After(late) {
			t.Fatal("a connection that was closed keeps its place")
		}
	}
}
