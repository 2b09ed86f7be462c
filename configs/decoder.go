package configs

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml/lexer"
)

// decoder walks the tree of a spec by tables of fields and gathers everything
// that is wrong, so that people see all their mistakes at once.
//
// The rules by which messages are written: one mistake, one message; the place
// is the value that is wrong, or the key if the key is; what is wrong comes
// first and what to write instead last, as text that can be typed. Text of the
// spec stands in quotes, cut if it is long.
type decoder struct {
	src      *source
	root     *node // nil if there is nothing to decode
	problems []Problem
	warnings []Problem
}

// newDecoder reads data up to its tree. Problems that leave no tree worth
// looking at are in the decoder, and its root is nil.
func newDecoder(name string, data []byte) *decoder {
	src, at, message := newSource(name, data)
	d := &decoder{src: src}
	if message != "" {
		d.fail(at, "%s", message)
		return d
	}
	tokens := lexer.Tokenize(src.text)
	if d.problems = guard(src, tokens); len(d.problems) > 0 {
		return d
	}
	root, problems := parseYAML(src, tokens)
	d.problems = problems
	if root == nil && len(problems) == 0 {
		d.fail(position{1, 1}, emptySpec)
	}
	d.root = root
	return d
}

// emptySpec is what is wrong with a file in which nothing is said.
const emptySpec = "the spec is empty; `covey init` writes one that runs"

// fail records a problem.
func (d *decoder) fail(at position, format string, args ...any) {
	d.problems = append(d.problems, d.src.problem(at, fmt.Sprintf(format, args...)))
}

// warn records what is legal and looks like a mistake.
func (d *decoder) warn(at position, format string, args ...any) {
	d.warnings = append(d.warnings, d.src.problem(at, fmt.Sprintf(format, args...)))
}

// field is one key of a mapping: the single source for decoding, for messages
// and for the JSON Schema.
type field struct {
	key  string
	doc  string // what the key does; the schema's description
	part part
	need bool // the key must be there
}

// part is the value of a field: a place to put it, and what it must be like.
type part interface {
	// decode puts n into the part's place, or records what is wrong with it.
	// key is the key (or list entry) that n belongs to, for messages.
	decode(d *decoder, key, n *node)
	// want says what the part takes, to complete "it must be …".
	want() string
	schema() *schema
}

// object decodes a mapping whose keys are known. A key that was misspelt is not
// reported as missing as well; a key without a value is there.
func (d *decoder) object(key, n *node, fields []field) {
	if n.kind != kindMapping {
		d.wrong(key, n, "a mapping")
		return
	}
	before := len(d.problems)
	given, meant := map[string]bool{}, map[string]bool{}
	for _, p := range d.unique(n) {
		given[p.key.text] = true
		f := find(fields, p.key.text)
		switch {
		case f == nil:
			meant[d.unknownKey(p.key, fields)] = true
		case p.value.kind == kindNull:
			d.fail(p.key.at, "%s has no value; give it one, or remove the key", p.key.text)
		default:
			f.part.decode(d, p.key, p.value)
		}
	}
	for _, f := range fields {
		if f.need && !given[f.key] && !meant[f.key] {
			d.fail(n.at, "%s has no %s; add `%s:` with %s", nameOf(key), f.key, f.key, f.part.want())
		}
	}
	n.broken = len(d.problems) > before
}

// nameOf names what a key stands for; the spec itself has no key.
func nameOf(key *node) string {
	if key == nil {
		return "the spec"
	}
	return clip(key.text)
}

// unique is where JSON's and YAML's duplicates end: the parser lets them pass.

// unique returns the entries of a mapping without repetitions, which it reports.
func (d *decoder) unique(n *node) []pair {
	first := map[string]position{}
	var out []pair
	for _, p := range n.pairs {
		if at, twice := first[p.key.text]; twice {
			d.fail(p.key.at, "%s is here twice, first in %s; keep one", quote(p.key.text), d.lineOf(at, p.key.at))
			continue
		}
		first[p.key.text] = p.key.at
		out = append(out, p)
	}
	return out
}

// lineOf names a line for a message that stands at another place.
func (d *decoder) lineOf(at, from position) string {
	src, there := d.src.origin(at)
	if here, _ := d.src.origin(from); here != src {
		return fmt.Sprintf("line %d of %s", there.line, filepath.Base(src.name))
	}
	return fmt.Sprintf("line %d", there.line)
}

// find returns the field with the key, or nil.
func find(fields []field, key string) *field {
	for i := range fields {
		if fields[i].key == key {
			return &fields[i]
		}
	}
	return nil
}

// unknownKey reports a key that is none, and returns the one that was meant.
func (d *decoder) unknownKey(key *node, fields []field) string {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.key
	}
	if near := d.nearestKey(key.text, known); near != "" {
		d.fail(key.at, "unknown key %s; write %s", quote(key.text), near)
		return near
	}
	if home := homeOf(key.text, fields); home != "" {
		d.fail(key.at, "%s belongs under %s; write %s: {%s: …}", quote(key.text), home, home, key.text)
		return ""
	}
	d.fail(key.at, "unknown key %s; the keys here are %s", quote(key.text), strings.Join(known, ", "))
	return ""
}

// homeOf returns the field whose mapping has the key, for keys that were
// written one level too high.
func homeOf(key string, fields []field) string {
	for _, f := range fields {
		if o, ok := f.part.(objectPart); ok && find(o.fields, key) != nil {
			return f.key
		}
	}
	return ""
}

// wrong reports a value of the wrong kind, with the likeliest way out.
func (d *decoder) wrong(key, n *node, want string) {
	what := nameOf(key)
	hint := ""
	switch {
	case n.kind == kindNull:
		d.fail(n.at, "%s is empty; it must be %s", what, want)
		return
	case strings.HasPrefix(want, "text") && isScalar(n):
		hint = fmt.Sprintf("; write \"%s\"", clip(n.text))
	case strings.HasPrefix(want, "a list") && isScalar(n):
		hint = fmt.Sprintf("; write [%s]", clip(n.text))
	}
	d.fail(n.at, "%s must be %s, not %s%s", what, want, n.describe(), hint)
}

// isScalar reports whether n could be written on a line of its own.
func isScalar(n *node) bool { return n.kind != kindList && n.kind != kindMapping }
