package pages

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// FileDiff is what a unified diff of git says about one file.
type FileDiff struct {
	Name           string // its path, relative to the top of the repository; of a deleted file, its last one
	Old            string // its earlier path, if it was renamed or copied
	What           FileChange
	Modes          string // "100644 → 100755" if its mode has changed
	Binary         bool
	Added, Removed int
	Hunks          []Hunk
	Total          int // in all hunks
}

// FileChange says what became of a file.
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
	p := diffParser{rest: text}
	for p.next() {
		p.take()
	}
	return p.files
}

// diffParser reads a diff line by line.
type diffParser struct {
	rest, line string
	files      []FileDiff
	old, new   int // numbers of the next lines of the hunk
	oldLeft    int // lines that the hunk still has in each file
	newLeft    int
	oldMode    string
}

// next reads a line, and reports whether there is one.
func (p *diffParser) next() bool {
	if p.rest == "" {
		return false
	}
	p.line, p.rest, _ = strings.Cut(p.rest, "\n")
	return true
}

// take takes the line up. Within a hunk its numbers alone say how many lines follow, because a
// removed line may look like a header.
func (p *diffParser) take() {
	if p.oldLeft > 0 || p.newLeft > 0 {
		if p.takeLine() {
			return
		}
		p.oldLeft, p.newLeft = 0, 0 // the text is damaged; a header may follow
	}
	if names, ok := strings.CutPrefix(p.line, "diff --git "); ok {
		f := FileDiff{What: Changed}
		f.Old, f.Name = bothNames(names)
		p.files, p.oldMode = append(p.files, f), ""
		return
	}
	if len(p.files) == 0 {
		return
	}
	f := &p.files[len(p.files)-1]
	switch {
	case strings.HasPrefix(p.line, "@@ "):
		p.takeRange(f)
	case strings.HasPrefix(p.line, `\`) && len(f.Hunks) > 0:
		h := &f.Hunks[len(f.Hunks)-1]
		h.Lines = append(h.Lines, DiffLine{Kind: '\\', Text: strings.TrimPrefix(p.line, `\ `)})
	default:
		p.takeHeader(f)
	}
}

// takeHeader takes up a line before the hunks of a file.
func (p *diffParser) takeHeader(f *FileDiff) {
	word := func(prefix string) (string, bool) { return strings.CutPrefix(p.line, prefix) }
	if mode, ok := word("old mode "); ok {
		p.oldMode = mode
	} else if mode, ok := word("new mode "); ok {
		f.Modes = p.oldMode + " → " + mode
	} else if _, ok := word("new file mode "); ok {
		f.What = Created
	} else if _, ok := word("deleted file mode "); ok {
		f.What = Deleted
	} else if name, ok := word("rename from "); ok {
		f.What, f.Old = Renamed, unquoted(name)
	} else if name, ok := word("rename to "); ok {
		f.Name = unquoted(name)
	} else if name, ok := word("copy from "); ok {
		f.What, f.Old = Copied, unquoted(name)
	} else if name, ok := word("copy to "); ok {
		f.Name = unquoted(name)
	} else if name, ok := word("--- "); ok && f.What == Deleted {
		f.Name = cmp.Or(sided(name), f.Name)
	} else if name, ok := word("+++ "); ok && f.What != Deleted {
		f.Name = cmp.Or(sided(name), f.Name)
	} else if _, ok := word("Binary files "); ok {
		f.Binary = true
	} else if p.line == "GIT binary patch" {
		f.Binary = true
	}
	if f.What != Renamed && f.What != Copied {
		f.Old = ""
	}
}

// takeRange begins a hunk: "@@ -1,2 +1,3 @@ section".
func (p *diffParser) takeRange(f *FileDiff) {
	ranges, section, ok := strings.Cut(p.line[len("@@ "):], " @@")
	before, after, two := strings.Cut(ranges, " ")
	if !ok || !two {
		return
	}
	var oldOK, newOK bool
	p.old, p.oldLeft, oldOK = lineRange(before, "-")
	p.new, p.newLeft, newOK = lineRange(after, "+")
	if !oldOK || !newOK {
		p.oldLeft, p.newLeft = 0, 0
		return
	}
	f.Hunks = append(f.Hunks, Hunk{Old: p.old, New: p.new, Section: strings.TrimPrefix(section, " ")})
}

// takeLine takes up a line of a hunk; false: it cannot be one.
func (p *diffParser) takeLine() bool {
	f := &p.files[len(p.files)-1]
	h := &f.Hunks[len(f.Hunks)-1]
	l := DiffLine{Kind: ' '}
	if p.line != "" { // some programs strip the space of an empty line
		l.Kind, l.Text = p.line[0], p.line[1:]
	}
	switch l.Kind {
	case ' ':
		l.Old, l.New = p.old, p.new
	case '-':
		l.Old = p.old
		f.Removed++
	case '+':
		l.New = p.new
		f.Added++
	case '\\':
		l.Text = strings.TrimPrefix(l.Text, " ")
	default:
		return false
	}
	if l.Old > 0 {
		p.old, p.oldLeft = p.old+1, p.oldLeft-1
	}
	if l.New > 0 {
		p.new, p.newLeft = p.new+1, p.newLeft-1
	}
	h.Lines = append(h.Lines, l)
	f.Total++
	return true
}

// maxLineNumber bounds what counts as a number of a line.
const maxLineNumber = 1 << 40

// lineRange reads "-12,3", or "-12" for one line. Line 0 of no lines stands for a file that is
// not there.
func lineRange(text, sign string) (first, count int, ok bool) {
	text, ok = strings.CutPrefix(text, sign)
	if !ok {
		return 0, 0, false
	}
	number, length, has := strings.Cut(text, ",")
	n, err := strconv.ParseUint(number, 10, 40)
	if err != nil {
		return 0, 0, false
	}
	many := uint64(1)
	if has {
		if many, err = strconv.ParseUint(length, 10, 40); err != nil {
			return 0, 0, false
		}
	}
	if n == 0 && many > 0 || n+many > maxLineNumber {
		return 0, 0, false
	}
	return int(n), int(many), true
}

// bothNames splits the names of "diff --git a/NAME b/NAME", which are equal unless later lines
// say so.
func bothNames(names string) (old, now string) {
	if strings.HasPrefix(names, `"`) || strings.HasSuffix(names, `"`) {
		if end := quotedEnd(names); end > 0 && end+1 < len(names) {
			return sided(names[:end]), sided(names[end+1:])
		}
		before, after, _ := strings.Cut(names, ` "`)
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

// quotedEnd returns where the quoted name ends with which a text begins; 0: there is none.
func quotedEnd(text string) int {
	if !strings.HasPrefix(text, `"`) {
		return 0
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// unquoted returns a name that git may have put in quotes, as in C.
func unquoted(name string) string {
	if len(name) < 2 || quotedEnd(name) != len(name) {
		return name
	}
	var b strings.Builder
	inner := name[1 : len(name)-1]
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' || i+1 == len(inner) {
			b.WriteByte(inner[i])
			continue
		}
		i++
		if at := strings.IndexByte(`abtnvfr"\`, inner[i]); at >= 0 {
			b.WriteByte("\a\b\t\n\v\f\r\"\\"[at])
			continue
		}
		if i+3 <= len(inner) {
			if n, err := strconv.ParseUint(inner[i:i+3], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(inner[i])
	}
	return b.String()
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
