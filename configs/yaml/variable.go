package yaml

import (
	"errors"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/google/jsonschema-go/jsonschema"
)

// VariablePattern is the form of a variable's name.
const VariablePattern = `^[A-Za-z_][A-Za-z0-9_]*$`

var variablePattern = texts.Pattern(VariablePattern)

// CheckVariable reports whether n can name a variable, and reports a mistake if not. Shells and
// other programs drop or misread names of another form.
func (d *Decoder) CheckVariable(n *Node) bool {
	if variablePattern().MatchString(n.Text) {
		return true
	}
	d.Fail(n.At, "%s cannot be the name of a variable; write letters, digits and \"_\", with no digit first, "+
		"such as API_KEY", Quote(n.Text))
	return false
}

// Variable takes the name of a variable.
func Variable(to *Value[string]) Part {
	return scalar[string]{
		to: to, want: "the name of a variable, such as API_KEY",
		schema: func() jsonschema.Schema { return jsonschema.Schema{Type: "string", Pattern: VariablePattern} },
		read: func(d *Decoder, _, n *Node) (string, bool) {
			if n.Kind != TextKind || !d.CheckVariable(n) {
				return "", n.Kind == TextKind
			}
			return n.Text, true
		},
	}
}

// ErrUnset is the error of a variable that Expand names and nobody has set. Expand puts the
// name before it.
var ErrUnset = errors.New("is not set in covey's environment; set it before covey starts")

// Expand splits a value with variables such as ${NAME} into pieces of text and names of
// variables, and calls emit for each in order. It stops at the first error, its own or
// emit's.
func Expand(text string, emit func(piece string, name bool) error) error {
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
		if !strings.HasPrefix(rest, "{") || !closed || !variablePattern().MatchString(name) {
			return errors.New("a $ begins a variable such as ${NAME}; write $$ for a dollar")
		}
		if err := emit(name, true); errors.Is(err, ErrUnset) {
			return fmt.Errorf("%s %w", Clip(name), err)
		} else if err != nil {
			return err
		}
		text = after
	}
	return nil
}
