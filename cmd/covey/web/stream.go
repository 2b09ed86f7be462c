package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	termview "github.com/coveyteam/covey/cmd/covey/view"
)

// beatEvery is how often a quiet stream sends a comment, so that both ends notice a lost
// connection.
const beatEvery = 15 * time.Second

// stream is an answer of server-sent events.
type stream struct {
	w    http.ResponseWriter
	ctrl *http.ResponseController
}

// openStream begins a stream, if there is room for one more. close must be called.
func (p *Page) openStream(w http.ResponseWriter) (s stream, closeIt func(), err error) {
	select {
	case p.streams <- struct{}{}:
	default:
		return s, nil, refuse(http.StatusServiceUnavailable,
			"%d pages of this team are open already; close some", maxStreams)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s = stream{w: w, ctrl: http.NewResponseController(w)}
	done := p.feed.Watch()
	// A browser counts as connected once it has an answer, which may not change for hours.
	if err := s.send("", ""); err != nil {
		done()
		<-p.streams
		return s, nil, fmt.Errorf("begin a stream: %w", err)
	}
	return s, func() {
		done()
		<-p.streams
	}, nil
}

// send sends an event with an id, or without one a comment. A viewer that does not read for
// writeTime is given up; its browser connects again.
func (s stream) send(id, data string) error {
	if err := s.ctrl.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	var text strings.Builder
	if id == "" {
		text.WriteString(": \n")
	} else {
		text.WriteString("id: " + id + "\n")
		for line := range strings.SplitSeq(data, "\n") {
			text.WriteString("data: " + strings.TrimSuffix(line, "\r") + "\n")
		}
	}
	text.WriteString("\n")
	if _, err := s.w.Write([]byte(text.String())); err != nil {
		return err
	}
	return s.ctrl.Flush()
}

// streamBoard sends the parts of the main page as they change. The id of an event names this
// server and the version of the board; a viewer that comes back with one gets what has changed
// since then, and with another, everything.
func (p *Page) streamBoard(w http.ResponseWriter, r *http.Request) {
	s, closeIt, err := p.openStream(w)
	if err != nil {
		fail(w, r, err)
		return
	}
	defer closeIt()
	name := p.serverName()
	seen := seenVersion(name, r.Header.Get("Last-Event-ID"))
	if seen == 0 {
		seen = seenVersion(name, r.URL.Query().Get("after"))
	}
	for r.Context().Err() == nil {
		html, version, next, err := p.board.since(seen)
		if err != nil || s.event(name, seen, version, html) != nil {
			return
		}
		seen = version
		if !s.wait(r.Context(), waiting{next: next, gather: p.board.wait}) {
			return
		}
	}
}

// event sends what has changed, if something has.
func (s stream) event(name string, seen, version uint64, html string) error {
	if version == seen || html == "" {
		return nil
	}
	return s.send(fmt.Sprintf("%s-%d", name, version), html)
}

// waiting is what a stream waits for.
type waiting struct {
	next   <-chan struct{}      // a change of the team
	wake   <-chan struct{}      // another change; may be nil
	again  time.Duration        // or that this time has passed; 0: never
	gather func() time.Duration // then it waits so long for more
}

// wait waits for a change. It reports whether the viewer is still there.
func (s stream) wait(ctx context.Context, on waiting) bool {
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	var over <-chan time.Time
	if on.again > 0 {
		over = time.After(on.again)
	}
	for {
		select {
		case <-on.next:
		case <-on.wake:
		case <-over:
		case <-beat.C:
			if s.send("", "") != nil {
				return false
			}
			continue
		case <-ctx.Done():
			return false
		}
		select {
		case <-time.After(on.gather()):
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// seenVersion returns the version that an event's id names; 0 if it is of another server.
func seenVersion(name, id string) uint64 {
	rest, ok := strings.CutPrefix(id, name+"-")
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(rest, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// soon is how long most pages gather changes.
func soon() time.Duration { return termview.Gather }
