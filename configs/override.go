package configs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// OverridePath is where the local override of a spec lies: team.override.yaml
// beside team.yaml. It is for what one person or one machine wants otherwise.
func OverridePath(spec string) string {
	ext := filepath.Ext(spec)
	return strings.TrimSuffix(spec, ext) + ".override" + ext
}

// readOverride reads the local override of a spec; nil if there is none.
func readOverride(spec string) ([]byte, error) {
	data, err := readSpec(OverridePath(spec))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// override lays a second file over the decoder's tree. What is wrong with it has its
// own name and lines.
//
// It is called once, after the spec is parsed and before anything is decoded. A file with
// nothing but comments in it counts as no file. d.root is a new tree afterwards.
func (d *decoder) override(name string, data []byte) {
	over := newDecoder(name, data)
	if over.root == nil && len(over.problems) == 1 && over.problems[0].Message == emptySpec {
		return // somebody has taken out all that was in it
	}
	d.problems = append(d.problems, over.problems...)
	if d.root == nil || over.root == nil {
		return
	}
	if over.root.kind != kindMapping {
		d.problems = append(d.problems, over.src.problem(over.root.at,
			"the override must be a mapping with keys of a spec"))
		return
	}
	d.src.over = over.src
	over.root.shift(len(d.src.lines))
	d.root = lay(over.root, d.root)
}

// shift moves a tree down. The lines of an override are counted on from those of
// the spec, so that a position alone says which file it is in.
func (n *node) shift(by int) {
	n.at.line += by
	for _, item := range n.items {
		item.shift(by)
	}
	for _, p := range n.pairs {
		p.key.shift(by)
		p.value.shift(by)
	}
}

// lay merges two values: mappings key by key, anything else is replaced. A key
// without a value takes the one below away.
//
// Lists are replaced whole: there is no telling which entry of one is meant by which of
// the other. under is not changed; parts of it may stand in the result.
func lay(over, under *node) *node {
	if over.kind != kindMapping || under.kind != kindMapping {
		return over
	}
	out := *under
	out.pairs = append([]pair(nil), under.pairs...)
	seen := map[string]bool{}
	for _, p := range over.pairs {
		i := indexOf(out.pairs, p.key.text)
		switch {
		case seen[p.key.text] || i < 0:
			out.pairs = append(out.pairs, p) // one that comes twice is reported when it is decoded
		case p.value.kind == kindNull:
			out.pairs = append(out.pairs[:i], out.pairs[i+1:]...)
		default:
			out.pairs[i] = pair{p.key, lay(p.value, out.pairs[i].value)}
		}
		seen[p.key.text] = true
	}
	return &out
}

// indexOf is where a key stands first; -1 if it does not.
func indexOf(pairs []pair, key string) int {
	for i, p := range pairs {
		if p.key.text == key {
			return i
		}
	}
	return -1
}

// origin says which file a position is in, and where.
//
// It undoes shift. A position of the spec itself is given back as it is.
func (s *source) origin(at position) (*source, position) {
	if s.over != nil && at.line > len(s.lines) {
		return s.over, position{at.line - len(s.lines), at.col}
	}
	return s, at
}
