package script

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// mapping returns the values of n by key; messages call it what. keys are the
// allowed keys, separated by spaces; mapping reports others and omits them. It
// reports a key without a value and keeps it as nil, so that it is not also
// reported as missing. If n is not a mapping, it reports that and returns an empty
// result.
func (d *decoder) mapping(n ast.Node, what string, keys string) map[string]ast.Node {
	known := strings.Fields(keys)
	list, ok := fields(n)
	if !ok {
		d.atNode(n, "%s is a mapping, not %s; it has the keys %s", what, kind(n), strings.Join(known, ", "))
		return nil
	}
	parts := make(map[string]ast.Node, len(list))
	for _, f := range list {
		switch {
		case !slices.Contains(known, f.key):
			d.unknown(f, what, known)
		case isNull(f.value):
			d.atNode(f.name, "%s has no value; write one or leave the key out", f.key)
			parts[f.key] = nil
		default:
			parts[f.key] = f.value
		}
	}
	if len(list) == 0 {
		d.atNode(n, "%s is empty; it has the keys %s", what, strings.Join(known, ", "))
	}
	return parts
}

// has reports whether a key is present, even without a value.
func has(parts map[string]ast.Node, key string) bool {
	_, there := parts[key]
	return there
}

// unknown reports an unknown key, and suggests the most similar one.
func (d *decoder) unknown(f field, what string, known []string) {
	if near := nearest(f.key, known); near != "" {
		d.atNode(f.name, "unknown key %q in %s; did you mean %s?", f.key, what, near)
		return
	}
	d.atNode(f.name, "unknown key %q in %s; its keys are %s", f.key, what, strings.Join(known, ", "))
}

// list returns the items of n; a nil n, for an absent key, has none. It refuses a
// single item without a list, which is usually a mistake.
func (d *decoder) list(n ast.Node, key string) []ast.Node {
	if n == nil {
		return nil
	}
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.atNode(n, "%s is %s; write a list", key, kind(n))
		return nil
	}
	return seq.Values
}

// text returns the text of n. Numbers and the like must be quoted, because 007 or
// 1e3 would be ambiguous.
func (d *decoder) text(n ast.Node, key string) string {
	if s, ok := value(n).(string); ok && isText(n) {
		return s
	}
	d.atNode(n, "%s is %s; write text, in quotes if need be", key, kind(n))
	return ""
}

// integer returns n as an integer; want says in messages what it counts. It reports
// anything else and returns 1, which no caller reports again.
func (d *decoder) integer(n ast.Node, key, want string) int {
	if i, ok := n.(*ast.IntegerNode); ok {
		switch v := i.Value.(type) {
		case int64:
			return int(v)
		case uint64:
			if v <= 1<<62 {
				return int(v)
			}
		}
	}
	d.atNode(n, "%s is %s; write %s, as a whole number", key, kind(n), want)
	return 1
}

// isText reports whether n is a text in the YAML file.
func isText(n ast.Node) bool {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return true
	}
	return false
}

// isNull reports whether a key has no value.
func isNull(n ast.Node) bool {
	_, null := n.(*ast.NullNode)
	return null || n == nil
}
