package yaml

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/google/jsonschema-go/jsonschema"
)

// Value is a scalar of the spec with its place.
type Value[T any] struct {
	V  T
	At *Node // nil: the spec does not give it
}

// Given reports whether the spec has the value, right or wrong.
func (v Value[T]) Given() bool { return v.At != nil }

// Or returns the value, or other if the spec does not give it.
func (v Value[T]) Or(other T) T {
	if v.Given() {
		return v.V
	}
	return other
}

// Into takes a value as part does, and stores it without its place.
func Into[T any](to *T, part func(*Value[T]) Part) Part {
	return Via(to, part, func(v Value[T]) T { return v.V })
}

// IntoWord is Into for one of a few words.
func IntoWord[T ~string](to *T, words ...T) Part {
	return Into(to, func(v *Value[T]) Part { return OneOf(v, words...) })
}

// Via takes what part takes, and stores what plain makes of it.
func Via[T, V any](to *T, part func(*V) Part, plain func(V) T) Part {
	v := new(V)
	return Then(part(v), func(*Decoder) { *to = plain(*v) })
}

// Then calls a function after a part has taken a value, also one that it refuses.
func Then(p Part, after func(*Decoder)) Part { return aroundPart{p, func() {}, after} }

// Around is Then with a function that is called before.
func Around(p Part, before func(), after func(*Decoder)) Part { return aroundPart{p, before, after} }

// aroundPart calls functions around another part.
type aroundPart struct {
	Part
	before func()
	after  func(*Decoder)
}

// Decode has the other part take the value.
func (p aroundPart) Decode(d *Decoder, key, n *Node) {
	p.before()
	p.Part.Decode(d, key, n)
	p.after(d)
}

// textPart takes a text that is not empty.
type textPart struct {
	to   *Value[string]
	desc string // completes "it must be …"; empty: "text"
	enum []string
	name bool // it must be fit for a name
	any  bool // it may be empty
}

// Text takes any text that says something.
func Text(to *Value[string]) Part { return textPart{to: to} }

// AnyText takes a text that may be empty.
func AnyText(to *Value[string]) Part { return textPart{to: to, any: true} }

// Ident takes a name: lower-case letters, digits and hyphens.
func Ident(to *Value[string]) Part { return textPart{to: to, name: true} }

// OneOf takes one of a few words.
func OneOf[T ~string](to *Value[T], words ...T) Part {
	names := make([]string, len(words))
	for i, word := range words {
		names[i] = string(word)
	}
	desc := "one of " + strings.Join(names, ", ")
	if len(names) == 1 {
		desc = names[0]
	}
	text := new(Value[string])
	return Then(textPart{to: text, enum: names, desc: desc}, func(*Decoder) { *to = Value[T]{T(text.V), text.At} })
}

// Want lists the words, if only some are allowed.
func (p textPart) Want() string {
	if p.desc != "" {
		return p.desc
	}
	return "text"
}

// Decode asks the strictest question last, so that the message is about the
// first thing to mend. The place is kept in any case.
func (p textPart) Decode(d *Decoder, key, n *Node) {
	*p.to = Value[string]{At: n}
	switch {
	case n.Kind != TextKind:
		d.Wrong(key, n, p.Want())
	case p.enum != nil && !slices.Contains(p.enum, n.Text):
		d.notOneOf(key, n, p.enum)
	case p.name && !d.fitName(key, n):
	case strings.ContainsRune(n.Text, 0):
		d.Fail(n.At, "%s contains the character NUL, which no file name or command can contain; remove it", NameOf(key))
	case !p.any && strings.TrimSpace(n.Text) == "":
		d.Fail(n.At, "%s is empty; write some text, or remove it", NameOf(key))
	default:
		p.to.V = n.Text
	}
}

// notOneOf reports a word that is not among those allowed.
func (d *Decoder) notOneOf(key, n *Node, words []string) {
	if near := d.Nearest(n.Text, words); near != "" {
		d.Fail(n.At, "%s cannot be %s; write %s", NameOf(key), Quote(n.Text), near)
		return
	}
	d.Fail(n.At, "%s cannot be %s; write one of %s", NameOf(key), Quote(n.Text), strings.Join(words, ", "))
}

// NamePattern is the form of every name in a spec. Names become parts of
// subjects on the bus and of paths, so nothing else may be in them.
const NamePattern = `^[a-z0-9][a-z0-9-]{0,31}$`

var nameForm = texts.Pattern(NamePattern)

// fitName reports whether n may be a name, and says so if not.
func (d *Decoder) fitName(key, n *Node) bool {
	fault := NameFault(n.Text)
	if fault != "" {
		d.Fail(n.At, "%s cannot be %s: %s", NameOf(key), Quote(n.Text), fault)
	}
	return fault == ""
}

// NameFault returns why a text is not in the form of NamePattern, and what to write instead; empty
// if it is.
func NameFault(name string) string {
	const rule = "a name is 1 to 32 lower-case letters, digits and \"-\", and does not begin with \"-\""
	switch fit := Slug(name); {
	case nameForm().MatchString(name):
		return ""
	case fit != "":
		return rule + "; write " + fit
	}
	return rule
}

// Slug returns s as a name: at most 32 lower-case letters, digits and single dashes.
// It is empty if s has no letter or digit of ASCII.
func Slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == 32 {
			break
		}
	}
	return strings.TrimRight(b.String(), "-")
}

// scalar takes a value that is neither text alone nor has others in it.
type scalar[T any] struct {
	to     *Value[T]
	want   string // completes "it must be …"
	schema func() jsonschema.Schema
	// read returns the value of a node. It does not fit if the node is something else; other mistakes
	// are reported by read itself.
	read func(d *Decoder, key, n *Node) (value T, fits bool)
}

// Want returns what kind of value it is.
func (p scalar[T]) Want() string { return p.want }

// Decode keeps the place in any case.
func (p scalar[T]) Decode(d *Decoder, key, n *Node) {
	value, fits := p.read(d, key, n)
	if !fits {
		var none T
		value = none
		d.Wrong(key, n, p.want)
	}
	*p.to = Value[T]{V: value, At: n}
}

// Schema is that of the kind of value.
func (p scalar[T]) Schema() *JSON { return Of(p.schema()) }

// Whole takes a whole number that fits any int.
func Whole[T int | int64](to *Value[T]) Part { return WholeFrom[T](0, math.MaxInt32)(to) }

// WholeFrom takes a whole number from least to most: 1, not 1.0, 1e0 or "1". Its schema allows 1.0, which
// JSON cannot tell from 1.
func WholeFrom[T int | int64](least, most T) func(to *Value[T]) Part {
	return func(to *Value[T]) Part {
		return scalar[T]{
			to: to, want: fmt.Sprintf("a whole number from %d to %d", least, most),
			schema: func() jsonschema.Schema {
				return jsonschema.Schema{Type: "integer", Minimum: new(float64(least)), Maximum: new(float64(most))}
			},
			read: func(_ *Decoder, _, n *Node) (T, bool) {
				return T(n.Whole), n.Kind == WholeKind && n.Whole >= int64(least) && n.Whole <= int64(most)
			},
		}
	}
}

// Amount takes a number that is not negative and counts something which can be parted, such as money.
// Infinite is no limit that could be kept.
func Amount(to *Value[float64]) Part {
	return scalar[float64]{
		to: to, want: "a number, 0 or more",
		schema: func() jsonschema.Schema { return jsonschema.Schema{Type: "number", Minimum: new(0.0)} },
		read: func(_ *Decoder, _, n *Node) (float64, bool) {
			isNumber := n.Kind == WholeKind || n.Kind == NumberKind
			return n.Real, isNumber && n.Real >= 0 && !math.IsInf(n.Real, 0)
		},
	}
}

// Truth takes true or false, not yes, on or 1: what YAML 1.1 took for a flag is text here.
func Truth(to *Value[bool]) Part {
	return scalar[bool]{
		to: to, want: "true or false",
		schema: func() jsonschema.Schema { return jsonschema.Schema{Type: "boolean"} },
		read:   func(_ *Decoder, _, n *Node) (bool, bool) { return n.Yes, n.Kind == BoolKind },
	}
}

// OnOff takes on or off, and true and false too: YAML 1.1, and with it many an editor, holds them for the
// same.
func OnOff(to *Value[bool]) Part {
	return scalar[bool]{
		to: to, want: "on or off",
		schema: func() jsonschema.Schema {
			return jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string", Enum: []any{"on", "off"}}, {Type: "boolean"}}}
		},
		read: func(_ *Decoder, _, n *Node) (bool, bool) {
			isWord := n.Kind == TextKind && (n.Text == "on" || n.Text == "off")
			return n.Yes || n.Text == "on", isWord || n.Kind == BoolKind
		},
	}
}

// Span takes a length of time.
func Span(to *Value[time.Duration]) Part { return span(to, false) }

// SomeTime takes a length of time that is not 0.
func SomeTime(to *Value[time.Duration]) Part { return span(to, true) }

// SpanPattern is the form of a time.Duration that is not negative.
const SpanPattern = `^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)` +
	`(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*$|^[-+]?0$`

// span takes a length of time with its unit. A bare number is taken only if it is 0: of any other one
// nobody knows whether seconds or milliseconds are meant.
func span(to *Value[time.Duration], some bool) Part {
	return scalar[time.Duration]{
		to: to, want: "a time with its unit, such as 90s, 10m or 1h30m",
		schema: func() jsonschema.Schema {
			if some {
				return jsonschema.Schema{Type: "string", Pattern: SpanPattern, Not: &jsonschema.Schema{Pattern: "^[^1-9]*$"}}
			}
			return jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string", Pattern: SpanPattern}, {Type: "integer", Enum: []any{0}}}}
		},
		read: func(d *Decoder, key, n *Node) (time.Duration, bool) {
			length, err := time.ParseDuration(n.Text)
			switch isZero := n.Kind == WholeKind && n.Whole == 0; {
			case !isZero && (n.Kind != TextKind || err != nil):
				return 0, false
			case length < 0:
				d.Fail(n.At, "%s must not be negative, as %s is; write %s", NameOf(key), n.Text, strings.TrimLeft(n.Text, "-"))
				return 0, true
			case length == 0 && some:
				d.Fail(n.At, "%s must be more than 0; write a time such as 10m, or remove it", NameOf(key))
			}
			return length, true
		},
	}
}
