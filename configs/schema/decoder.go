package schema

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// Decoder walks the tree of a spec by tables of fields and gathers everything
// that is wrong, so that people see all their mistakes at once.
//
// The rules by which messages are written: one mistake, one message; the place
// is the value that is wrong, or the key if the key is; what is wrong comes
// first and what to write instead last, as text that can be typed. Text of the
// spec stands in quotes, cut if it is long.
type Decoder struct {
	*yaml.Document
	Warnings []yaml.Problem
}

// NewDecoder reads data up to its tree. Where that fails, root is nil and problems
// say why.
func NewDecoder(name string, data []byte) *Decoder {
	return &Decoder{Document: yaml.Parse(name, data)}
}

// Fail records a problem.
func (d *Decoder) Fail(at yaml.Position, format string, args ...any) {
	d.Problems = append(d.Problems, d.Problem(at, fmt.Sprintf(format, args...)))
}

// Warn records what is legal and looks like a mistake.
func (d *Decoder) Warn(at yaml.Position, format string, args ...any) {
	d.Warnings = append(d.Warnings, d.Problem(at, fmt.Sprintf(format, args...)))
}

// Field is one key of a mapping: the single source for decoding, for messages
// and for the JSON Schema.
type Field struct {
	Key  string
	Doc  string // what the key does; the schema's description
	Part Part
	Need bool // the key must be there
}

// Later reports whether the key comes with a later version.
func (f Field) Later() bool {
	_, later := f.Part.(laterPart)
	return later
}

// Part is the value of a field: a place to put it, and what it must be like.
type Part interface {
	// Decode puts n into the part's place, or records what is wrong with it.
	// key is the key (or list entry) that n belongs to, for messages.
	Decode(d *Decoder, key, n *yaml.Node)
	// Want says what the part takes, to complete "it must be …".
	Want() string
	// Schema returns the JSON Schema of what the part takes.
	Schema() *JSON
}

// Object decodes a mapping whose keys are known. A key that was misspelt is not
// reported as missing as well; a key without a value is there.
func (d *Decoder) Object(key, n *yaml.Node, fields []Field) {
	if n.Kind != yaml.Mapping {
		d.Wrong(key, n, "a mapping")
		return
	}
	before := len(d.Problems)
	given, meant := map[string]bool{}, map[string]bool{}
	for _, p := range d.Unique(n) {
		given[p.Key.Text] = true
		f := find(fields, p.Key.Text)
		switch {
		case f == nil:
			meant[d.unknownKey(p.Key, fields)] = true
		case p.Value.Kind == yaml.Null:
			d.Fail(p.Key.At, "%s has no value; give it one, or remove the key", p.Key.Text)
		default:
			f.Part.Decode(d, p.Key, p.Value)
		}
	}
	for _, f := range fields {
		if f.Need && !given[f.Key] && !meant[f.Key] {
			d.Fail(n.At, "%s has no %s; add `%s:` with %s", NameOf(key), f.Key, f.Key, f.Part.Want())
		}
	}
	n.Broken = len(d.Problems) > before
}

// NameOf names what a key stands for; the spec itself has no key.
func NameOf(key *yaml.Node) string {
	if key == nil {
		return "the spec"
	}
	return yaml.Clip(key.Text)
}

// Unique returns the entries of a mapping without repetitions, which it reports: the
// parser lets them pass.
func (d *Decoder) Unique(n *yaml.Node) []yaml.Pair {
	first := map[string]yaml.Position{}
	var out []yaml.Pair
	for _, p := range n.Pairs {
		if at, twice := first[p.Key.Text]; twice {
			d.Fail(p.Key.At, "%s is here twice, first in %s; keep one", yaml.Quote(p.Key.Text), d.LineOf(at, p.Key.At))
			continue
		}
		first[p.Key.Text] = p.Key.At
		out = append(out, p)
	}
	return out
}

// LineOf names a line for a message that stands at another place.
func (d *Decoder) LineOf(at, from yaml.Position) string {
	file, there := d.Origin(at)
	if here, _ := d.Origin(from); here != file {
		return fmt.Sprintf("line %d of %s", there.Line, filepath.Base(file))
	}
	return fmt.Sprintf("line %d", there.Line)
}

// Said reports whether a problem was found at this very place.
func (d *Decoder) Said(at yaml.Position) bool {
	file, there := d.Origin(at)
	return slices.ContainsFunc(d.Problems, func(p yaml.Problem) bool {
		return p.File == file && p.Line == there.Line && p.Col == there.Col
	})
}

// find returns the field with the key, or nil.
func find(fields []Field, key string) *Field {
	for i := range fields {
		if fields[i].Key == key {
			return &fields[i]
		}
	}
	return nil
}

// unknownKey reports a key that is none, and returns the one that was meant.
func (d *Decoder) unknownKey(key *yaml.Node, fields []Field) string {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.Key
	}
	if near := d.nearestKey(key.Text, known); near != "" {
		d.Fail(key.At, "unknown key %s; write %s", yaml.Quote(key.Text), near)
		return near
	}
	if home := homeOf(key.Text, fields); home != "" {
		d.Fail(key.At, "%s belongs under %s; write %s: {%s: …}", yaml.Quote(key.Text), home, home, key.Text)
		return ""
	}
	d.Fail(key.At, "unknown key %s; the keys here are %s", yaml.Quote(key.Text), strings.Join(known, ", "))
	return ""
}

// homeOf returns the field whose mapping has the key, for keys that were
// written one level too high.
func homeOf(key string, fields []Field) string {
	for _, f := range fields {
		if o, ok := f.Part.(objectPart); ok && find(o.fields, key) != nil {
			return f.Key
		}
	}
	return ""
}

// Wrong reports a value of the wrong kind, with the likeliest way out.
func (d *Decoder) Wrong(key, n *yaml.Node, want string) {
	what := NameOf(key)
	hint := ""
	switch {
	case n.Kind == yaml.Null:
		d.Fail(n.At, "%s is empty; it must be %s", what, want)
		return
	case strings.HasPrefix(want, "text") && IsScalar(n):
		hint = fmt.Sprintf("; write \"%s\"", yaml.Clip(n.Text))
	case strings.HasPrefix(want, "a list") && IsScalar(n):
		hint = fmt.Sprintf("; write [%s]", yaml.Clip(n.Text))
	}
	d.Fail(n.At, "%s must be %s, not %s%s", what, want, n.Describe(), hint)
}

// IsScalar reports whether n could be written on a line of its own.
func IsScalar(n *yaml.Node) bool { return n.Kind != yaml.List && n.Kind != yaml.Mapping }
