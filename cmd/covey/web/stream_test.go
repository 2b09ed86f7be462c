package web

import (
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
)

var eventsOf = regexp.MustCompile(`hx-sse:connect="([^"]+)"`)

// streamOf returns where the changes of a page come from.
func streamOf(t *testing.T, page string) string {
	t.Helper()
	found := eventsOf.FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("a page without events: %s", page)
	}
	return html.UnescapeString(found[1])
}

// A viewer gets what has changed since its page or its last event, whichever is later; one that
// comes from another server gets everything.
func TestStreamBoard(t *testing.T) {
	f := newFramed(t, "ana", "ben")
	f.follow()
	f.untilLine()
	path := streamOf(t, f.get("/"))
	f.add(says("ana", "I look."))
	f.untilLine()
	stream := f.events(path, "")
	id, data := stream.next()
	if !strings.Contains(data, `hx-target="#member-ana"`) || strings.Contains(data, "<section") || strings.Contains(data, "member-ben") {
		t.Errorf("after the page was loaded, ana has changed: %s", data)
	}
	f.add(says("ben", "So do I."))
	if _, data = stream.next(); !strings.Contains(data, "So do I.") || strings.Contains(data, "member-ana") {
		t.Errorf("then ben: %s", data)
	}
	_ = stream.Close()
	if _, data = f.events(path, id).next(); !strings.Contains(data, "So do I.") || strings.Contains(data, "member-ana") {
		t.Errorf("the event is later than the page: %s", data)
	}
	for _, other := range []string{"", "00000000-1", id + "x", strings.Split(id, "-")[1]} {
		if _, data = f.events("/events?after=11111111-7", other).next(); strings.Count(data, "<section") != 10 {
			t.Errorf("a viewer of another server with %q gets %d sections", other, strings.Count(data, "<section"))
		}
	}
}

// There is a bound of open streams. Whoever closes one makes room.
func TestTooManyStreams(t *testing.T) {
	f := newFramed(t, "ana")
	f.follow()
	f.untilLine()
	for range maxStreams - 1 {
		f.page.streams <- struct{}{}
	}
	last := f.events("/events", "")
	last.next()
	for _, path := range []string{"/events", "/member/ana/events"} {
		resp := f.ask("GET", path, nil)
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), fmt.Sprintf("%d pages of this team are open", maxStreams)) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, text)
		}
	}
	if !f.page.feed.Watched() {
		t.Error("nobody is counted as a viewer")
	}
	_ = last.Close()
	select {
	case f.page.streams <- struct{}{}: // its place
	case <-time.After(hangs):
		t.Fatal("a closed stream keeps its place")
	}
	if f.page.feed.Watched() {
		t.Error("a viewer that left is counted still")
	}
}

// A viewer that does not read holds up neither the feed nor other viewers.
func TestViewerThatDoesNotRead(t *testing.T) {
	f := newFramed(t, "ana")
	f.add(slices.Repeat([]events.Line{says("ana", strings.Repeat("x", maxText))}, 400)...) // more than a connection buffers
	f.follow()
	f.untilLine()
	conn, err := net.Dial("tcp", f.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /member/ana/events HTTP/1.1\r\nHost: %s\r\nCookie: %s=%s\r\n\r\n",
		f.server.Listener.Addr(), f.page.guard.cookie, f.page.guard.sign(ownCookie))
	f.wait(f.page.feed.Watched)
	other := f.events("/events", "")
	other.next()
	f.add(says("ana", "I go on."))
	f.untilLine()
	if _, data := other.next(); !strings.Contains(data, "I go on.") {
		t.Errorf("the other viewer gets %s", data)
	}
	stream := f.events("/member/ana/events", f.has(f.seq-1))
	if id, _ := stream.next(); lineOfID(id) != f.seq {
		t.Errorf("line %s, want %d", id, f.seq)
	}
}

// However text is broken into lines, an event stays one event.
func TestSendOfLines(t *testing.T) {
	f := newFramed(t, "ana")
	f.add(says("ana", "a\rid: 7\rb\r\nid: 8\n\nid: 9\n\n"))
	f.follow()
	f.untilLine()
	stream := f.events("/member/ana/events", f.has(1))
	if id, data := stream.next(); lineOfID(id) != 2 || strings.Count(data, "<article") != 1 {
		t.Errorf("event %s: %s", id, data)
	}
}
