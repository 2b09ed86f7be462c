package yaml

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/google/jsonschema-go/jsonschema"
)

// unitPart takes a whole number, or a text that is a number with a unit.
type unitPart struct {
	to    *Value[int64]
	says  string                // completes "it must be …"
	form  func() *regexp.Regexp // number, unit
	units map[string]float64    // by their names in lower case
}

// maxCount is the largest number that every JSON reader can hold.
const maxCount = 1 << 53

// The forms bound the digits, so that no product overflows.
var (
	countForm = texts.Pattern(`^([0-9]{1,9}(?:\.[0-9]{1,3})?)([kKmM])$`)
	sizeForm  = texts.Pattern(`^([0-9]{1,6}(?:\.[0-9]{1,3})?) ?([bB]|[kKmMgGtT]i?[bB])$`)
)

// Count takes how many of something, such as 200000, 200k or 3M.
func Count(to *Value[int64]) Part {
	return unitPart{to, "a whole number, 0 or more, or one with its unit such as 200k or 3M", countForm,
		map[string]float64{"k": 1e3, "m": 1e6}}
}

// Size takes a number of bytes, such as 500MB or 5GiB.
func Size(to *Value[int64]) Part {
	return unitPart{to, "a size with its unit, such as 500MB or 5GB", sizeForm, map[string]float64{
		"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	}}
}

// Want shows both forms.
func (p unitPart) Want() string { return p.says }

// Decode keeps the place in any case. A bare number is a count; of a size it could
// be anything, so only 0 is taken.
func (p unitPart) Decode(d *Decoder, key, n *Node) {
	p.to.At = n
	whole, bare := n.Whole, n.Kind == WholeKind
	if found := p.form().FindStringSubmatch(n.Text); n.Kind == TextKind && found != nil {
		number, _ := strconv.ParseFloat(found[1], 64) // the form allows numbers only
		p.to.V = int64(number * p.units[strings.ToLower(found[2])])
		return
	}
	if _, isSize := p.units["b"]; !bare || whole < 0 || whole > maxCount || isSize && whole != 0 {
		hint := ""
		if isSize && bare && whole > 0 {
			hint = "; write " + Clip(n.Text) + "B if bytes were meant"
		}
		d.Fail(n.At, "%s must be %s, not %s%s", NameOf(key), p.says, n.Describe(), hint)
		return
	}
	p.to.V = whole
}

// Schema allows the forms that decode takes.
func (p unitPart) Schema() *JSON {
	most := float64(maxCount)
	if _, isSize := p.units["b"]; isSize {
		most = 0
	}
	return Of(jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "integer", Minimum: new(0.0), Maximum: new(most)},
		{Type: "string", Pattern: p.form().String()},
	}})
}

// globsPart takes globs below a folder.
type globsPart struct{ uniqueTexts }

// Globs takes a list of globs below the workspace, such as docs/**.
func Globs(to *List[Value[string]]) Part {
	return globsPart{uniqueTexts{listPart[Value[string]]{to, Text, "a list of globs, such as [docs/**]"}}}
}

// Decode refuses globs that nothing below the workspace could fit. One that is
// silently never met would protect nothing.
func (p globsPart) Decode(d *Decoder, key, n *Node) {
	p.uniqueTexts.Decode(d, key, n)
	for _, glob := range p.to.Items {
		if fault := globFault(glob.V); fault != "" {
			d.Fail(glob.At.At, "%s %s", Quote(glob.V), fault)
		}
	}
}

// globFault says what is wrong with a glob; "" if nothing is. An empty one has been
// refused already.
func globFault(glob string) string {
	switch {
	case glob == "":
		return ""
	case !doublestar.ValidatePattern(glob):
		return "is no glob: a bracket or brace is not closed; close it, or write \\ before it"
	case strings.HasPrefix(glob, "/") || strings.HasPrefix(glob, "~"):
		return fmt.Sprintf("must start at the workspace; write %s", Quote(strings.TrimLeft(glob, "/~")))
	}
	for part := range strings.SplitSeq(glob, "/") {
		if part == ".." || part == "." {
			return "must not hold . or ..; write the path from the workspace"
		}
	}
	if strings.HasSuffix(glob, "/") {
		return fmt.Sprintf("fits no file; write %s", Quote(glob+"**"))
	}
	return ""
}
