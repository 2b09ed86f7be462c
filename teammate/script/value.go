package script

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/texts"
)

// mapping returns the values of n by key; messages call it what. keys are the
// allowed keys, separated by spaces; mapping reports others and omits them. It
// reports a key without a value and keeps it as nil, so that it is not also
// reported as missing. If n is not a mapping, it reports that and returns an empty
// result.
func (d *decoder) mapping(n *yaml.Node, what string, keys string) map[string]*yaml.Node {
	known := strings.Fields(keys)
	if n.Kind != yaml.MappingKind {
		d.Fail(n.At, "%s is a mapping, not %s; it has the keys %s", what, n.Describe(), strings.Join(known, ", "))
		return nil
	}
	parts := make(map[string]*yaml.Node, len(n.Pairs))
	for _, p := range d.Unique(n) {
		switch {
		case !slices.Contains(known, p.Key.Text):
			d.unknown(p.Key, what, known)
		case p.Value.Kind == yaml.NullKind:
			d.Fail(p.Key.At, "%s has no value; write one or leave the key out", p.Key.Text)
			parts[p.Key.Text] = nil
		default:
			parts[p.Key.Text] = p.Value
		}
	}
	if len(n.Pairs) == 0 {
		d.Fail(n.At, "%s is empty; it has the keys %s", what, strings.Join(known, ", "))
	}
	return parts
}

// has reports whether a key is present, even without a value.
func has(parts map[string]*yaml.Node, key string) bool {
	_, there := parts[key]
	return there
}

// unknown reports an unknown key, and suggests the most similar one.
func (d *decoder) unknown(key *yaml.Node, what string, known []string) {
	if near := d.Nearest(key.Text, known); near != "" {
		d.Fail(key.At, "unknown key %s in %s; did you mean %s?", yaml.Quote(key.Text), what, near)
		return
	}
	d.Fail(key.At, "unknown key %s in %s; its keys are %s", yaml.Quote(key.Text), what, strings.Join(known, ", "))
}

// list returns the items of n; a nil n, for an absent key, has none. It refuses a
// single item without a list, which is usually a mistake.
func (d *decoder) list(n *yaml.Node, key string) []*yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.ListKind {
		d.Fail(n.At, "%s is %s; write a list", key, n.Describe())
	}
	return n.Items
}

// text returns the text of n. Numbers and the like must be quoted, because 007 or
// 1e3 would be ambiguous.
func (d *decoder) text(n *yaml.Node, key string) string {
	if n.Kind != yaml.TextKind {
		d.Fail(n.At, "%s is %s; write text, in quotes if need be", key, n.Describe())
		return ""
	}
	return n.Text
}

// integer returns n as an integer; want says in messages what it counts. It reports
// anything else and returns 1, which no caller reports again.
func (d *decoder) integer(n *yaml.Node, key, want string) int {
	if n.Kind != yaml.WholeKind {
		d.Fail(n.At, "%s is %s; write %s, as a whole number", key, n.Describe(), want)
		return 1
	}
	return int(n.Whole)
}

// json converts n to JSON, with keys in the order of the file. Infinity and NaN are refused.
func (d *decoder) json(n *yaml.Node) json.RawMessage {
	switch n.Kind {
	case yaml.ListKind:
		items := make([]json.RawMessage, len(n.Items))
		for i, item := range n.Items {
			items[i] = d.json(item)
		}
		return texts.Encode(items)
	case yaml.MappingKind:
		var fields []texts.Field
		for _, p := range d.Unique(n) {
			fields = append(fields, texts.Field{Name: p.Key.Text, Value: d.json(p.Value)})
		}
		return texts.Object(fields)
	}
	raw, err := texts.Marshal(n.Plain())
	if err != nil {
		d.Fail(n.At, "%s cannot be written as JSON; write it as text, in quotes", n.Describe())
	}
	return raw
}
