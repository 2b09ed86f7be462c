package configs

import (
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/texts"
)

// Origin is a place that gives a key of a spec.
type Origin struct {
	File  string `json:"file"`
	Line  int    `json:"line"`
	Key   string `json:"key"`   // as it is written there, such as defaults.limits.max_turns
	Value any    `json:"value"` // as encoding/json would decode it
	// Policy means that the file is a policy: its value is the most that is allowed, or is added.
	Policy bool `json:"policy,omitempty"`
}

// Explain returns where a key of a spec comes from, such as lead.limits.max_turns, and what the key does. The
// policies come first, the outermost at the top, then what the members inherit, and then the key itself, in the
// spec or its override. An empty key stands for all keys that are given. The errors are those of LoadWith; that
// of an unknown key names a known one.
func Explain(path, key string, opts Options) (list []Origin, doc string, err error) {
	if _, err := LoadWith(path, opts); err != nil {
		return nil, "", err
	}
	w, err := readSpecFiles(path)
	if err != nil {
		return nil, "", err
	}
	r, err := w.resolver(opts)
	if err != nil {
		return nil, "", err
	}
	spec := teamSpec{}
	r.Object(nil, r.Root, spec.fields())
	var keys []string
	if key != "" {
		keys = strings.Split(key, ".")
		if doc, err = r.docOf(spec.fields(), keys); err != nil {
			return nil, "", err
		}
	}
	for _, extends := range append(r.managed(), spec.extends) {
		policies, _ := r.policies(extends)
		for _, p := range slices.Backward(policies) {
			list = append(list, originsOf(p.Document, policyKeys(keys), true)...)
		}
	}
	if rest := ofMember(keys); rest != nil {
		list = append(list, originsOf(r.Document, append([]string{"defaults"}, rest...), false)...)
	}
	return append(list, originsOf(r.Document, keys, false)...), doc, nil
}

// ofMember returns the keys within a member; nil if the keys are of no member.
func ofMember(keys []string) []string {
	switch {
	case len(keys) > 1 && keys[0] == "lead":
		return keys[1:]
	case len(keys) > 2 && (keys[0] == "teammates" || keys[0] == "templates"):
		return keys[2:]
	}
	return nil
}

// policyKeys returns the keys under which a policy has something to say about keys of a spec.
func policyKeys(keys []string) []string {
	if rest := ofMember(keys); rest != nil {
		keys = rest
	} else if len(keys) > 1 && keys[0] == "defaults" {
		keys = keys[1:]
	}
	if len(keys) == 1 {
		switch keys[0] {
		case "permission_mode", "agent", "model":
			return []string{keys[0] + "s"}
		}
	}
	return keys
}

// originsOf returns the place of the keys in a file, or of all keys if there are none.
func originsOf(d *yaml.Document, keys []string, policy bool) []Origin {
	n, at := d.Root, d.Root
	for _, key := range keys {
		pair := n.Entry(key)
		if n, at = pair.Value, pair.Key; n == nil {
			return nil
		}
	}
	if len(keys) == 0 {
		var list []Origin
		for _, p := range n.Pairs {
			list = append(list, leavesOf(d, []string{p.Key.Text}, p, policy)...)
		}
		return list
	}
	return []Origin{originOf(d, keys, at, n, policy)}
}

// originOf returns one place.
func originOf(d *yaml.Document, keys []string, at, value *yaml.Node, policy bool) Origin {
	file, own := d.Origin(at.At)
	return Origin{File: file, Line: own.Line, Key: strings.Join(keys, "."), Value: value.Plain(), Policy: policy}
}

// leavesOf returns the places of all keys in a pair whose values are no mappings.
func leavesOf(d *yaml.Document, keys []string, pair yaml.Pair, policy bool) (list []Origin) {
	if pair.Value.Kind != yaml.MappingKind {
		return []Origin{originOf(d, keys, pair.Key, pair.Value, policy)}
	}
	for _, p := range pair.Value.Pairs {
		list = append(list, leavesOf(d, append(slices.Clone(keys), p.Key.Text), p, policy)...)
	}
	return list
}

// docOf returns what a key does. Names, such as those of members, are keys of their sections.
func (r *resolver) docOf(fields []yaml.Field, keys []string) (doc string, err error) {
	for i := 0; i < len(keys); i++ {
		names := make([]string, len(fields))
		for j, f := range fields {
			names[j] = f.Key
		}
		at := slices.Index(names, keys[i])
		if at < 0 && fields == nil { // of a mapping without fixed keys
			return doc, nil
		}
		if at < 0 {
			there := "the keys there are " + strings.Join(names, ", ")
			if near := r.Nearest(keys[i], names); near != "" {
				there = "write " + strings.Join(append(slices.Clone(keys[:i]), near), ".")
			}
			return "", texts.Errorf(ErrSpec, "there is no key %s; %s", yaml.Quote(strings.Join(keys[:i+1], ".")), there)
		}
		found := fields[at]
		if doc, fields = found.Doc, yaml.Keys(found.Part); yaml.Named(found.Part) {
			i++
		}
	}
	return doc, nil
}
