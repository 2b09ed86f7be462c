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

// maxCount is the largest number that every JSON reader can hold.
const maxCount = 1 << 53

// The forms of a number with its unit. They bound the digits, so that no product overflows.
var (
	countForm = texts.Pattern(`^([0-9]{1,9}(?:\.[0-9]{1,3})?)([kKmM])$`)
	sizeForm  = texts.Pattern(`^([0-9]{1,6}(?:\.[0-9]{1,3})?) ?([bB]|[kKmMgGtT]i?[bB])$`)
)

// Count takes how many of something, such as 200000, 200k or 3M.
func Count(to *Value[int64]) Part {
	return quantity(to, "a whole number, 0 or more, or one with its unit such as 200k or 3M", maxCount, countForm,
		map[string]float64{"k": 1e3, "m": 1e6})
}

// Size takes a number of bytes, such as 500MB or 5GiB. A bare number could be of anything, so only 0 is
// taken.
func Size(to *Value[int64]) Part {
	return quantity(to, "a size with its unit, such as 500MB or 5GB", 0, sizeForm, map[string]float64{
		"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	})
}

// quantity takes a whole number up to bare, or a text of a form: a number and its unit. units has them in
// lower case.
func quantity(to *Value[int64], want string, bare int64, form func() *regexp.Regexp, units map[string]float64) Part {
	return scalar[int64]{
		to: to, want: want,
		schema: func() jsonschema.Schema {
			return jsonschema.Schema{AnyOf: []*jsonschema.Schema{
				{Type: "integer", Minimum: new(0.0), Maximum: new(float64(bare))}, {Type: "string", Pattern: form().String()},
			}}
		},
		read: func(_ *Decoder, _, n *Node) (int64, bool) {
			if found := form().FindStringSubmatch(n.Text); n.Kind == TextKind && found != nil {
				number, _ := strconv.ParseFloat(found[1], 64) // the form allows numbers only
				return int64(number * units[strings.ToLower(found[2])]), true
			}
			return n.Whole, n.Kind == WholeKind && n.Whole >= 0 && n.Whole <= bare
		},
	}
}

// Globs takes a list of globs below the workspace, such as docs/**. It refuses those that nothing there could
// fit: one that is silently never met would protect nothing.
func Globs(to *List[Value[string]]) Part {
	return Then(TextsOf(to, "a list of globs, such as [docs/**]"), func(d *Decoder) {
		for _, glob := range to.Items {
			if fault := globFault(glob.V); fault != "" {
				d.Fail(glob.At.At, "%s %s", Quote(glob.V), fault)
			}
		}
	})
}

// globFault returns what is wrong with a glob; "" if nothing is. An empty one has been
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
