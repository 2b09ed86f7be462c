package web

import (
	"html/template"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/cmd/covey/pages"
	termview "github.com/coveyteam/covey/cmd/covey/view"
)

// board is the main page of a team as HTML, cut into parts. All viewers share it: it is drawn
// at most once for each change of the team, whoever asks first, and a viewer gets the parts
// that have changed since it last asked. So a slow viewer costs nothing, and misses nothing.
type board struct {
	feed *termview.Feed
	tmpl *template.Template
	form string // the token of the forms

	mu       sync.Mutex
	drawn    <-chan struct{} // closed when the team has changed since it was drawn
	due      time.Time       // no viewer needs it drawn anew before
	version  uint64          // grows with each change of a part
	sections []*section
	rows     pages.Rows // of the last drawing
	kept     []*pages.Section
	about    drawnOf // what kept was drawn of
	places   map[string]bool
}

// drawnOf stands for what the sections of tasks, merges and mail are drawn of.
type drawnOf struct {
	journal, work, nudged uint64
	runs                  bool
}

// section is a section of the page with the versions in which it changed last.
type section struct {
	*pages.Section
	changed uint64   // the version of all of it but the text of its rows
	rows    []uint64 // the version of each row
}

// newBoard returns the board of a feed.
func newBoard(f *termview.Feed, t *template.Template, form string) *board {
	return &board{feed: f, tmpl: t, form: form}
}

// share is what part of the time is spent on drawing a board, at most: a fortieth. So a page that
// is open costs about as much of a large team as of a small one, and less on a busy machine.
const (
	share    = 40
	longWait = 2 * time.Second // a viewer waits no longer than this
)

// all returns the whole board and its version.
func (b *board) all() ([]*section, uint64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places, b.kept, b.drawn = map[string]bool{}, nil, nil // a page that is opened has all that is decided in the fold
	err := b.draw()
	return b.sections, b.version, err
}

// since returns what has changed after a version as HTML for htmx, and the present version. The
// channel is closed when the team changes again.
func (b *board) since(seen uint64) (html string, version uint64, next <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.redraw(); err != nil {
		return "", seen, b.drawn, err
	}
	var out strings.Builder
	for _, s := range b.sections {
		if s.changed > seen {
			html, err := b.execute("section", s)
			if err != nil {
				return "", seen, b.drawn, err
			}
			out.WriteString(partial(s.ID, "outerMorph", string(html)))
			continue
		}
		for i, r := range s.Rows {
			if s.rows[i] > seen {
				out.WriteString(partial(r.ID, "outerMorph", string(r.HTML)))
			}
		}
	}
	return out.String(), b.version, b.drawn, nil
}

// wait returns how long a viewer waits after a change before it asks what has changed.
func (b *board) wait() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(termview.Gather, time.Until(b.due))
}

// redraw draws the board for a viewer that has an older one: not so soon after it was drawn for
// another viewer. b.mu is held.
func (b *board) redraw() error {
	if b.drawn != nil && time.Now().Before(b.due) {
		return nil
	}
	began := time.Now()
	err := b.draw()
	b.due = time.Now().Add(min(share*time.Since(began), longWait))
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
	var fresh []*pages.Section
	var err error
	b.drawn = b.feed.Read(func(now termview.Now) {
		s := now.State
		about := drawnOf{now.Journal, s.Work, now.Nudged, now.Status != nil}
		if about != b.about {
			b.kept, b.about = nil, about
		}
		d := pages.Drawing{
			State: s, Now: now.Status, Stopped: now.Absent != nil, Trouble: troubleText(now.Trouble),
			Templates: b.tmpl, Form: b.form,
			Before: b.rows, Kept: b.kept, Places: b.places,
		}
		fresh, err = d.Sections()
		b.rows = d.Rows()
	})
	b.kept = fresh // nil after an error
	if err != nil {
		return err
	}
	b.version++
	old := map[string]*section{}
	for _, s := range b.sections {
		old[s.ID] = s
	}
	b.sections = nil // viewers may still read the old list
	for _, s := range fresh {
		b.sections = append(b.sections, marked(s, old[s.ID], b.version))
	}
	return nil
}

// troubleText returns what a feed cannot read; empty: nothing.
func troubleText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// marked returns a section with the versions of its parts, after the same section as it was
// before, which may be nil.
func marked(now *pages.Section, was *section, version uint64) *section {
	s := &section{Section: now, changed: version, rows: slices.Repeat([]uint64{version}, len(now.Rows))}
	sameID := func(a, b pages.Row) bool { return a.ID == b.ID }
	if was == nil || was.Class != s.Class || was.Title != s.Title || was.Head != s.Head || was.Fold != s.Fold || was.Open != s.Open ||
		!slices.EqualFunc(was.Rows, s.Rows, sameID) {
		return s
	}
	s.changed = was.changed
	for i := range s.Rows {
		if was.Rows[i].HTML == s.Rows[i].HTML {
			s.rows[i] = was.rows[i]
		}
	}
	return s
}

// execute returns a template as HTML.
func (b *board) execute(name string, data any) (template.HTML, error) {
	return pages.Execute(b.tmpl, name, data)
}
