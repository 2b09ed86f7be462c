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
func IntoWord(to *string, words ...string) Part {
	return Into(to, func(v *Value[string]) Part { return OneOf(v, words...) })
}

// Via takes what part takes, and stores what plain makes of it.
func Via[T, V any](to *T, part func(*V) Part, plain func(V) T) Part {
	v := new(V)
	return viaPart{part(v), func() { *to = plain(*v) }}
}

// viaPart stores what another part has taken.
type viaPart struct {
	Part
	store func()
}

// Decode stores the value, also one that was refused: it is the zero value then.
func (p viaPart) Decode(d *Decoder, key, n *Node) {
	p.Part.Decode(d, key, n)
	p.store()
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
func OneOf(to *Value[string], words ...string) Part {
	desc := "one of " + strings.Join(words, ", ")
	if len(words) == 1 {
		desc = words[0]
	}
	return textPart{to: to, enum: words, desc: desc}
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
	p.to.At = n
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
	if nameForm().MatchString(n.Text) {
		return true
	}
	const rule = "a name is 1 to 32 lower-case letters, digits and \"-\", and does not begin with \"-\""
	if fit := Slug(n.Text); fit != "" {
		d.Fail(n.At, "%s cannot be %s: %s; write %s", NameOf(key), Quote(n.Text), rule, fit)
	} else {
		d.Fail(n.At, "%s cannot be %s: %s", NameOf(key), Quote(n.Text), rule)
	}
	return false
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

// wholePart takes a whole number.
type wholePart struct {
	to    *Value[int64]
	least int64
	most  int64
}

// Whole takes a whole number that fits any int.
func Whole(to *Value[int64]) Part { return wholePart{to: to, most: math.MaxInt32} }

// WholeFrom takes a whole number from least to most.
func WholeFrom(least, most int64, to *Value[int64]) Part { return wholePart{to, least, most} }

// Want names both ends, because the upper one surprises.
func (p wholePart) Want() string { return fmt.Sprintf("a whole number from %d to %d", p.least, p.most) }

// Decode takes 1, not 1.0, 1e0 or "1".
func (p wholePart) Decode(d *Decoder, key, n *Node) {
	p.to.At = n
	if n.Kind != WholeKind || n.Whole < p.least || n.Whole > p.most {
		d.Wrong(key, n, p.Want())
		return
	}
	p.to.V = n.Whole
}

// amountPart takes a number that is not negative.
type amountPart struct{ to *Value[float64] }

// Amount takes a number that counts something which can be parted, such as money.
func Amount(to *Value[float64]) Part { return amountPart{to} }

// Want leaves the upper end open.
func (p amountPart) Want() string { return "a number, 0 or more" }

// Decode takes whole numbers too; infinite is no limit that could be kept.
func (p amountPart) Decode(d *Decoder, key, n *Node) {
	p.to.At = n
	isNumber := n.Kind == WholeKind || n.Kind == NumberKind
	if !isNumber || math.IsNaN(n.Real) || math.IsInf(n.Real, 0) || n.Real < 0 {
		d.Wrong(key, n, p.Want())
		return
	}
	p.to.V = n.Real
}

// truthPart takes true or false.
type truthPart struct{ to *Value[bool] }

// Truth takes true or false.
func Truth(to *Value[bool]) Part { return truthPart{to} }

// Want names the two words.
func (p truthPart) Want() string { return "true or false" }

// Decode does not take yes, on or 1: what YAML 1.1 took for a flag is text here.
func (p truthPart) Decode(d *Decoder, key, n *Node) {
	p.to.At = n
	if n.Kind != BoolKind {
		d.Wrong(key, n, p.Want())
		return
	}
	p.to.V = n.Yes
}

// spanPart takes a length of time with its unit.
type spanPart struct {
	to   *Value[time.Duration]
	some bool // it must not be 0
}

// Span takes a length of time.
func Span(to *Value[time.Duration]) Part { return spanPart{to: to} }

// SomeTime takes a length of time that is not 0.
func SomeTime(to *Value[time.Duration]) Part { return spanPart{to: to, some: true} }

// Want gives examples, because the form is Go's own.
func (p spanPart) Want() string { return "a time with its unit, such as 90s, 10m or 1h30m" }

// Decode takes a bare number only if it is 0: of any other one nobody knows
// whether seconds or milliseconds are meant.
func (p spanPart) Decode(d *Decoder, key, n *Node) {
	p.to.At = n
	length, err := time.ParseDuration(n.Text)
	switch {
	case n.Kind == WholeKind && n.Whole == 0:
		length = 0
	case n.Kind != TextKind:
		hint := ""
		if n.Kind == WholeKind && n.Whole > 0 {
			hint = "; write " + Clip(n.Text) + "s if seconds were meant"
		}
		d.Fail(n.At, "%s must be %s, not %s%s", NameOf(key), p.Want(), n.Describe(), hint)
		return
	case err != nil:
		d.Wrong(key, n, p.Want())
		return
	case length < 0:
		d.Fail(n.At, "%s must not be negative, as %s is; write %s", NameOf(key), n.Text, strings.TrimLeft(n.Text, "-"))
		return
	}
	if length == 0 && p.some {
		d.Fail(n.At, "%s must be more than 0; write a time such as 10m, or remove it", NameOf(key))
	}
	p.to.V = length
}

// OnOff takes on or off.
func OnOff(to *Value[bool]) Part { return switchPart{to} }

// switchPart takes on or off.
type switchPart struct{ to *Value[bool] }

// Want names the two words.
func (p switchPart) Want() string { return "on or off" }

// Decode takes true and false too: YAML 1.1, and with it many an editor, holds
// them for the same.
func (p switchPart) Decode(d *Decoder, key, n *Node) {
	p.to.At = n
	switch {
	case n.Kind == BoolKind:
		p.to.V = n.Yes
	case n.Kind == TextKind && (n.Text == "on" || n.Text == "off"):
		p.to.V = n.Text == "on"
	default:
		d.Wrong(key, n, p.Want())
	}
}

// Schema allows the two words and what YAML has for them.
func (p switchPart) Schema() *JSON {
	return Of(jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "string", Enum: []any{"on", "off"}},
		{Type: "boolean"},
	}})
}
