package hints

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// FileDiff is what a unified diff of git says about one file.
type FileDiff struct {
	Name           string // its path, relative to the top of the repository; of a deleted file, its last one
	Old            string // its earlier path, if it was renamed or copied
	What           FileChange
	Modes          string // "100644 → 100755" if its mode has changed
	Mode           string // its mode, which says whether it is a link or a submodule; of a deleted file, its last one
	Binary         bool
	Added, Removed int
	Hunks          []Hunk
	Total          int // in all hunks
}

// Size is how much a difference changes.
type Size struct {
	Files   int `json:"files"`
	Added   int `json:"added"` // lines
	Removed int `json:"removed"`
}

// SizeOf counts the changes of files.
func SizeOf(files []FileDiff) Size {
	n := Size{Files: len(files)}
	for _, f := range files {
		n.Added, n.Removed = n.Added+f.Added, n.Removed+f.Removed
	}
	return n
}

// FileChange describes what became of a file.
type FileChange string

// The changes of files.
const (
	Changed FileChange = "changed"
	Created FileChange = "new"
	Deleted FileChange = "deleted"
	Renamed FileChange = "renamed"
	Copied  FileChange = "copied"
)

// Hunk is a piece of a file with changed lines.
type Hunk struct {
	Old, New int    // numbers of the first lines
	Section  string // what git prints after the numbers
	Lines    []DiffLine
}

// DiffLine is a line of a hunk. Kind is ' ', '+', '-', or '\\' for a remark of git about the line
// before.
type DiffLine struct {
	Kind     byte
	Old, New int // numbers; 0: it is not in that file
	Text     string
}

// ParseDiff reads the output of git diff. It takes any text: what it does not know is left out.
// The texts of the result share the memory of text.
func ParseDiff(text string) []FileDiff {
	var files []FileDiff
	for i, part := range strings.Split("\n"+strings.TrimSuffix(text, "\n"), "\ndiff --git ") {
		if i > 0 { // before the first file git says nothing about one
			files = append(files, parseFile(part))
		}
	}
	return files
}

// fileParser reads what a diff says about a file, line by line. A line of a hunk has a sign before it, so
// that none looks like the beginning of another hunk or file.
type fileParser struct {
	FileDiff
	oldMode  string
	inHunk   bool
	old, new int // numbers of the next lines of the hunk
}

// parseFile reads what follows "diff --git ".
func parseFile(text string) FileDiff {
	names, text, _ := strings.Cut(text, "\n")
	f := fileParser{FileDiff: FileDiff{What: Changed}}
	f.Old, f.Name = bothNames(names)
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "@@ "):
			f.takeRange(line)
		case f.inHunk:
			f.takeLine(line)
		case len(f.Hunks) == 0:
			f.takeHeader(line)
		}
	}
	if f.What != Renamed && f.What != Copied {
		f.Old = ""
	}
	return f.FileDiff
}

// takeHeader takes up a line before the hunks.
func (f *fileParser) takeHeader(line string) {
	word := func(prefix string) (string, bool) { return strings.CutPrefix(line, prefix) }
	if mode, ok := word("old mode "); ok {
		f.oldMode = mode
	} else if mode, ok := word("new mode "); ok {
		f.Modes, f.Mode = f.oldMode+" → "+mode, mode
	} else if mode, ok := word("new file mode "); ok {
		f.What, f.Mode = Created, mode
	} else if mode, ok := word("deleted file mode "); ok {
		f.What, f.Mode = Deleted, mode
	} else if sums, ok := word("index "); ok && f.Mode == "" {
		_, f.Mode, _ = strings.Cut(sums, " ")
	} else if name, ok := word("rename from "); ok {
		f.What, f.Old = Renamed, unquoted(name)
	} else if name, ok := word("copy from "); ok {
		f.What, f.Old = Copied, unquoted(name)
	} else if name, ok := word("rename to "); ok {
		f.Name = unquoted(name)
	} else if name, ok := word("copy to "); ok {
		f.Name = unquoted(name)
	} else if name, ok := word("--- "); ok && f.What == Deleted {
		f.Name = cmp.Or(sided(name), f.Name)
	} else if name, ok := word("+++ "); ok && f.What != Deleted {
		f.Name = cmp.Or(sided(name), f.Name)
	} else if _, ok := word("Binary files "); ok || line == "GIT binary patch" {
		f.Binary = true
	}
}

// hunkRange matches the beginning of a hunk: "@@ -1,2 +1,3 @@ section".
var hunkRange = texts.Pattern(`^@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@ ?`)

// takeRange begins a hunk.
func (f *fileParser) takeRange(line string) {
	found := hunkRange().FindStringSubmatch(line)
	if f.inHunk = found != nil; !f.inHunk {
		return
	}
	f.old, _ = strconv.Atoi(found[1]) // the expression lets only numbers through
	f.new, _ = strconv.Atoi(found[2])
	f.Hunks = append(f.Hunks, Hunk{Old: f.old, New: f.new, Section: line[len(found[0]):]})
}

// takeLine takes up a line of a hunk.
func (f *fileParser) takeLine(line string) {
	l := DiffLine{Kind: ' '}
	if line != "" { // some programs strip the space of an empty line
		l.Kind, l.Text = line[0], line[1:]
	}
	switch l.Kind {
	case ' ':
		l.Old, l.New = f.old, f.new
		f.old, f.new = f.old+1, f.new+1
	case '-':
		l.Old = f.old
		f.Removed, f.old = f.Removed+1, f.old+1
	case '+':
		l.New = f.new
		f.Added, f.new = f.Added+1, f.new+1
	case '\\':
		l.Text = strings.TrimPrefix(l.Text, " ")
	default: // the text is damaged
		f.inHunk = false
		return
	}
	h := &f.Hunks[len(f.Hunks)-1]
	h.Lines = append(h.Lines, l)
	f.Total++
}

// bothNames splits the names of "diff --git a/NAME b/NAME", which are equal unless later lines
// say so.
func bothNames(names string) (old, now string) {
	if strings.HasPrefix(names, `"`) {
		if first, err := strconv.QuotedPrefix(names); err == nil {
			return sided(first), sided(strings.TrimPrefix(names[len(first):], " "))
		}
	}
	if before, after, ok := strings.Cut(names, ` "`); ok && strings.HasSuffix(names, `"`) {
		return sided(before), sided(`"` + after)
	}
	// Both are as long, with a space between them.
	if half := len(names) / 2; len(names)%2 == 1 && names[half] == ' ' {
		return sided(names[:half]), sided(names[half+1:])
	}
	before, after, _ := strings.Cut(names, " b/")
	return sided(before), after
}

// sided returns a name without the a/ or b/ before it; empty for /dev/null.
func sided(name string) string {
	name = unquoted(strings.TrimSuffix(name, "\t")) // git ends names with spaces by a tab
	if name == "/dev/null" {
		return ""
	}
	if len(name) > 2 && name[1] == '/' {
		return name[2:]
	}
	return name
}

// unquoted returns a name that git may have put in quotes, whose escapes are those of Go.
func unquoted(name string) string {
	if plain, err := strconv.Unquote(name); err == nil && strings.HasPrefix(name, `"`) {
		return plain
	}
	return name
}

// Class returns the class of a line's colour.
func (l DiffLine) Class() string {
	return map[byte]string{'+': "added", '-': "removed", '\\': "remark"}[l.Kind]
}

// Line returns the number of the first changed line of a hunk: the one to comment on.
func (h Hunk) Line() int {
	for _, l := range h.Lines {
		if l.Kind == '+' {
			return l.New
		}
	}
	for _, l := range h.Lines {
		if l.Kind == '-' {
			return l.Old
		}
	}
	return h.New
}

// maxColumn is how many bytes of a line CutHunks leaves.
const maxColumn = 2_000

// CutHunks returns a part of the lines of hunks, and how many lines follow it.
func CutHunks(all []Hunk, skip, room int) (part []Hunk, left int) {
	for _, h := range all {
		if skip >= len(h.Lines) {
			skip -= len(h.Lines)
			continue
		}
		h.Lines = h.Lines[skip:]
		skip = 0
		n := min(room, len(h.Lines))
		left += len(h.Lines) - n
		if room -= n; n == 0 {
			continue
		}
		h.Lines = slices.Clone(h.Lines[:n])
		for i := range h.Lines {
			if l := &h.Lines[i]; len(l.Text) > maxColumn {
				l.Text = strings.ToValidUTF8(l.Text[:maxColumn], "") + " …"
			}
		}
		part = append(part, h)
	}
	return part, left
}
