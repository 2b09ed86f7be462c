package web

import (
	"context"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/term"
	termview "github.com/coveyteam/covey/cmd/covey/view"
)

// live is a page about one thing: parts that are replaced when they change, and a log to which
// lines are added. It belongs to one viewer.
type live interface {
	// whole draws all of the page, and says what a viewer has with it.
	whole(ctx context.Context) (body template.HTML, has mark, err error)
	// since draws what has changed for a viewer as HTML for htmx, and says what it has then. Unless
	// again is 0, it is to be called after that time also if the team does not change.
	since(ctx context.Context, has mark) (html string, now mark, again time.Duration, err error)
	// wake is signaled for changes that the feed does not know of. It may be nil.
	wake() <-chan struct{}
}

// mark is what a viewer of a live page has: lines of the log up to one of a journal, and parts in
// the versions of these sums. It is the id of an event. So the server keeps nothing of a viewer,
// and one that comes back gets what it misses.
type mark struct {
	journal string // see Page.journal
	line    uint64
	sums    []string // one for each part
}

// String returns the mark as the id of an event.
func (m mark) String() string {
	return fmt.Sprintf("%s-%d-%s", m.journal, m.line, strings.Join(m.sums, "."))
}

// markOf returns what the viewer that makes a request has: what its last event or else the address
// of its events says. Anything else is a mark of no journal.
func markOf(r *http.Request) mark {
	for _, text := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")} {
		part := strings.Split(text, "-")
		if len(part) != 3 {
			continue
		}
		if line, err := strconv.ParseUint(part[1], 10, 64); err == nil {
			return mark{journal: part[0], line: line, sums: strings.Split(part[2], ".")}
		}
	}
	return mark{}
}

// serverName names this server in ids of events.
func (p *Page) serverName() string { return p.guard.sign("stream")[:8] }

// journal names the journal that the page shows, and returns a channel that is closed with the
// next change. It is another one after `covey up --fresh`, and of another server.
func (p *Page) journal() (name string, next <-chan struct{}) {
	next = p.feed.Read(func(now termview.Now) {
		name = fmt.Sprintf("%s.%d", p.serverName(), now.Journal)
	})
	return name, next
}

// parts draws templates that are parts of a page. It returns those that a viewer with these sums
// does not have, as HTML for htmx, and the sums of all. A member cannot make two versions of a part
// with the same sum.
func (p *Page) parts(names []string, data any, sums []string) (changed string, now []string, err error) {
	var out strings.Builder
	for i, name := range names {
		html, err := p.board.execute(name, data)
		if err != nil {
			return "", nil, err
		}
		now = append(now, p.guard.sign(string(html))[:12])
		if i < len(sums) && sums[i] == now[i] {
			continue
		}
		out.WriteString(partial(name, "outerMorph", string(html)))
	}
	return out.String(), now, nil
}

// partial wraps a piece of a page for htmx, which puts it to the element with that id.
func partial(id, swap, piece string) string {
	return `<hx-partial hx-target="#` + id + `" hx-swap="` + swap + `">` + piece + "</hx-partial>"
}

// streamLive sends what changes on a live page. A viewer of another journal gets all of the page
// anew, as soon as what it shows is there.
func (p *Page) streamLive(w http.ResponseWriter, r *http.Request, page live) {
	s, closeIt, err := p.openStream(w)
	if err != nil {
		fail(w, r, err)
		return
	}
	defer closeIt()
	has, trouble := markOf(r), ""
	for r.Context().Err() == nil {
		name, next := p.journal()
		update, now, again, err := p.update(r.Context(), page, has, name)
		if err != nil { // what the page shows is not there, or not yet
			update, now = lost(err), mark{}
		}
		if update != "" && update != trouble && s.send(now.String(), update) != nil {
			return
		}
		has = now
		switch {
		case err != nil:
			trouble = update // it is told once
		case update != "":
			trouble = ""
		}
		if !s.wait(r.Context(), waiting{next: next, wake: page.wake(), again: again, gather: soon}) {
			return
		}
	}
}

// lost returns in place of a page why it cannot be shown.
func lost(err error) string {
	return partial("main", "innerHTML", `<section><p class="bad">`+html.EscapeString(term.PlainLine(err.Error()))+"</p></section>")
}

// update draws what a viewer misses: all of the page, or what has changed since.
func (p *Page) update(ctx context.Context, page live, has mark, journal string) (string, mark, time.Duration, error) {
	if has.journal == journal {
		return page.since(ctx, has)
	}
	body, now, err := page.whole(ctx)
	return partial("main", "innerHTML", string(body)), now, 0, err
}
