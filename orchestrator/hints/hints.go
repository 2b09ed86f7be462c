// Package hints finds in finished work what a reviewer should look at first: tests that are gone,
// gates that the work itself changes, errors that are swallowed, secrets. It reads differences as
// git prints them, and nothing else: no file, no repository, no model.
//
// A hint is a fact about changed lines, never a verdict, and says nothing of what was meant. A mark
// is a reason to look before merging; a note is shown beside the work. Each kind is one small
// function over the work. What no rule knows is not hinted, so work without hints may be wrong, too.
package hints

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind names a kind of hint, in specs and in JSON.
type Kind string

// The kinds of hints about other work that a merge brings: that it does, and that a part of it was sent back.
const (
	Brings       Kind = "brings"
	UponReturned Kind = "builds-on-returned"
)

// Hint is one fact about work, with the places where it was found.
type Hint struct {
	Kind   Kind    `json:"kind"`
	Mark   bool    `json:"mark"` // a reason to look first; otherwise a note
	Word   string  `json:"word"` // two or three words, for tables
	Text   string  `json:"text"` // a sentence
	Places []Place `json:"places,omitempty"`
	More   int     `json:"more,omitempty"` // places that are left out
}

// Place is where a hint was found.
type Place struct {
	File string `json:"file"`           // below the workspace
	Line int    `json:"line,omitempty"` // in the new file, or in the old one if the line is gone; 0: the whole file
	Text string `json:"text,omitempty"` // the beginning of the line, or what was found
}

// mostPlaces bounds the places of one hint, MostShown those that its String has.
const (
	mostPlaces = 10
	MostShown  = 3
)

// String returns the place for people: "pkg/a_test.go:12: TestAdd".
func (p Place) String() string {
	text := p.At()
	if p.Text != "" {
		text += ": " + p.Text
	}
	return text
}

// At returns the file and the line.
func (p Place) At() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// String returns the hint for people, with its first places: "⚠ tests removed: Tests are … (a_test.go:3: TestX)".
// A note has no sign.
func (h Hint) String() string {
	text := h.Word + ": " + h.Text
	if h.Mark {
		text = "⚠ " + text
	}
	var places []string
	for _, p := range h.Places[:min(len(h.Places), MostShown)] {
		places = append(places, p.String())
	}
	if more := len(h.Places) + h.More - len(places); more > 0 {
		places = append(places, fmt.Sprintf("%d more", more))
	}
	if len(places) > 0 {
		text += " (" + strings.Join(places, "; ") + ")"
	}
	return text
}

// Is reports whether the hint is about a file.
func (h Hint) Is(file string) bool {
	return slices.ContainsFunc(h.Places, func(p Place) bool { return p.File == file })
}

// Lead reports whether work is to be looked at before other work: it has marks that are not about
// work which its merge brings. Those come and go with what becomes of that.
func Lead(list []Hint) bool {
	return slices.ContainsFunc(list, func(h Hint) bool { return h.Mark && h.Kind != Brings && h.Kind != UponReturned })
}

// Words returns the words of the marks, each once.
func Words(list []Hint) []string { return wordsOf(list, true) }

// NoteWords returns the words of the notes that are no words of marks, each once.
func NoteWords(list []Hint) []string {
	marks := Words(list)
	return slices.DeleteFunc(wordsOf(list, false), func(word string) bool { return slices.Contains(marks, word) })
}

func wordsOf(list []Hint, marks bool) []string {
	var words []string
	for _, h := range list {
		if h.Mark == marks && !slices.Contains(words, h.Word) {
			words = append(words, h.Word)
		}
	}
	return words
}

// Work is what hints are found in.
type Work struct {
	Files  []FileDiff // with names below the workspace
	Judges Judges     // what accepts the work
	Task   string     // what the author was asked for, in words

	new, old []spot // added lines that were not moved, and removed ones
}

// Judges are what decides whether work is accepted.
type Judges struct {
	// Files are the scripts that hooks and gates name, the spec with its override, and the
	// settings and plugins that it names, relative to the workspace. A folder stands for all
	// files in it.
	Files []string
	// Data are the files that the scripts name and read, relative to the workspace.
	Data []string
	// Programs are the names of the programs that the commands may run: all their words,
	// without folders.
	Programs []string
	// Targets are the names of the targets of Makefiles and of the scripts of package.json that the
	// commands run, if they are known.
	Targets []string
}

// Include reports whether a file of the workspace is one of the files.
func (j Judges) Include(file string) bool {
	return slices.ContainsFunc(j.Files, func(f string) bool { return f == file || strings.HasPrefix(file, f+"/") })
}

// rule finds one kind of hint.
type rule struct {
	kind Kind
	mark bool
	word string
	text string
	find func(Work) []Place
}

// mostLines bounds the lines of differences that Find looks at, because it must not take minutes.
const mostLines = 100_000

// Find returns the hints about work, marks first, in the order of the rules. What is too large is
// looked at in part, which is a mark.
func Find(w Work) []Hint {
	var list []Hint
	whole := len(w.Files)
	for i, room := 0, mostLines; i < whole && len(w.Files) == whole; i++ {
		if room -= w.Files[i].Total; room < 0 {
			w.Files = w.Files[:i]
		}
	}
	w.new, w.old = w.unmatched('+', '-'), w.unmatched('-', '+')
	if left := whole - len(w.Files); left > 0 {
		list = append(list, Hint{Kind: "too-large", Mark: true, Word: "too large",
			Text: fmt.Sprintf("Not looked at: %d of %d files, because the work has more than %d lines.", left, whole, mostLines)})
	}
	for _, r := range rules() {
		places := r.find(w)
		places = slices.DeleteFunc(places, func(p Place) bool { // what a mark names is known already
			return slices.ContainsFunc(list, func(h Hint) bool {
				return h.Mark && (r.kind == "beyond-task" && h.Is(p.File) || r.kind == h.Kind && !r.mark && slices.Contains(h.Places, p))
			})
		})
		if h, ok := New(r.kind, r.mark, r.word, r.text, places); ok {
			list = append(list, h)
		}
	}
	Sort(list)
	return list
}

// New returns a hint about places; ok is false if there are none.
func New(kind Kind, mark bool, word, text string, places []Place) (h Hint, ok bool) {
	shown := places[:min(len(places), mostPlaces)]
	return Hint{Kind: kind, Mark: mark, Word: word, Text: text, Places: shown, More: len(places) - len(shown)}, len(places) > 0
}

// Join returns the hints of both lists, each once and marks first.
func Join(list, more []Hint) []Hint {
	list = slices.Clone(list)
	for _, h := range more {
		if !slices.ContainsFunc(list, func(o Hint) bool { return o.Kind == h.Kind && o.Text == h.Text }) {
			list = append(list, h)
		}
	}
	Sort(list)
	return list
}

// Sort puts marks first and leaves the order otherwise.
func Sort(list []Hint) {
	rank := map[bool]int{true: 0, false: 1}
	slices.SortStableFunc(list, func(a, b Hint) int { return cmp.Compare(rank[a.Mark], rank[b.Mark]) })
}
