package yaml

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Decoder walks the tree of a spec by tables of fields and collects all mistakes, so
// that people see them at once.
//
// The rules by which messages are written: one mistake, one message; the place
// is the value that is wrong, or the key if the key is; what is wrong comes
// first and what to write instead last, as text that can be typed. Text of the
// spec stands in quotes, cut if it is long.
type Decoder struct {
	*Document
	Warnings []Problem
}

// NewDecoder parses data into a tree. If that fails, Root is nil and Problems say why.
func NewDecoder(name string, data []byte) *Decoder {
	return &Decoder{Document: Parse(name, data)}
}

// Fail records a problem.
func (d *Decoder) Fail(at Position, format string, args ...any) {
	d.Problems = append(d.Problems, d.Problem(at, fmt.Sprintf(format, args...)))
}

// Warn records something legal that looks like a mistake.
func (d *Decoder) Warn(at Position, format string, args ...any) {
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

// Part is the value of a field: a place to put it, and what it must be like.
type Part interface {
	// Decode puts n into the part's place, or records what is wrong with it.
	// key is the key (or list entry) that n belongs to, for messages.
	Decode(d *Decoder, key, n *Node)
	// Want returns what the part takes, to complete "it must be …".
	Want() string
	// Schema returns the JSON Schema of what the part takes.
	Schema() *JSON
}

// Object decodes a mapping whose keys are known. It does not also report a misspelt key
// as missing; a key without a value counts as given. The values are decoded in the order of the table.
func (d *Decoder) Object(key, n *Node, fields []Field) {
	if n.Kind != MappingKind {
		d.Wrong(key, n, "a mapping")
		return
	}
	before := len(d.Problems)
	given, meant := map[string]Pair{}, map[string]Pair{}
	for _, p := range d.Unique(n) {
		given[p.Key.Text] = p
		if find(fields, p.Key.Text) == nil {
			if key := d.unknownKey(p.Key, fields); meant[key].Key == nil {
				meant[key] = p
			}
		}
	}
	for _, f := range fields {
		switch p := given[f.Key]; {
		case p.Key == nil && meant[f.Key].Key != nil:
			d.guess(f, meant[f.Key])
		case p.Key == nil && f.Need:
			d.Fail(n.At, "%s has no %s; add `%s:` with %s", NameOf(key), f.Key, f.Key, f.Part.Want())
		case p.Key == nil:
		case p.Value.Kind == NullKind:
			d.Fail(p.Key.At, "%s has no value; give it one, or remove the key", p.Key.Text)
		default:
			f.Part.Decode(d, p.Key, p.Value)
		}
	}
	n.Broken = len(d.Problems) > before
}

// guess decodes the mapping of a misspelt key as that of the key that was probably meant, so that
// references to the names in it are not reported, too. Problems in it are not: the guess may be wrong.
func (d *Decoder) guess(f Field, p Pair) {
	if p.Value.Kind != MappingKind {
		return
	}
	known := len(d.Problems)
	f.Part.Decode(d, p.Key, p.Value)
	d.Problems = d.Problems[:known]
}

// NameOf returns the name of a key for messages. A nil key means the spec itself.
func NameOf(key *Node) string {
	if key == nil {
		return "the spec"
	}
	return Clip(key.Text)
}

// Unique returns the entries of a mapping without repetitions, and reports those, because
// the parser accepts them.
func (d *Decoder) Unique(n *Node) []Pair {
	first := map[string]Position{}
	var out []Pair
	for _, p := range n.Pairs {
		if at, twice := first[p.Key.Text]; twice {
			d.Fail(p.Key.At, "%s is here twice, first in %s; keep one", Quote(p.Key.Text), d.LineOf(at, p.Key.At))
			continue
		}
		first[p.Key.Text] = p.Key.At
		out = append(out, p)
	}
	return out
}

// LineOf names the line of at for a message about the place from.
func (d *Decoder) LineOf(at, from Position) string {
	file, there := d.Origin(at)
	if here, _ := d.Origin(from); here != file {
		return fmt.Sprintf("line %d of %s", there.Line, filepath.Base(file))
	}
	return fmt.Sprintf("line %d", there.Line)
}

// Said reports whether a problem was found at exactly this place.
func (d *Decoder) Said(at Position) bool {
	file, there := d.Origin(at)
	return slices.ContainsFunc(d.Problems, func(p Problem) bool {
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

// unknownKey reports an unknown key, and returns the key that was probably meant, or "".
func (d *Decoder) unknownKey(key *Node, fields []Field) string {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.Key
	}
	if near := d.nearestKey(key.Text, known); near != "" {
		d.Fail(key.At, "unknown key %s; write %s", Quote(key.Text), near)
		return near
	}
	if home := homeOf(key.Text, fields); home != "" {
		d.Fail(key.At, "%s belongs under %s; write %s: {%s: …}", Quote(key.Text), home, home, key.Text)
		return ""
	}
	d.Fail(key.At, "unknown key %s; the keys here are %s", Quote(key.Text), strings.Join(known, ", "))
	return ""
}

// homeOf returns the field whose mapping has the key, or "". It finds keys that were
// written one level too high.
func homeOf(key string, fields []Field) string {
	for _, f := range fields {
		part := f.Part
		if shared, ok := part.(sharedPart); ok {
			part = shared.Part
		}
		o, ok := part.(objectPart)
		if in := find(o.fields, key); ok && in != nil {
			return f.Key
		}
	}
	return ""
}

// Wrong reports a value of the wrong kind, with the most likely correction.
func (d *Decoder) Wrong(key, n *Node, want string) {
	what := NameOf(key)
	hint := ""
	switch {
	case n.Kind == NullKind:
		d.Fail(n.At, "%s is empty; it must be %s", what, want)
		return
	case strings.HasPrefix(want, "text") && IsScalar(n):
		hint = fmt.Sprintf("; write \"%s\"", Clip(n.Text))
	case strings.HasPrefix(want, "text") && n.Kind == MappingKind && len(n.Pairs) == 1:
		hint = "; put a text that has a colon into quotes"
	case strings.HasPrefix(want, "a list") && IsScalar(n):
		hint = fmt.Sprintf("; write [%s]", Clip(n.Text))
	case strings.HasPrefix(want, "a time") && n.Whole > 0:
		hint = fmt.Sprintf("; write %ss if seconds were meant", Clip(n.Text))
	case strings.HasPrefix(want, "a size") && n.Whole > 0:
		hint = fmt.Sprintf("; write %sB if bytes were meant", Clip(n.Text))
	}
	d.Fail(n.At, "%s must be %s, not %s%s", what, want, n.Describe(), hint)
}

// IsScalar reports whether n is neither a list nor a mapping.
func IsScalar(n *Node) bool { return n.Kind != ListKind && n.Kind != MappingKind }
