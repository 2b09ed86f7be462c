package script

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// mapping returns the values of n by key; what names n in messages. keys are
// those that it may have, separated by spaces; others are noted and left out.
// A key without a value is noted and kept, as nil, so that nothing else
// complains that it is missing. The result is empty, and a problem
// noted, when n is no mapping.
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

// has reports whether a key was written, be it without a value.
func has(parts map[string]ast.Node, key string) bool {
	_, there := parts[key]
	return there
}

// unknown notes a key that is not known, with the one that was probably meant.
func (d *decoder) unknown(f field, what string, known []string) {
	if near := nearest(f.key, known); near != "" {
		d.atNode(f.name, "unknown key %q in %s; did you mean %s?", f.key, what, near)
		return
	}
	d.atNode(f.name, "unknown key %q in %s; its keys are %s", f.key, what, strings.Join(known, ", "))
}

// list returns the items of n, which may be nil for an absent key. One item
// without a list around it is refused: it is more often a mistake than meant.
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

// text returns what n says. Numbers and the like must stand in quotes, so that
// nobody wonders what becomes of 007 or 1e3.
func (d *decoder) text(n ast.Node, key string) string {
	if s, ok := value(n).(string); ok && isText(n) {
		return s
	}
	d.atNode(n, "%s is %s; write text, in quotes if need be", key, kind(n))
	return ""
}

// integer returns the whole number that n is; want says what it counts.
// Anything else is noted and read as 1, which no check of the callers complains
// about a second time.
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

// isText reports whether n was written as text.
func isText(n ast.Node) bool {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return true
	}
	return false
}

// isNull reports whether nothing stands behind a key.
func isNull(n ast.Node) bool {
	_, null := n.(*ast.NullNode)
	return null || n == nil
}
