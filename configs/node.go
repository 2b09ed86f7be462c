package configs

import "fmt"

// kind is what a node is.
type kind uint8

// The kinds of nodes. Numbers come in two, because JSON and people write
// whole ones without a point, and most numbers of a spec count something.
const (
	kindNull kind = iota
	kindBool
	kindWhole  // a whole number that fits int64
	kindNumber // any other number
	kindText
	kindList
	kindMapping
)

// node is one value of a spec with its place. It is all that the rest of the
// package knows of YAML.
type node struct {
	kind  kind
	at    position
	text  string // scalars: as written; texts: the value
	whole int64  // kindWhole
	real  float64
	yes   bool // kindBool
	items []*node
	pairs []pair

	// broken is set by the decoder on a mapping in which it found a mistake.
	// What the mapping seems to lack may be what was meant there.
	broken bool
}

// pair is one entry of a mapping. Its key is a scalar.
type pair struct{ key, value *node }

// describe says what n is, for messages.
func (n *node) describe() string {
	switch n.kind {
	case kindNull:
		return "nothing"
	case kindBool, kindWhole, kindNumber:
		return clip(n.text)
	case kindText:
		return "the text " + quote(n.text)
	case kindList:
		return "a list"
	default:
		return "a mapping"
	}
}

// lookup returns the value of a mapping's key, or nil.
func (n *node) lookup(key string) *node {
	for _, p := range n.pairs {
		if p.key.text == key {
			return p.value
		}
	}
	return nil
}

// quote puts text of the spec into a message: escapes disarmed, not too long.
func quote(s string) string { return fmt.Sprintf("%q", clip(s)) }

// clipped is the length of spec text in messages, in characters.
const clipped = 60

// clip cuts s for use in a message.
func clip(s string) string {
	if runes := []rune(s); len(runes) > clipped {
		return string(runes[:clipped]) + "…"
	}
	return s
}
