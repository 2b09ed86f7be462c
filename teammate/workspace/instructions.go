package workspace

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/coveyteam/covey/hooks/texts"
)

// Bounds on instructions: a model reads all of them with each request.
const (
	maxInstructionFile  = 64 << 10  // bytes of one file
	maxInstructionBytes = 256 << 10 // of all files read at the start
	maxIncludeDepth     = 5
)

// Instructions are the files that tell agents how to work in a workspace: AGENTS.md,
// CLAUDE.md, .claude/CLAUDE.md and CLAUDE.local.md of the workspace and of the folders
// above it up to the repository's, and the files that they include by @path. They are
// immutable after ReadInstructions, and members share them.
type Instructions struct {
	Files []InstructionFile
	Notes []string // for people: what was left out, and why

	root   string                 // the workspace, with symbolic links followed
	top    string                 // the only folder to read from, with symbolic links followed
	denied func(path string) bool // files that the member may not read; nil: none
}

// InstructionFile is one file of instructions.
type InstructionFile struct {
	Path   string
	Kind   string // memory_type: Project or Local
	Parent string // the file that included it; empty: none did
	text   string
}

// ReadInstructions reads the instructions of the workspace at root. top is the top of the
// repository that root is part of, or root. Both are absolute. It never fails: Notes list
// what could not be read.
func ReadInstructions(root, top string) *Instructions {
	in := &Instructions{root: Real(root), top: Real(top)}
	r := newInstructionReader(in.top, maxInstructionBytes)
	for _, dir := range downTo(in.top, in.root) {
		r.folder(dir)
	}
	in.Files, in.Notes = r.files, r.notes
	return in
}

// Text returns all instructions for a system prompt; empty if there are none.
func (in *Instructions) Text() string {
	if in == nil || len(in.Files) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("The workspace has instructions for those who work in it. Heed them:\n")
	for _, f := range in.Files {
		b.WriteString("\n" + f.Shown() + "\n")
	}
	return b.String()
}

// Shown returns the file as a model sees it.
func (f InstructionFile) Shown() string { return "Contents of " + f.Path + ":\n\n" + f.text }

// Without returns the instructions without the files that a member may not read, and
// without what those include. denied is also asked for files that are read later.
func (in *Instructions) Without(denied func(path string) bool) *Instructions {
	out := &Instructions{root: in.root, top: in.top, denied: denied}
	var notes []string
	out.Files, notes = permitted(in.Files, denied)
	out.Notes = slices.Concat(in.Notes, notes)
	return out
}

// permitted returns the files that a member may read, and notes about the others.
func permitted(all []InstructionFile, denied func(path string) bool) (files []InstructionFile, notes []string) {
	gone := map[string]bool{}
	for _, f := range all { // a file precedes those that it includes
		switch {
		case gone[f.Parent]:
			gone[f.Path] = true
		case denied != nil && denied(f.Path):
			gone[f.Path] = true
			notes = append(notes, noteOf("%s was not read: a permission rule denies it", f.Path))
		}
	}
	if len(gone) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(f InstructionFile) bool { return gone[f.Path] }), notes
}

// Nested reads the instructions of the folders below a workspace, each folder once, for
// one member.
type Nested struct {
	in   *Instructions
	read map[string]bool // nil: none
}

// Nested returns a reader for one member. A reader of nil Instructions reads nothing.
func (in *Instructions) Nested() *Nested { return &Nested{in: in} }

// To returns the instructions, not read before, of the folders between the workspace and
// a file, and notes for people.
func (n *Nested) To(path string) (files []InstructionFile, notes []string) {
	dir := filepath.Dir(Real(path))
	if n.in == nil || dir == n.in.root || !texts.Within(n.in.root, dir) {
		return nil, nil
	}
	for _, dir := range downTo(n.in.root, dir)[1:] {
		if n.read[dir] {
			continue
		}
		if n.read == nil {
			n.read = map[string]bool{}
		}
		n.read[dir] = true
		r := newInstructionReader(n.in.top, maxInstructionFile)
		for _, known := range n.in.Files {
			r.seen[Real(known.Path)] = true
		}
		r.folder(dir)
		here, more := permitted(r.files, n.in.denied)
		files, notes = append(files, here...), slices.Concat(notes, r.notes, more)
	}
	return files, notes
}

// instructionReader reads files of instructions, each once.
type instructionReader struct {
	top   string
	home  string          // the user's; empty: unknown
	room  int             // bytes that may still be read
	seen  map[string]bool // real paths, and texts, of what was read
	files []InstructionFile
	notes []string
}

// newInstructionReader returns a reader of files in top that reads up to room bytes.
func newInstructionReader(top string, room int) *instructionReader {
	r := &instructionReader{top: top, room: room, seen: map[string]bool{}}
	if home, err := os.UserHomeDir(); err == nil {
		r.home = Real(home)
	}
	return r
}

// private reports whether a file is in a hidden file or folder of the home, such as ~/.aws,
// where programs keep keys, and the workspace's repository is not.
func (r *instructionReader) private(place string) bool {
	rel, err := filepath.Rel(r.home, place)
	if err != nil || r.home == "" || !strings.HasPrefix(rel, ".") || strings.HasPrefix(rel, "../") {
		return false
	}
	hidden, _, _ := strings.Cut(rel, "/")
	return !texts.Within(filepath.Join(r.home, hidden), r.top)
}

// folder reads the instructions in one folder.
func (r *instructionReader) folder(dir string) {
	for _, name := range []string{"AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"} {
		kind := "Project"
		if name == "CLAUDE.local.md" {
			kind = "Local"
		}
		r.file(InstructionFile{Path: filepath.Join(dir, name), Kind: kind}, 0)
	}
}

// file reads f and what it includes.
func (r *instructionReader) file(f InstructionFile, depth int) {
	place := Real(f.Path)
	if r.seen[place] {
		return
	}
	info, err := os.Stat(place)
	if err != nil || !info.Mode().IsRegular() {
		return // most folders have none, and an @ may mean something else
	}
	if !texts.Within(r.top, place) {
		r.addNote("%s was not read: it lies outside of %s", f.Path, r.top)
		return
	}
	if (f.Parent != "" || place != f.Path) && r.private(place) {
		r.addNote("%s was not read: it is a hidden file of the home", f.Path)
		return
	}
	r.seen[place] = true
	if f.text, err = r.read(place); err != nil { // whoever works there may put links on its way only now
		r.addNote("%s was not read: %v", f.Path, err)
		return
	}
	// AGENTS.md and CLAUDE.md are often copies of each other.
	if f.text == "" || r.seen["\x00"+f.text] {
		return
	}
	r.seen["\x00"+f.text] = true
	r.files = append(r.files, f)
	for _, path := range includes(f.text) {
		path = texts.Absolute(filepath.Dir(f.Path), path)
		if depth == maxIncludeDepth {
			r.addNote("%s was not read: files may include each other %d deep", path, maxIncludeDepth)
			continue
		}
		r.file(InstructionFile{Path: path, Kind: f.Kind, Parent: f.Path}, depth+1)
	}
}

// read returns the text of one file, cut to the remaining room.
func (r *instructionReader) read(path string) (string, error) {
	limit := min(maxInstructionFile, r.room)
	name, err := filepath.Rel(r.top, path)
	if err != nil {
		return "", err
	}
	data, err := texts.ReadIn(r.top, name, limit+1)
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return "", fmt.Errorf("it is not text")
	}
	if len(data) > limit {
		data = data[:limit]
		for len(data) > 0 && !utf8.Valid(data[max(len(data)-utf8.UTFMax, 0):]) {
			data = data[:len(data)-1]
		}
		r.addNote("%s is too long: only its first %d bytes are read", path, len(data))
	}
	r.room -= len(data)
	return strings.TrimSpace(strings.ToValidUTF8(string(data), "\uFFFD")), nil
}

func (r *instructionReader) addNote(format string, args ...any) {
	r.notes = append(r.notes, noteOf(format, args...))
}

func noteOf(format string, args ...any) string { return fmt.Sprintf("instructions: "+format, args...) }

// includeMark matches @path at the start of a word.
var includeMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?:^|\\s)@([^\\s@`]+)") })

// includes returns the paths that a text includes, except those in code.
func includes(text string) []string {
	var paths []string
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		for i, part := range strings.Split(line, "`") {
			if i%2 == 1 {
				continue
			}
			for _, m := range includeMark().FindAllStringSubmatch(part, -1) {
				paths = append(paths, strings.TrimRight(m[1], ".,;:)"))
			}
		}
	}
	return paths
}
