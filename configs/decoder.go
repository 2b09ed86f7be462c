package configs

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// decoder walks the tree of a spec by tables of fields and gathers everything
// that is wrong, so that people see all their mistakes at once.
//
// The rules by which messages are written: one mistake, one message; the place
// is the value that is wrong, or the key if the key is; what is wrong comes
// first and what to write instead last, as text that can be typed. Text of the
// spec stands in quotes, cut if it is long.
type decoder struct {
	*yaml.Document
	warnings []yaml.Problem
}

// newDecoder reads data up to its tree. Where that fails, root is nil and problems
// say why.
func newDecoder(name string, data []byte) *decoder {
	return &decoder{Document: yaml.Parse(name, data)}
}

// fail records a problem.
func (d *decoder) fail(at yaml.Position, format string, args ...any) {
	d.Problems = append(d.Problems, d.Problem(at, fmt.Sprintf(format, args...)))
}

// warn records what is legal and looks like a mistake.
func (d *decoder) warn(at yaml.Position, format string, args ...any) {
	d.warnings = append(d.warnings, d.Problem(at, fmt.Sprintf(format, args...)))
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
	decode(d *decoder, key, n *yaml.Node)
	// want says what the part takes, to complete "it must be …".
	want() string
	schema() *schema
}

// object decodes a mapping whose keys are known. A key that was misspelt is not
// reported as missing as well; a key without a value is there.
func (d *decoder) object(key, n *yaml.Node, fields []field) {
	if n.Kind != yaml.Mapping {
		d.wrong(key, n, "a mapping")
		return
	}
	before := len(d.Problems)
	given, meant := map[string]bool{}, map[string]bool{}
	for _, p := range d.unique(n) {
		given[p.Key.Text] = true
		f := find(fields, p.Key.Text)
		switch {
		case f == nil:
			meant[d.unknownKey(p.Key, fields)] = true
		case p.Value.Kind == yaml.Null:
			d.fail(p.Key.At, "%s has no value; give it one, or remove the key", p.Key.Text)
		default:
			f.part.decode(d, p.Key, p.Value)
		}
	}
	for _, f := range fields {
		if f.need && !given[f.key] && !meant[f.key] {
			d.fail(n.At, "%s has no %s; add `%s:` with %s", nameOf(key), f.key, f.key, f.part.want())
		}
	}
	n.Broken = len(d.Problems) > before
}

// nameOf names what a key stands for; the spec itself has no key.
func nameOf(key *yaml.Node) string {
	if key == nil {
		return "the spec"
	}
	return yaml.Clip(key.Text)
}

// unique is where JSON's and YAML's duplicates end: the parser lets them pass.

// unique returns the entries of a mapping without repetitions, which it reports.
func (d *decoder) unique(n *yaml.Node) []yaml.Pair {
	first := map[string]yaml.Position{}
	var out []yaml.Pair
	for _, p := range n.Pairs {
		if at, twice := first[p.Key.Text]; twice {
			d.fail(p.Key.At, "%s is here twice, first in %s; keep one", yaml.Quote(p.Key.Text), d.lineOf(at, p.Key.At))
			continue
		}
		first[p.Key.Text] = p.Key.At
		out = append(out, p)
	}
	return out
}

// lineOf names a line for a message that stands at another place.
func (d *decoder) lineOf(at, from yaml.Position) string {
	file, there := d.Origin(at)
	if here, _ := d.Origin(from); here != file {
		return fmt.Sprintf("line %d of %s", there.Line, filepath.Base(file))
	}
	return fmt.Sprintf("line %d", there.Line)
}

// said reports whether a problem was found at this very place.
func (d *decoder) said(at yaml.Position) bool {
	file, there := d.Origin(at)
	return slices.ContainsFunc(d.Problems, func(p yaml.Problem) bool {
		return p.File == file && p.Line == there.Line && p.Col == there.Col
	})
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
func (d *decoder) unknownKey(key *yaml.Node, fields []field) string {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.key
	}
	if near := d.nearestKey(key.Text, known); near != "" {
		d.fail(key.At, "unknown key %s; write %s", yaml.Quote(key.Text), near)
		return near
	}
	if home := homeOf(key.Text, fields); home != "" {
		d.fail(key.At, "%s belongs under %s; write %s: {%s: …}", yaml.Quote(key.Text), home, home, key.Text)
		return ""
	}
	d.fail(key.At, "unknown key %s; the keys here are %s", yaml.Quote(key.Text), strings.Join(known, ", "))
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
func (d *decoder) wrong(key, n *yaml.Node, want string) {
	what := nameOf(key)
	hint := ""
	switch {
	case n.Kind == yaml.Null:
		d.fail(n.At, "%s is empty; it must be %s", what, want)
		return
	case strings.HasPrefix(want, "text") && isScalar(n):
		hint = fmt.Sprintf("; write \"%s\"", yaml.Clip(n.Text))
	case strings.HasPrefix(want, "a list") && isScalar(n):
		hint = fmt.Sprintf("; write [%s]", yaml.Clip(n.Text))
	}
	d.fail(n.At, "%s must be %s, not %s%s", what, want, n.Describe(), hint)
}

// isScalar reports whether n could be written on a line of its own.
func isScalar(n *yaml.Node) bool { return n.Kind != yaml.List && n.Kind != yaml.Mapping }
