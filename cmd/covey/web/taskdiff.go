package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/coveyteam/covey/cmd/covey/pages"
	"github.com/coveyteam/covey/orchestrator/hints"
)

// Bounds of differences: a page shows the beginning of each file, and one file has pages of its
// own.
const (
	fileLines = 300   // of one file on the page of a task
	pageLines = 2_000 // of all files on it
	partLines = 2_000 // of one page of a file
)

// showFile answers with one file of the work on a task, in parts.
func (p *Page) showFile(w http.ResponseWriter, r *http.Request) {
	one, err := p.taskPage(r.Context(), r.PathValue("id"))
	if err != nil {
		fail(w, r, err)
		return
	}
	found, _ := p.workOf(r.Context(), one)
	seen := p.reviews.of(one.ID)
	one.Notes, one.Sent = seen.notes, seen.sent
	name := r.URL.Query().Get("name")
	i := slices.IndexFunc(found.Files, func(f hints.FileDiff) bool { return f.Name == name })
	if i < 0 {
		fail(w, r, refuse(http.StatusNotFound, "the work on task %s does not change %q", one.ID, name))
		return
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("from")) // anything else is the beginning
	from = max(from, 0)
	f := pages.FileView{FileDiff: found.Files[i], Task: one.ID, Shown: found.Name(found.Files[i]), Open: true}
	f.Parts, f.Left = hints.CutHunks(f.Hunks, from, partLines)
	more := ""
	if f.Left > 0 {
		query := url.Values{"name": {name}, "from": {strconv.Itoa(from + partLines)}}
		more = p.guard.root + "/task/" + url.PathEscape(one.ID) + "/file?" + query.Encode()
		f.Left = 0
	}
	body, err := p.board.execute("taskfile", struct {
		Page *taskPage
		File pages.FileView
		From int
		More string
	}{one, f, from, more})
	if err != nil {
		fail(w, r, err)
		return
	}
	p.show(w, r, shell{Title: f.Shown, Body: body})
}
