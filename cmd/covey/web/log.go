package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/report"
	"github.com/coveyteam/covey/cmd/covey/term"
	termview "github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/journal"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks/requests"
)

// Bounds of logs.
const (
	shownLines = 200
	maxText    = 20_000 // bytes of one line of a log; the rest is in `covey logs`
)

// logLine is a line of the journal for people.
type logLine struct {
	Seq   uint64
	Time  time.Time
	Who   string
	Class string
	Text  string
	Long  bool // Text is cut
}

// lineOf returns a line of the journal for people; false: it has no meaning for them.
func lineOf(l journal.Line) (logLine, bool) {
	e, ok := termview.EntryOf(l)
	if !ok {
		return logLine{}, false
	}
	one := logLine{Seq: l.Seq, Time: e.Time, Who: e.Who, Text: e.Text, Class: map[term.Style]string{
		term.Bold: "call", term.Faint: "quiet", term.Red: "bad", term.Green: "good", term.Yellow: "wait", term.Cyan: "turnline",
	}[e.Style]}
	if len(one.Text) > maxText {
		one.Text, one.Long = strings.ToValidUTF8(one.Text[:maxText], ""), true
	}
	return one, true
}

// log is a part of the journal that was chosen, the newest line last.
type log struct {
	Lines []logLine
	Older string // where older lines are; empty: there are none
	Last  uint64 // number of the last line that was read
}

// tail reads the last lines before a number that somebody wants to see; 0 is the end.
func (p *Page) tail(before uint64, wants func(journal.Line) bool) (log, error) {
	var found log
	for l, err := range journal.Backwards(p.place.Journal(), before) {
		if err != nil {
			return log{}, err
		}
		found.Last = max(found.Last, l.Seq)
		if !wants(l) {
			continue
		}
		if len(found.Lines) == shownLines {
			found.Older = fmt.Sprintf("?before=%d", found.Lines[len(found.Lines)-1].Seq)
			break
		}
		if one, ok := lineOf(l); ok {
			found.Lines = append(found.Lines, one)
		}
	}
	slices.Reverse(found.Lines)
	return found, nil
}

// memberPage is a member with its log.
type memberPage struct {
	Form string
	Up   bool
	Data report.MemberRow
	Log  log
	Live bool // the newest lines are shown, and more will come
}

// showMember answers with the page of a member.
func (p *Page) showMember(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	one := memberPage{Form: p.guard.formToken()}
	found := false
	p.feed.read(func(s *view.State, now *api.Status, _ string) {
		if m := s.Member(name); m != nil {
			copied := *m
			one.Data.Member, one.Up, found = &copied, now != nil, true
			one.Data.Word, one.Data.Class = report.MemberWord(m)
		}
	})
	if !found {
		fail(w, r, refuse(http.StatusNotFound, "team %s has no member %q", p.place.Team, name))
		return
	}
	before, _ := strconv.ParseUint(r.URL.Query().Get("before"), 10, 64) // anything else is the end
	var err error
	if one.Log, err = p.tail(before, termview.Concerns(name)); err != nil {
		fail(w, r, err)
		return
	}
	one.Live = before == 0
	body, err := p.board.execute("memberpage", one)
	if err != nil {
		fail(w, r, err)
		return
	}
	s := shell{Title: name, Body: body}
	if one.Live {
		s.Events = fmt.Sprintf("/member/%s/events?after=%d", url.PathEscape(name), one.Log.Last)
	}
	p.show(w, r, s)
}

// streamMember sends the lines of a member as they are written. The id of an event is the number
// of its line, so that a viewer that comes back misses none and gets none twice.
func (p *Page) streamMember(w http.ResponseWriter, r *http.Request) {
	s, closeIt, err := p.openStream(w)
	if err != nil {
		fail(w, r, err)
		return
	}
	defer closeIt()
	after, err := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64)
	if err != nil {
		after, _ = strconv.ParseUint(r.URL.Query().Get("after"), 10, 64) // without a number: all lines
	}
	wants := termview.Concerns(r.PathValue("name"))
	for r.Context().Err() == nil {
		next := p.feed.read(func(*view.State, *api.Status, string) {})
		var lines strings.Builder
		last := after
		for l, err := range journal.Read(p.place.Journal(), after) {
			var damaged *journal.LineError
			if errors.As(err, &damaged) {
				continue
			}
			if err != nil {
				break // the file was replaced: the next look reads on
			}
			last = l.Seq
			one, ok := lineOf(l)
			if !ok || !wants(l) {
				continue
			}
			html, err := p.board.execute("logline", one)
			if err != nil {
				return
			}
			lines.WriteString(string(html))
			if lines.Len() > 1<<20 {
				break
			}
		}
		if lines.Len() > 0 {
			piece := `<hx-partial hx-target="#log" hx-swap="beforeend">` + lines.String() + "</hx-partial>"
			if s.send(strconv.FormatUint(last, 10), piece) != nil {
				return
			}
		}
		after = last
		if lines.Len() <= 1<<20 && !s.wait(r.Context(), next, soon) {
			return
		}
	}
}

// showRequest answers with one question in full.
func (p *Page) showRequest(w http.ResponseWriter, r *http.Request) {
	list, err := cli.ReadInbox(r.Context(), p.place, api.InboxQuery{ID: r.PathValue("id")})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("team %s has never run", p.place.Team)
	}
	if err != nil {
		fail(w, r, refuse(http.StatusNotFound, "request %s: %v", r.PathValue("id"), err))
		return
	}
	body, err := p.board.execute("requestpage", struct {
		Form string
		Data requests.Request
		More string
	}{p.guard.formToken(), list[0], inbox.RequestText(list[0])})
	if err != nil {
		fail(w, r, err)
		return
	}
	p.show(w, r, shell{Title: list[0].ID, Body: body})
}
