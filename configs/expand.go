package configs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
)

// reservedVariables begins the names that covey uses itself, such as to identify a
// member's processes.
const reservedVariables = "COVEY_"

// maxExpanded bounds all values of a spec's variables together, in bytes, because a small
// spec could name a large variable many times.
const maxExpanded = 1 << 20

// env resolves a program's variables.
func (r *resolver) env(entries []yaml.Entry[variableSpec]) []EnvVar {
	var out []EnvVar
	for _, e := range entries {
		if strings.HasPrefix(e.Name.Text, reservedVariables) {
			r.Fail(e.Name.At, "variables that begin with %s are reserved for covey; remove %s, or give it another name",
				reservedVariables, yaml.NameOf(e.Name))
			continue
		}
		if e.V.secret.at != nil {
			v := r.secret(e.Name, &e.V.secret)
			if r.expanded += len(v.Value); r.expanded > maxExpanded {
				r.Fail(e.Name.At, "%s: %v", yaml.NameOf(e.Name), errLong)
			}
			out = append(out, v)
			continue
		}
		v := EnvVar{Name: e.Name.Text, Text: e.V.text.V}
		room := maxExpanded - r.expanded
		err := expand(v.Text, func(piece string, name bool) error {
			if name {
				var ok bool
				if piece, ok = r.lookup(piece); !ok {
					return errUnset
				}
			}
			if len(v.Value)+len(piece) > room {
				return errLong
			}
			v.Value += piece
			return nil
		})
		if err != nil {
			r.Fail(e.V.text.At.At, "%s: %v", yaml.NameOf(e.Name), err)
		}
		r.expanded += len(v.Value)
		out = append(out, v)
	}
	return out
}

// Mistakes about a name in a value. expand adds the name to errUnset.
var (
	errUnset = errors.New("is not set in covey's environment; set it before covey starts")
	errLong  = fmt.Errorf("the values of all variables are longer than %d KiB; shorten them", maxExpanded>>10)
)

// expand splits a value into pieces of text and names of variables, and calls emit for each
// in order. It stops at the first error, its own or emit's.
func expand(text string, emit func(piece string, name bool) error) error {
	for text != "" {
		plain, rest, found := strings.Cut(text, "$")
		if err := emit(plain, false); err != nil || !found {
			return err
		}
		if after, dollar := strings.CutPrefix(rest, "$"); dollar {
			if err := emit("$", false); err != nil {
				return err
			}
			text = after
			continue
		}
		name, after, closed := strings.Cut(strings.TrimPrefix(rest, "{"), "}")
		if !strings.HasPrefix(rest, "{") || !closed || !variablePattern.MatchString(name) {
			return errors.New("a $ begins a variable such as ${NAME}; write $$ for a dollar")
		}
		if err := emit(name, true); errors.Is(err, errUnset) {
			return fmt.Errorf("%s %w", yaml.Clip(name), err)
		} else if err != nil {
			return err
		}
		text = after
	}
	return nil
}
