package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/orchestrator/view"
)

// hangs is how long a test waits for what must happen at once.
const hangs = 2 * time.Minute

// framed is the page of a team that does not run. The test writes its journal, and tells the feed
// that it has grown.
type framed struct {
	*testing.T
	page   *Page
	place  state.Place
	server *httptest.Server
	wake   chan struct{}
	seq    int // of the last line
}

// newFramed starts the page of a team with a lead and these members.
func newFramed(t *testing.T, members ...string) *framed {
	t.Helper()
	teamtest.StateHome(t)
	place := teamtest.Place(t, "crew")
	page, err := Listen(&cli.Env{}, place, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &framed{T: t, page: page, place: place, wake: make(chan struct{}, 1), server: httptest.NewUnstartedServer(page.guard.wrap(page.routes()))}
	_ = f.server.Listener.Close() // the page has its own
	f.server.Listener, f.server.Config.ConnContext = page.listener, page.guard.connect
	f.server.Start()
	t.Cleanup(f.server.Close)
	f.add(started(members...)...)
	return f
}

// started returns the lines that begin a run.
func started(members ...string) []events.Line {
	names, _ := json.Marshal(append([]string{"lead"}, members...)) // strings can be encoded
	return []events.Line{teamtest.Line(0, "", "team_started", `{"goal":"Ship","members":`+string(names)+`}`)}
}

// says returns a line with what a member said.
func says(member, text string) events.Line {
	data, _ := json.Marshal(map[string]string{"text": text}) // strings can be encoded
	return teamtest.Line(0, member, "text", string(data))
}

// jsonText returns a text as JSON.
func jsonText(text string) string {
	data, _ := json.Marshal(text) // strings can be encoded
	return string(data)
}

// encoded returns lines of the journal as text, with the next numbers.
func (f *framed) encoded(lines ...events.Line) string {
	var text strings.Builder
	for _, l := range lines {
		f.seq++
		l.Seq = uint64(f.seq)
		if err := json.NewEncoder(&text).Encode(l); err != nil {
			f.Error(err)
		}
	}
	return text.String()
}

// write appends text to the journal.
func (f *framed) write(text string) {
	file, err := os.OpenFile(f.place.Journal(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.WriteString(text)
		_ = file.Close()
	}
	if err != nil {
		f.Error(err)
	}
	members.Signal(f.wake)
}

// add appends lines to the journal.
func (f *framed) add(lines ...events.Line) { f.write(f.encoded(lines...)) }

// follow lets the feed follow the journal until the file is replaced or the test ends.
func (f *framed) follow() (ended <-chan error) {
	done, all := make(chan error, 1), make(chan struct{})
	ctx, cancel := context.WithCancel(f.Context())
	f.Cleanup(func() { cancel(); <-all })
	go func() {
		defer close(all)
		done <- f.page.feed.Follow(ctx, f.wake)
	}()
	return done
}

// until waits until the feed knows something.
func (f *framed) until(known func(*view.State) bool) {
	f.Helper()
	f.untilNow(func(now termview.Now) bool { return known(now.State) })
}

// untilNow is until for more than the state.
func (f *framed) untilNow(known func(termview.Now) bool) {
	f.Helper()
	f.wait(func() (ok bool) {
		f.page.feed.Read(func(now termview.Now) { ok = known(now) })
		return ok
	})
}

// wait waits until something is true that only changes of the feed can make true.
func (f *framed) wait(ok func() bool) {
	f.Helper()
	late := time.After(hangs)
	for {
		next := f.page.feed.Read(func(termview.Now) {})
		if ok() {
			return
		}
		select {
		case <-next:
		case <-late:
			f.Fatal("the feed does not come to know it")
		}
	}
}

// untilLine waits until the feed has the last line that was written.
func (f *framed) untilLine() {
	f.Helper()
	f.until(func(s *view.State) bool { return s.Seq == uint64(f.seq) })
}

// ask makes a request as the operator's browser does, and follows no redirect.
func (f *framed) ask(method, path string, form url.Values, header ...string) *http.Response {
	f.Helper()
	r, err := http.NewRequestWithContext(f.Context(), method, f.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		f.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(&http.Cookie{Name: f.page.guard.cookie, Value: f.page.guard.sign(ownCookie)})
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// get returns a page, which must be there.
func (f *framed) get(path string) string {
	f.Helper()
	resp := f.ask("GET", path, nil)
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		f.Fatalf("%s: %d %s %v", path, resp.StatusCode, text, err)
	}
	return string(text)
}

// has returns the id of an event after which a viewer has the lines of a log up to a number, and no
// parts of the page.
func (f *framed) has(line int) string {
	journal, _ := f.page.journal()
	return mark{journal: journal, line: uint64(line)}.String()
}

// lineOfID returns the number of the last line that a viewer has after an event; 0: none.
func lineOfID(id string) int {
	r, _ := http.NewRequest(http.MethodGet, "/", nil) // never fails
	r.Header.Set("Last-Event-ID", id)
	return int(markOf(r).line)
}

// listening is a stream that a browser reads.
type listening struct {
	io.Closer
	f    *framed
	text *bufio.Reader
}

// events opens a stream. It returns when the first event or comment has come.
func (f *framed) events(path, last string) *listening {
	f.Helper()
	header := []string{"Accept", "text/event-stream"}
	if last != "" {
		header = append(header, "Last-Event-ID", last)
	}
	resp := f.ask("GET", path, nil, header...)
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || kind != "text/event-stream" {
		f.Fatalf("%s: %d, %s", path, resp.StatusCode, kind)
	}
	return &listening{resp.Body, f, bufio.NewReader(resp.Body)}
}

// next returns the next event. As in a browser, a line ends with CR, LF or both.
func (e *listening) next() (id, data string) {
	e.f.Helper()
	for {
		text, err := e.text.ReadString('\n')
		if err != nil {
			e.f.Fatalf("the stream ends: %v", err)
		}
		if text == "\n" && id != "" {
			return id, data
		}
		for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
			switch key, value, _ := strings.Cut(line, ": "); key {
			case "id":
				id += value
			case "data":
				data += value + "\n"
			case "", "data:":
			default:
				e.f.Fatalf("a field %q", fmt.Sprintf("%.80s", line))
			}
		}
	}
}
