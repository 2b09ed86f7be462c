package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/pages"
	"github.com/coveyteam/covey/orchestrator/merging"
)

// Bounds of differences: a page shows the beginning of each file, and one file has pages of its
// own.
const (
	fileLines = 300   // of one file on the page of a task
	pageLines = 2_000 // of all files on it
	openLines = 120   // a file with more is folded
	partLines = 2_000 // of one page of a file
	maxFiles  = 500   // files on the page of a task
)

// diffView is the work on a task as differences.
type diffView struct {
	Title    string
	None     string // why there are none
	Fault    string // why they cannot be read
	Withheld string
	Added    int
	Removed  int
	Count    int
	Files    []fileView // what needs a look first comes first
	Omitted  int        // files that are not shown
}

// fileView is one file of it.
type fileView struct {
	pages.FileDiff
	Flags []string     // words of the alarms about it
	Open  bool         // it is not folded
	Parts []pages.Hunk // what is shown of the hunks
	Left  int          // lines that are not shown
	Task  string       // of the link that shows them
	Shown string       // its path below the workspace
}

// viewDiff lays out the work that was found. Files with alarms come first and are open.
func viewDiff(w pages.Work, alarms []pages.Alarm) diffView {
	v := diffView{
		Title: w.Diff.Title, None: w.None, Fault: w.Fault, Withheld: w.Diff.Withheld, Count: len(w.Files),
	}
	flags := map[string][]string{}
	for _, a := range alarms {
		for _, name := range a.Files {
			name, _, _ = strings.Cut(name, ": ")
			if !a.Weak && !slices.Contains(flags[name], a.Word) {
				flags[name] = append(flags[name], a.Word)
			}
		}
	}
	for _, f := range w.Files {
		v.Added, v.Removed = v.Added+f.Added, v.Removed+f.Removed
		name := w.Name(f)
		v.Files = append(v.Files, fileView{FileDiff: f, Task: w.Task.ID, Shown: name, Flags: flags[name]})
	}
	slices.SortStableFunc(v.Files, func(a, b fileView) int {
		return min(len(b.Flags), 1) - min(len(a.Flags), 1)
	})
	v.Omitted = max(0, len(v.Files)-maxFiles)
	v.Files = v.Files[:len(v.Files)-v.Omitted]
	room := pageLines
	for i := range v.Files {
		f := &v.Files[i]
		f.Parts, f.Left = pages.CutHunks(f.Hunks, 0, min(fileLines, room))
		room -= f.Total - f.Left
		f.Open = f.Total <= openLines && f.Left == 0 || len(f.Flags) > 0
	}
	return v
}

// hunkForm is a hunk with what the form below it needs.
type hunkForm struct {
	Page *taskPage
	File fileView
	Hunk pages.Hunk
}

// showFile answers with one file of the work on a task, in parts.
func (p *Page) showFile(w http.ResponseWriter, r *http.Request) {
	one, err := p.taskPage(r.Context(), r.PathValue("id"))
	if err != nil {
		fail(w, r, err)
		return
	}
	found, _ := p.workOf(r.Context(), one)
	name := r.URL.Query().Get("name")
	i := slices.IndexFunc(found.Files, func(f pages.FileDiff) bool { return f.Name == name })
	if i < 0 {
		fail(w, r, refuse(http.StatusNotFound, "the work on task %s does not change %q", one.ID, name))
		return
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("from")) // anything else is the beginning
	from = max(from, 0)
	f := fileView{FileDiff: found.Files[i], Task: one.ID, Shown: found.Name(found.Files[i]), Open: true}
	f.Parts, f.Left = pages.CutHunks(f.Hunks, from, partLines)
	more := ""
	if f.Left > 0 {
		query := url.Values{"name": {name}, "from": {strconv.Itoa(from + partLines)}}
		more = p.guard.root + "/task/" + url.PathEscape(one.ID) + "/file?" + query.Encode()
		f.Left = 0
	}
	body, err := p.board.execute("taskfile", struct {
		Page *taskPage
		File fileView
		From int
		More string
	}{one, f, from, more})
	if err != nil {
		fail(w, r, err)
		return
	}
	p.show(w, r, shell{Title: f.Shown, Body: body})
}

// request returns which differences are the work on a task. Without finished work that is all that
// its owner has changed in its own working copy.
func (t *taskState) request() (r merging.DiffRequest, none string) {
	switch {
	case t.Merge != nil:
		return merging.DiffRequest{Task: t.ID}, ""
	case t.Unchanged:
		return r, "No file was changed."
	case t.Status == "in_progress" && t.Owner != "":
		return merging.DiffRequest{Member: t.Owner}, ""
	case t.Status == "completed":
		return r, "covey does not know which changes belong to it: its author works in a shared folder, " +
			"or its work is not taken from its working copy yet."
	}
	return r, "Nobody works on it."
}
