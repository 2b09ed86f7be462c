package web

import (
	"fmt"
	"html/template"
	"net/http"
)

// shell is what a whole page is made of.
type shell struct {
	Title    string
	Form     string // the token of its forms
	Events   string // where its changes come from; empty: it does not change
	Sections []*section
	Body     template.HTML
	Said     string // the answer to the last action
}

// showBoard answers with the main page.
func (p *Page) showBoard(w http.ResponseWriter, r *http.Request) {
	sections, version, err := p.board.all()
	if err != nil {
		fail(w, r, err)
		return
	}
	p.show(w, r, shell{
		Title: p.place.Team, Sections: sections,
		Events: fmt.Sprintf("%s/events?after=%s-%d", p.guard.root, p.serverName(), version),
	})
}

// show answers with a page.
func (p *Page) show(w http.ResponseWriter, r *http.Request, s shell) {
	s.Form, s.Said = p.guard.formToken(), r.URL.Query().Get("said")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := p.tmpl.ExecuteTemplate(w, "page", s); err != nil {
		fail(w, r, err) // the connection is lost, or the page is half written: the text says so
	}
}
