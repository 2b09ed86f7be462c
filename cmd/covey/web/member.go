package web

import (
	"context"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/coveyteam/covey/cmd/covey/pages"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/events"
)

// memberPage is a member with its log.
type memberPage struct {
	Form   string
	Up     bool
	Data   pages.MemberRow
	Log    log
	Live   bool // the newest lines are shown, and more will come
	Drafts []logLine
}

// memberParts are the parts of the page that are replaced while it is open. The forms are a part by
// themselves, because somebody may be typing.
var memberParts = []string{"member-who", "member-acts"}

// read reads what the State says about the member.
func (m *memberLive) read() (*memberPage, error) {
	p, name := m.page, m.name
	one := &memberPage{Form: p.guard.formToken()}
	found := false
	p.feed.Read(func(now termview.Now) {
		one.Up = now.Status != nil
		for _, m := range now.State.Roster(now.Absent == nil) {
			if m.Name == name {
				one.Data, found = pages.RowOf(now.State, m, now.State.Graph()), true
			}
		}
	})
	if !found {
		return nil, refuse(http.StatusNotFound, "team %s has no member %q", p.place.Team, name)
	}
	return one, nil
}

// showMember answers with the page of a member.
func (p *Page) showMember(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	before, _ := strconv.ParseUint(r.URL.Query().Get("before"), 10, 64) // anything else is the end
	m := &memberLive{page: p, name: name}
	body, has, err := m.draw(before)
	if err != nil {
		fail(w, r, err)
		return
	}
	s := shell{Title: name, Body: body}
	if before == 0 {
		s.Events = p.guard.root + "/member/" + url.PathEscape(name) + "/events?after=" + url.QueryEscape(has.String())
	}
	p.show(w, r, s)
}

// streamMember sends what changes on the page of a member: its state, the lines of its log as they
// are written, and before that the text that its model is writing.
func (p *Page) streamMember(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	m := &memberLive{page: p, name: r.PathValue("name"), pen: newReader(), said: map[string]uint64{}}
	ended := make(chan struct{})
	defer func() { cancel(); <-ended }()
	go func() {
		defer close(ended)
		m.pen.run(ctx, p.place, m.name)
	}()
	p.streamLive(w, r, m)
}

// memberLive is the page of a member for one viewer. It implements live.
type memberLive struct {
	page *Page
	name string

	// The rest is for a stream only.
	pen  *draftReader
	said map[string]uint64 // by helper: the line of its last text
	sent string            // the drafts that the viewer has
}

// draw draws the page with the lines before a number; 0 is the end.
func (m *memberLive) draw(before uint64) (template.HTML, mark, error) {
	has := mark{}
	has.journal, _ = m.page.journal()
	one, err := m.read()
	if err != nil {
		return "", has, err
	}
	if one.Log, err = m.page.tail(before, termview.Concerns(m.name)); err != nil {
		return "", has, err
	}
	one.Live = before == 0
	has.line = one.Log.Last
	if _, has.sums, err = m.page.parts(memberParts, one, nil); err != nil {
		return "", has, err
	}
	body, err := m.page.board.execute("memberpage", one)
	return body, has, err
}

// whole implements live.
func (m *memberLive) whole(context.Context) (template.HTML, mark, error) {
	clear(m.said)
	m.sent = ""
	return m.draw(0)
}

// since implements live.
func (m *memberLive) since(_ context.Context, has mark) (html string, now mark, again time.Duration, err error) {
	one, err := m.read()
	if err != nil {
		return "", has, 0, err
	}
	concerns := termview.Concerns(m.name)
	lines, last, more, err := m.page.linesBetween(has.line, math.MaxUint64, func(e events.Event) bool {
		if _, ok := e.Data.(events.TextSaid); ok && e.Member == m.name {
			m.said[e.Helper] = e.Seq
		}
		return concerns(e)
	})
	if err != nil {
		return "", has, 0, err
	}
	if lines != "" {
		html = partial("log", "beforeend", lines)
	}
	changed, sums, err := m.page.parts(memberParts, one, has.sums)
	if err != nil {
		return "", has, 0, err
	}
	draft, err := m.drafts()
	if err != nil {
		return "", has, 0, err
	}
	if more {
		again = termview.Gather
	}
	return html + changed + draft, mark{has.journal, last, sums}, again, nil
}

// drafts draws what the member and its helpers are writing, if it has changed.
func (m *memberLive) drafts() (string, error) {
	one := memberPage{Drafts: m.lines()}
	html, err := m.page.board.execute("draft", one)
	if err != nil || string(html) == m.sent || m.sent == "" && len(one.Drafts) == 0 {
		return "", err
	}
	m.sent = string(html)
	return partial("draft", "outerMorph", m.sent), nil
}

// lines returns what the member and its helpers are writing. A text that the journal has is shown
// as its line alone.
func (m *memberLive) lines() (list []logLine) {
	now := m.pen.drafting()
	for _, d := range now.Drafts {
		if e, ok := termview.DraftOf(d); ok && m.said[d.Helper] <= now.Seq {
			list = append(list, logLine{Who: e.Who, Text: e.Text})
		}
	}
	return list
}

// wake implements live.
func (m *memberLive) wake() <-chan struct{} { return m.pen.changed }
