package configs

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/wording"
)

// value is a scalar of the spec with its place.
type value[T any] struct {
	v  T
	at *yaml.Node // nil: the spec does not give it
}

// given reports whether the spec has the value, right or wrong.
func (v value[T]) given() bool { return v.at != nil }

// or returns the value, or other if the spec does not give it.
func (v value[T]) or(other T) T {
	if v.given() {
		return v.v
	}
	return other
}

// textPart takes a text that is not empty.
type textPart struct {
	to   *value[string]
	desc string // completes "it must be …"; empty: "text"
	enum []string
	name bool // it must be fit for a name
	any  bool // it may be empty
}

// text takes any text that says something.
func text(to *value[string]) part { return textPart{to: to} }

// anyText takes a text that may be empty.
func anyText(to *value[string]) part { return textPart{to: to, any: true} }

// ident takes a name of DESIGN 4.
func ident(to *value[string]) part { return textPart{to: to, name: true} }

// oneOf takes one of a few words.
func oneOf(to *value[string], words ...string) part {
	desc := "one of " + strings.Join(words, ", ")
	if len(words) == 1 {
		desc = words[0]
	}
	return textPart{to: to, enum: words, desc: desc}
}

// want lists the words, if only some are allowed.
func (p textPart) want() string {
	if p.desc != "" {
		return p.desc
	}
	return "text"
}

// decode asks the strictest question last, so that the message is about the
// first thing to mend. The place is kept in any case.
func (p textPart) decode(d *decoder, key, n *yaml.Node) {
	switch {
	case n.Kind != yaml.Text:
		d.wrong(key, n, p.want())
	case p.enum != nil && !slices.Contains(p.enum, n.Text):
		d.notOneOf(key, n, p.enum)
	case p.name && !d.fitName(key, n):
	case strings.ContainsRune(n.Text, 0):
		d.fail(n.At, "%s holds the character NUL, which no file name or command can; remove it", nameOf(key))
	case !p.any && strings.TrimSpace(n.Text) == "":
		d.fail(n.At, "%s is empty; write some text, or remove it", nameOf(key))
	default:
		p.to.v = n.Text
	}
	p.to.at = n
}

// notOneOf reports a word that is not among those allowed.
func (d *decoder) notOneOf(key, n *yaml.Node, words []string) {
	if near := d.nearest(n.Text, words); near != "" {
		d.fail(n.At, "%s cannot be %s; write %s", nameOf(key), yaml.Quote(n.Text), near)
		return
	}
	d.fail(n.At, "%s cannot be %s; write one of %s", nameOf(key), yaml.Quote(n.Text), strings.Join(words, ", "))
}

// namePattern is the form of every name in a spec. Names become parts of
// subjects on the bus and of paths, so nothing else may be in them.
const namePattern = `^[a-z0-9][a-z0-9-]{0,31}$`

var nameForm = regexp.MustCompile(namePattern)

// fitName reports whether n may be a name, and says so if not.
func (d *decoder) fitName(key, n *yaml.Node) bool {
	if nameForm.MatchString(n.Text) {
		return true
	}
	const rule = "a name is 1 to 32 lower-case letters, digits and \"-\", and does not begin with \"-\""
	if fit := wording.Slug(n.Text); fit != "" {
		d.fail(n.At, "%s cannot be %s: %s; write %s", nameOf(key), yaml.Quote(n.Text), rule, fit)
	} else {
		d.fail(n.At, "%s cannot be %s: %s", nameOf(key), yaml.Quote(n.Text), rule)
	}
	return false
}

// wholePart takes a whole number.
type wholePart struct {
	to    *value[int64]
	least int64
	most  int64
}

// whole takes a whole number that fits any int.
func whole(to *value[int64]) part { return wholePart{to: to, most: math.MaxInt32} }

// wholeFrom takes a whole number from least to most.
func wholeFrom(least, most int64, to *value[int64]) part { return wholePart{to, least, most} }

// wholeBig takes a whole number that JSON can hold.
func wholeBig(to *value[int64]) part { return wholePart{to: to, most: 1 << 53} }

// want names both ends, because the upper one surprises.
func (p wholePart) want() string { return fmt.Sprintf("a whole number from %d to %d", p.least, p.most) }

// decode takes 1, not 1.0, 1e0 or "1".
func (p wholePart) decode(d *decoder, key, n *yaml.Node) {
	p.to.at = n
	if n.Kind != yaml.Whole || n.Whole < p.least || n.Whole > p.most {
		d.wrong(key, n, p.want())
		return
	}
	p.to.v = n.Whole
}

// amountPart takes a number that is not negative.
type amountPart struct{ to *value[float64] }

// amount takes a number that counts something which can be parted, such as money.
func amount(to *value[float64]) part { return amountPart{to} }

// want leaves the upper end open.
func (p amountPart) want() string { return "a number, 0 or more" }

// decode takes whole numbers too; infinite is no limit that could be kept.
func (p amountPart) decode(d *decoder, key, n *yaml.Node) {
	p.to.at = n
	isNumber := n.Kind == yaml.Whole || n.Kind == yaml.Number
	if !isNumber || math.IsNaN(n.Real) || math.IsInf(n.Real, 0) || n.Real < 0 {
		d.wrong(key, n, p.want())
		return
	}
	p.to.v = n.Real
}

// truthPart takes true or false.
type truthPart struct{ to *value[bool] }

// truth takes true or false.
func truth(to *value[bool]) part { return truthPart{to} }

// want names the two words.
func (p truthPart) want() string { return "true or false" }

// decode does not take yes, on or 1: what YAML 1.1 took for a flag is text here.
func (p truthPart) decode(d *decoder, key, n *yaml.Node) {
	p.to.at = n
	if n.Kind != yaml.Bool {
		d.wrong(key, n, p.want())
		return
	}
	p.to.v = n.Yes
}

// spanPart takes a length of time with its unit.
type spanPart struct{ to *value[time.Duration] }

// span takes a length of time.
func span(to *value[time.Duration]) part { return spanPart{to} }

// want gives examples, because the form is Go's own.
func (p spanPart) want() string { return "a time with its unit, such as 90s, 10m or 1h30m" }

// decode takes a bare number only if it is 0: of any other one nobody knows
// whether seconds or milliseconds are meant.
func (p spanPart) decode(d *decoder, key, n *yaml.Node) {
	p.to.at = n
	if n.Kind == yaml.Whole && n.Whole == 0 {
		return
	}
	if n.Kind != yaml.Text {
		hint := ""
		if n.Kind == yaml.Whole && n.Whole > 0 {
			hint = "; write " + yaml.Clip(n.Text) + "s if seconds were meant"
		}
		d.fail(n.At, "%s must be %s, not %s%s", nameOf(key), p.want(), n.Describe(), hint)
		return
	}
	length, err := time.ParseDuration(n.Text)
	if err != nil || length < 0 {
		d.wrong(key, n, p.want())
		return
	}
	p.to.v = length
}

// onOff takes on or off.
func onOff(to *value[bool]) part { return switchPart{to} }

// switchPart takes on or off.
type switchPart struct{ to *value[bool] }

// want names the two words.
func (p switchPart) want() string { return "on or off" }

// decode takes true and false too: YAML 1.1, and with it many an editor, holds
// them for the same.
func (p switchPart) decode(d *decoder, key, n *yaml.Node) {
	p.to.at = n
	switch {
	case n.Kind == yaml.Bool:
		p.to.v = n.Yes
	case n.Kind == yaml.Text && (n.Text == "on" || n.Text == "off"):
		p.to.v = n.Text == "on"
	default:
		d.wrong(key, n, p.want())
	}
}

// schema allows the two words and what YAML has for them.
func (p switchPart) schema() *schema {
	return of(jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "string", Enum: []any{"on", "off"}},
		{Type: "boolean"},
	}})
}
