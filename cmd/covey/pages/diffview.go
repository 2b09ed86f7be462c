package pages

import (
	"fmt"
	"slices"

	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/tasks"
)

// Work is the changes of a task.
type Work struct {
	Task  tasks.Task
	Diff  merging.Diff
	Files []hints.FileDiff
	// Revised are the changes since the version that was sent back.
	Revised []hints.FileDiff
	None    string // why there are no changes
	Fault   string // why they cannot be read
}

// Name returns the path of a file below the workspace.
func (w Work) Name(f hints.FileDiff) string { return merging.Below(w.Diff.Prefix, f.Name) }

// Bounds are how many lines of differences a page shows.
type Bounds struct{ File, All int }

const (
	openLines = 120 // a file with more is folded
	maxFiles  = 500 // files of a task
)

// DiffView is the work on a task as differences.
type DiffView struct {
	Title    string
	None     string // why there are none
	With     string // the task at which the same differences are shown
	Fault    string // why they cannot be read
	Withheld string
	Added    int
	Removed  int
	Count    int
	Files    []FileView // what needs a look first comes first
	Revised  []FileView // what has changed since the work was sent back
	Omitted  int        // files that are not shown
	Cut      bool       // more is left out
	Viewed   int        // files that a person has looked at
}

// FileView is one file of it.
type FileView struct {
	hints.FileDiff
	Flags []string     // words of the marks about it
	Other bool         // only other work changes it, which the merge brings
	Open  bool         // it is not folded
	Parts []hints.Hunk // what is shown of the hunks
	Left  int          // lines that are not shown
	Task  string       // of the link that shows them
	Shown string       // its path below the workspace
	// Sum stands for the changes, so that a file which changes again is not one that was viewed.
	Sum    string
	Viewed bool
}

// NewDiffView lays out work. Files with marks come first and are open; those that only other work changes come last, folded.
func NewDiffView(w Work, found []hints.Hint, b Bounds) DiffView {
	v := DiffView{
		Title: w.Diff.Title, None: w.None, Fault: w.Fault, Withheld: w.Diff.Withheld, Count: len(w.Files),
	}
	flags := map[string][]string{}
	for _, h := range found {
		for _, p := range h.Places {
			if h.Mark && !slices.Contains(flags[p.File], h.Word) {
				flags[p.File] = append(flags[p.File], h.Word)
			}
		}
	}
	for _, f := range w.Files {
		v.Added, v.Removed = v.Added+f.Added, v.Removed+f.Removed
		name := w.Name(f)
		v.Files = append(v.Files, FileView{FileDiff: f, Task: w.Task.ID, Shown: name, Flags: flags[name],
			Other: len(w.Diff.Own) > 0 && !slices.Contains(w.Diff.Own, name)})
	}
	place := func(f FileView) int {
		switch {
		case f.Other:
			return 2
		case len(f.Flags) > 0:
			return 0
		}
		return 1
	}
	for _, f := range w.Revised[:min(len(w.Revised), maxFiles)] {
		one := FileView{FileDiff: f, Task: w.Task.ID, Shown: w.Name(f), Open: f.Total <= openLines}
		one.Parts, one.Left = hints.CutHunks(f.Hunks, 0, min(b.File, b.All))
		b.All -= f.Total - one.Left
		v.Revised = append(v.Revised, one)
	}
	slices.SortStableFunc(v.Files, func(a, b FileView) int { return place(a) - place(b) })
	v.Omitted = max(0, len(v.Files)-maxFiles)
	v.Files = v.Files[:len(v.Files)-v.Omitted]
	for i := range v.Files {
		f := &v.Files[i]
		f.Parts, f.Left = hints.CutHunks(f.Hunks, 0, min(b.File, b.All))
		b.All -= f.Total - f.Left
		f.Open = !f.Other && (f.Total <= openLines && f.Left == 0 || len(f.Flags) > 0)
	}
	return v
}

// HunkForm is a hunk with what the form below it needs.
type HunkForm struct {
	Page Commented
	File FileView
	Hunk hints.Hunk
}

// Commented is a Task, or a page that has one.
type Commented interface{ Comments() []Note }

// Note is a comment of a person on a place in the work, which is sent back with others.
type Note struct {
	ID   int
	File string // its path below the workspace
	Line int    // 0: the file as a whole
	Text string
	Sent bool // it went back with the work
}

// Place names the place.
func (n Note) Place() string {
	if n.Line == 0 {
		return n.File
	}
	return fmt.Sprintf("%s:%d", n.File, n.Line)
}

// Notes are the comments on lines of the hunk. Those that name no line of the file are on its first one.
func (h HunkForm) Notes() []Note {
	first, last := h.Hunk.New, h.Hunk.New
	for _, l := range h.Hunk.Lines {
		last = max(last, l.New, l.Old)
		first = min(first, max(l.New, l.Old))
	}
	return slices.DeleteFunc(slices.Clone(h.Page.Comments()), func(n Note) bool {
		return n.File != h.File.Shown || n.Line < first || n.Line > last
	})
}
