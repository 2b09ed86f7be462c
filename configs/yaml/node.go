package yaml

import (
	"fmt"
	"iter"
	"strings"
)

// Kind describes what a node is.
type Kind uint8

// The kinds of nodes. Whole numbers have a kind of their own, because most numbers of
// a spec count something.
const (
	NullKind Kind = iota
	BoolKind
	WholeKind  // a whole number that fits int64
	NumberKind // any other number
	TextKind
	ListKind
	MappingKind
)

// Node is one value of a document with its place.
type Node struct {
	Kind  Kind
	At    Position
	Text  string  // scalars: as written; texts: the value
	Whole int64   // of kind Whole
	Real  float64 // of kinds Whole and Number
	Yes   bool    // of kind Bool
	Items []*Node
	Pairs []Pair

	// Broken is set by whoever decodes a mapping and finds a mistake in it: a key that
	// seems to be missing may be the one that was misspelt.
	Broken bool
}

// Pair is one entry of a mapping. Its key is a scalar.
type Pair struct{ Key, Value *Node }

// Describe returns what n is, for messages.
func (n *Node) Describe() string {
	switch n.Kind {
	case NullKind:
		return "nothing"
	case BoolKind, WholeKind, NumberKind:
		return Clip(n.Text)
	case TextKind:
		return "the text " + Quote(n.Text)
	case ListKind:
		return "a list"
	default:
		return "a mapping"
	}
}

// Entry returns the entry of a mapping's key; it is empty if there is none, or no node.
func (n *Node) Entry(key string) Pair {
	if n != nil {
		if i := indexOf(n.Pairs, key); i >= 0 {
			return n.Pairs[i]
		}
	}
	return Pair{}
}

// Lookup returns the value of a mapping's key; nil if there is none, or no node.
func (n *Node) Lookup(key string) *Node { return n.Entry(key).Value }

// TextOf returns the trimmed text under a key; empty if there is none.
func (n *Node) TextOf(key string) string {
	if v := n.Lookup(key); v != nil && v.Kind == TextKind {
		return strings.TrimSpace(v.Text)
	}
	return ""
}

// Texts goes through the texts that a node is or lists, without those that are blank. n may be nil.
func (n *Node) Texts() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		if n == nil {
			return
		}
		for _, one := range append([]*Node{n}, n.Items...) {
			if one.Kind == TextKind && strings.TrimSpace(one.Text) != "" && !yield(one) {
				return
			}
		}
	}
}

// Plain returns the node as encoding/json would decode it. Of two keys with one name the
// last counts, as in JSON.
func (n *Node) Plain() any {
	switch n.Kind {
	case BoolKind:
		return n.Yes
	case WholeKind:
		return n.Whole
	case NumberKind:
		return n.Real
	case TextKind:
		return n.Text
	case ListKind:
		items := make([]any, len(n.Items))
		for i, item := range n.Items {
			items[i] = item.Plain()
		}
		return items
	case MappingKind:
		fields := make(map[string]any, len(n.Pairs))
		for _, p := range n.Pairs {
			fields[p.Key.Text] = p.Value.Plain()
		}
		return fields
	}
	return nil
}

// Quote prepares text of a file for a message: quoted as in Go, and clipped.
func Quote(s string) string { return fmt.Sprintf("%q", Clip(s)) }

// clipped is how much of a text stands in a message, in characters.
const clipped = 60

// Clip shortens text of a file for a message.
func Clip(s string) string {
	if first := fmt.Sprintf("%.*s", clipped, s); len(first) < len(s) {
		return first + "…"
	}
	return s
}
