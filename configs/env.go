package configs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// EnvVar is a variable for an agent program.
type EnvVar struct {
	Name string `json:"name"`
	// Value is what the program gets, with covey's own variables filled in. It may be a
	// secret: show Text instead, which is the value as the spec has it.
	Value string `json:"-"`
	Text  string `json:"text"`
	// File is the absolute path of the file that Value was read from; empty if Value was
	// made from Text.
	File string `json:"file,omitempty"`
}

// Refers lists covey's own variables that the value contains, each once and in order. They
// are passed to the program.
func (v EnvVar) Refers() []string {
	if v.File != "" {
		return nil
	}
	var out []string
	// Text comes from a spec that has been checked, so Expand cannot fail; a variable made
	// by a program has no Text.
	_ = yaml.Expand(v.Text, func(piece string, name bool) error {
		if name && !slices.Contains(out, piece) {
			out = append(out, piece)
		}
		return nil
	})
	return out
}

// String returns the variable as the spec has it. It never shows Value, which may be a
// secret.
func (v EnvVar) String() string { return v.Name + "=" + v.Text }

// reservedVariables begins the names that covey uses itself, such as to identify a
// member's processes.
const reservedVariables = "COVEY_"

// maxExpanded bounds all values of a spec's variables together, in bytes, because a small
// spec could name a large variable many times.
const maxExpanded = 1 << 20

// errLong is the mistake of variables that are too long.
var errLong = fmt.Errorf("the values of all variables are longer than %d KiB; shorten them", maxExpanded>>10)

// env resolves a program's variables.
func (r *resolver) env(entries []yaml.Entry[yaml.VariableValue]) []EnvVar {
	var out []EnvVar
	for _, e := range entries {
		if strings.HasPrefix(e.Name.Text, reservedVariables) {
			r.Fail(e.Name.At, "variables that begin with %s are reserved for covey; remove %s, or give it another name",
				reservedVariables, yaml.NameOf(e.Name))
			continue
		}
		if e.V.At != nil {
			// A change of the file takes effect when the team starts again.
			v := EnvVar{Name: e.Name.Text, Text: "file: " + e.V.File.V}
			v.File, v.Value = r.Secret(e.V.File)
			if r.expanded += len(v.Value); r.expanded > maxExpanded {
				r.Fail(e.Name.At, "%s: %v", yaml.NameOf(e.Name), errLong)
			}
			out = append(out, v)
			continue
		}
		v := EnvVar{Name: e.Name.Text, Text: e.V.Text.V}
		room := maxExpanded - r.expanded
		err := yaml.Expand(v.Text, func(piece string, name bool) error {
			if name {
				var ok bool
				if piece, ok = r.lookup(piece); !ok {
					return yaml.ErrUnset
				}
			}
			if len(v.Value)+len(piece) > room {
				return errLong
			}
			v.Value += piece
			return nil
		})
		if err != nil {
			r.Fail(e.V.Text.At.At, "%s: %v", yaml.NameOf(e.Name), err)
		}
		r.expanded += len(v.Value)
		out = append(out, v)
	}
	return out
}
