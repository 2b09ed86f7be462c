package web

import (
	"bytes"
	"html/template"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/view"
)

// board is the main page of a team as HTML, cut into parts. All viewers share it: it is drawn
// at most once for each change of the team, whoever asks first, and a viewer gets the parts
// that have changed since it last asked. So a slow viewer costs nothing, and misses nothing.
type board struct {
	feed   *feed
	tmpl   *template.Template
	form   string     // the token of the forms
	alarms *alarmBook // nil: none are known

	mu       sync.Mutex
	drawn    <-chan struct{} // closed when the team has changed since it was drawn
	at       time.Time       // when it was drawn
	version  uint64          // grows with each change of a part
	sections []*section
}

// section is a part of the page with rows that change by themselves.
type section struct {
	ID      string
	Class   string
	Title   string
	Head    template.HTML
	Rows    []row
	shape   string // all of it but the text of its rows
	changed uint64 // the version of its shape
}

// row is a piece of a section with an id of its own in the page.
type row struct {
	ID      string
	HTML    template.HTML
	changed uint64
}

// newBoard returns the board of a feed.
func newBoard(f *feed, t *template.Template, form string) *board {
	return &board{feed: f, tmpl: t, form: form}
}

// all returns the whole board and its version.
func (b *board) all() ([]*section, uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.draw()
	return b.sections, b.version, err
}

// since returns what has changed after a version as HTML for htmx, and the present version. The
// channel is closed when the team changes again.
func (b *board) since(seen uint64) (html string, version uint64, next <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.draw(); err != nil {
		return "", seen, b.drawn, err
	}
	var out strings.Builder
	for _, s := range b.sections {
		if s.changed > seen {
			if err := b.partial(&out, s.ID, func() error { return b.tmpl.ExecuteTemplate(&out, "section", s) }); err != nil {
				return "", seen, b.drawn, err
			}
			continue
		}
		for _, r := range s.Rows {
			if r.changed > seen {
				_ = b.partial(&out, r.ID, func() error { out.WriteString(string(r.HTML)); return nil })
			}
		}
	}
	return out.String(), b.version, b.drawn, nil
}

// partial wraps a piece of the page for htmx, which puts it in place of the one with its id.
func (b *board) partial(out *strings.Builder, id string, piece func() error) error {
	out.WriteString(`<hx-partial hx-target="#` + id + `" hx-swap="outerMorph">`)
	err := piece()
	out.WriteString("</hx-partial>")
	return err
}

// draw draws the board if the team has changed. b.mu is held.
func (b *board) draw() error {
	if b.drawn != nil {
		select {
		case <-b.drawn:
		default:
			return nil
		}
	}
	var fresh []*section
	var err error
	b.drawn = b.feed.read(func(s *view.State, now *api.Status, trouble string) {
		fresh, err = b.sectionsOf(s, now, trouble)
	})
	b.at = time.Now()
	if err != nil {
		return err
	}
	b.version++
	old := map[string]*section{}
	for _, s := range b.sections {
		old[s.ID] = s
	}
	for _, s := range fresh {
		s.mark(old[s.ID], b.version)
	}
	b.sections = fresh
	return nil
}

// mark sets in which version the parts of a section changed last.
func (s *section) mark(was *section, version uint64) {
	s.shape = s.Class + "\x00" + s.Title + "\x00" + string(s.Head)
	for _, r := range s.Rows {
		s.shape += "\x00" + r.ID
	}
	s.changed = version
	if was != nil && was.shape == s.shape {
		s.changed = was.changed
	}
	for i := range s.Rows {
		s.Rows[i].changed = version
		if s.changed < version && was.Rows[i].HTML == s.Rows[i].HTML {
			s.Rows[i].changed = was.Rows[i].changed
		}
	}
}

// execute returns a template as HTML.
func (b *board) execute(name string, data any) (template.HTML, error) {
	var out bytes.Buffer
	err := b.tmpl.ExecuteTemplate(&out, name, data)
	return template.HTML(out.String()), err //nolint:gosec // it was escaped by the template
}
