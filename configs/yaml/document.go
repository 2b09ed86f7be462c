package yaml

import (
	"fmt"
	"path/filepath"

	"github.com/goccy/go-yaml/lexer"
)

// Document is a parsed YAML file with the problems that were found in it. An override
// file may be merged over it.
type Document struct {
	Root     *Node // nil if there is nothing to decode
	Problems []Problem
	src      *source
	over     *source // the override file, whose line numbers follow those of src; nil: none
}

// Parse parses a spec and records its problems in the document. The name is the file's
// in messages; if it ends in .json, data must be JSON.
func Parse(name string, data []byte) *Document { return ParseAs(spec(), name, data) }

// ParseAs is Parse for files of another form.
func ParseAs(form Form, name string, data []byte) *Document {
	src, at, message := newSource(name, data, form)
	d := &Document{src: src}
	if message != "" {
		d.Problems = []Problem{src.problem(at, message)}
		return d
	}
	tokens := lexer.Tokenize(src.text)
	if d.Problems = guard(src, tokens); len(d.Problems) > 0 {
		return d
	}
	d.Root, d.Problems = parseYAML(src, tokens)
	if d.Root == nil && len(d.Problems) == 0 {
		d.Problems = []Problem{src.problem(Position{1, 1}, form.empty())}
	}
	return d
}

// empty is the problem of a file that holds no value.
func (f Form) empty() string { return fmt.Sprintf("the %s is empty; %s", f.Name, f.IfEmpty) }

// IsText reports whether YAML reads s as a text, and not as a number, say.
func IsText(s string) bool {
	root := Parse("", []byte(s)).Root
	return root != nil && root.Kind == TextKind
}

// ParseHead parses the YAML at the head of a Markdown file. ok is false if it is not a
// valid mapping.
func ParseHead(head string) (root *Node, ok bool) {
	d := Parse("", []byte(head))
	return d.Root, len(d.Problems) == 0 && d.Root.Kind == MappingKind
}

// Problem makes the Problem for a place in the document or in its override.
func (d *Document) Problem(at Position, message string) Problem {
	src, own := d.source(at)
	return src.problem(own, message)
}

// Origin returns the file that a position is in, and the position there.
func (d *Document) Origin(at Position) (file string, own Position) {
	src, own := d.source(at)
	return src.name, own
}

// source returns the text that a position is in, and the position there. It undoes shift.
func (d *Document) source(at Position) (*source, Position) {
	if above := len(d.src.lines); d.over != nil && at.Line > above {
		return d.over, Position{at.Line - above, at.Col}
	}
	return d.src, at
}

// Override merges a second file over the document: mappings key by key, all other
// values are replaced. Its problems have its own name and lines. A file that holds
// only comments changes nothing. It cannot change the top-level keys fixed if the document has them.
// Override may be called once, before d.Root is used.
func (d *Document) Override(name string, data []byte, fixed ...string) {
	over := Parse(name, data)
	if over.Root == nil && len(over.Problems) == 1 && over.Problems[0].Message == d.src.empty() {
		return
	}
	d.Problems = append(d.Problems, over.Problems...)
	if d.Root == nil || over.Root == nil {
		return
	}
	if over.Root.Kind != MappingKind {
		d.Problems = append(d.Problems, over.Problem(over.Root.At, "the override must be a mapping with keys of a spec"))
		return
	}
	for _, key := range fixed {
		if own, is := d.Root.Entry(key), over.Root.Entry(key); own.Key != nil && is.Key != nil {
			d.Problems = append(d.Problems, over.Problem(is.Key.At, fmt.Sprintf("%s of the spec holds (%s:%d), and nothing here can replace it; remove it",
				key, filepath.Base(d.src.name), own.Key.At.Line)))
		}
	}
	d.over = over.src
	over.Root.shift(len(d.src.lines))
	d.Root = lay(over.Root, d.Root)
}

// shift adds by to all line numbers of a tree. Lines of an override follow those of the
// document, so that a position tells which file it is in.
func (n *Node) shift(by int) {
	n.At.Line += by
	for _, item := range n.Items {
		item.shift(by)
	}
	for _, p := range n.Pairs {
		p.Key.shift(by)
		p.Value.shift(by)
	}
}

// lay merges the value over into under. A key with a null value removes the key. Lists
// are replaced as a whole, because their entries have no names. under is not changed;
// the result may share parts of it.
func lay(over, under *Node) *Node {
	if over.Kind != MappingKind || under.Kind != MappingKind {
		return over
	}
	out := *under
	out.Pairs = append([]Pair(nil), under.Pairs...)
	seen := map[string]bool{}
	for _, p := range over.Pairs {
		i := indexOf(out.Pairs, p.Key.Text)
		switch {
		case seen[p.Key.Text] || i < 0:
			out.Pairs = append(out.Pairs, p) // a duplicate is reported when it is decoded
		case p.Value.Kind == NullKind:
			out.Pairs = append(out.Pairs[:i], out.Pairs[i+1:]...)
		default:
			out.Pairs[i] = Pair{p.Key, lay(p.Value, out.Pairs[i].Value)}
		}
		seen[p.Key.Text] = true
	}
	return &out
}

// indexOf returns the index of the first entry with the key, or -1.
func indexOf(pairs []Pair, key string) int {
	for i, p := range pairs {
		if p.Key.Text == key {
			return i
		}
	}
	return -1
}
