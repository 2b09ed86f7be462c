package yaml

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parseYAML parses the tokens into a tree. It reports the first syntax error only, and
// nodes that the converter refuses.
func parseYAML(src *source, tokens token.Tokens) (root *Node, problems []Problem) {
	// The input is not trusted, so a panic of the library becomes a problem.
	defer func() {
		if r := recover(); r != nil {
			message := "the YAML cannot be read; write it in a simpler form"
			root, problems = nil, []Problem{src.problem(Position{1, 1}, message)}
		}
	}()
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, []Problem{syntaxProblem(src, err)}
	}
	c := converter{src: src}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if root != nil {
			c.refuse(doc.Body, src.secondDocument())
			break
		}
		root = c.convert(doc.Body, 0)
	}
	return root, c.problems
}

// syntaxProblem translates the library's error for readers who do not know the grammar
// of YAML.
func syntaxProblem(src *source, err error) Problem {
	var syntax yaml.Error
	if !errors.As(err, &syntax) || syntax.GetToken() == nil {
		return src.problem(Position{1, 1}, "the YAML cannot be read; write it in a simpler form")
	}
	message, tk := syntax.GetMessage(), syntax.GetToken()
	at := Position{tk.Position.Line, tk.Position.Column}
	for _, hint := range syntaxHints() {
		if strings.Contains(message, hint[0]) {
			return src.problem(at, hint[1])
		}
	}
	return src.problem(at, fmt.Sprintf("the YAML cannot be read here (%s); check the indentation and the quotes", message))
}

// syntaxHints pairs a part of a message of the library with the message to show. The
// first match is used.
func syntaxHints() [][2]string {
	return [][2]string{
		{`'\t' that cannot start`, "a tab cannot indent; use spaces"},
		{"found character '\t'", "a tab cannot indent; use spaces"},
		{"tab character", "a tab cannot stand here; use a space"},
		{"mapping value is not allowed", "a key cannot stand here; give each key its own line, " +
			"indent it like its neighbours, and quote text that holds \": \""},
		{"non-map value is specified", "this line is not of the form key: value; add the colon, " +
			"or indent the line below the key it belongs to"},
		{"end character of double-quoted", "the closing \" is missing; add it"},
		{"end character of single-quoted", "the closing ' is missing; add it"},
		{"' must be specified", "a , or the closing bracket is missing before this; add it"},
		{"sequence end token", "the closing ] is missing; add it"},
		{"end token '}'", "the closing } is missing; add it"},
		{"corresponding to ']'", "there is no [ for this ]; remove it, or quote the text"},
		{"corresponding to '}'", "there is no { for this }; remove it, or quote the text"},
		{"reserved character", "text cannot begin with this character; put the text in quotes"},
		{"value is not allowed in this context", "this does not belong here; check its indentation"},
		{"block sequence entries are not allowed", "a list entry cannot stand here; " +
			"begin the list on the next line, or write [a, b]"},
	}
}

// converter makes nodes of the library's tree.
type converter struct {
	src      *source
	problems []Problem
}

// refuse records a problem at a node of the library.
func (c *converter) refuse(n ast.Node, message string) {
	c.problems = append(c.problems, c.src.problem(c.src.place(n.GetToken()), message))
}

// convert returns the node for n, or nil if it refuses n.
func (c *converter) convert(n ast.Node, depth int) *Node {
	if depth > c.src.MaxDepth {
		c.refuse(n, c.src.tooDeep())
		return nil
	}
	out := &Node{At: c.src.place(n.GetToken())}
	switch v := n.(type) {
	case *ast.NullNode:
		out.Kind, out.Text = NullKind, "null"
	case *ast.BoolNode:
		out.Kind, out.Yes, out.Text = BoolKind, v.Value, v.Token.Value
	case *ast.IntegerNode:
		setInteger(out, v)
	case *ast.FloatNode:
		out.Kind, out.Real, out.Text = NumberKind, v.Value, v.Token.Value
	case *ast.InfinityNode:
		out.Kind, out.Real, out.Text = NumberKind, v.Value, v.Token.Value
	case *ast.NanNode:
		out.Kind, out.Real, out.Text = NumberKind, math.NaN(), v.Token.Value
	case *ast.StringNode:
		out.Kind, out.Text = TextKind, v.Value
		setNumber(out, v)
	case *ast.LiteralNode:
		out.Kind, out.Text = TextKind, v.Value.Value
	case *ast.SequenceNode:
		c.list(out, v, depth)
	case *ast.MappingNode:
		c.mapping(out, v.Values, depth)
		if v.IsFlowStyle {
			out.At = c.src.place(v.Start)
		}
	case *ast.MappingValueNode:
		c.mapping(out, []*ast.MappingValueNode{v}, depth)
	default:
		c.refuse(n, "this form of YAML is not part of a "+c.src.Name+"; write plain text, lists and mappings")
		return nil
	}
	return out
}

// setInteger sets a Whole if the value fits int64, and a Number if not.
func setInteger(out *Node, v *ast.IntegerNode) {
	out.Kind, out.Text = WholeKind, v.Token.Value
	switch i := v.Value.(type) {
	case int64:
		out.Whole = i
	case uint64:
		if i > math.MaxInt64 {
			out.Kind, out.Real = NumberKind, float64(i)
			return
		}
		out.Whole = int64(i)
	}
	out.Real = float64(out.Whole)
}

// plainNumber is a number as JSON and YAML 1.2 write it.
var plainNumber = texts.Pattern(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// setNumber makes a Number of a text that the library does not read as one: very large
// numbers and those with an exponent.
func setNumber(out *Node, v *ast.StringNode) {
	if v.Token.Type != token.StringType || !plainNumber().MatchString(v.Value) {
		return
	}
	// A number that is too large for a float64 becomes infinite, which no key accepts.
	out.Kind = NumberKind
	out.Real, _ = strconv.ParseFloat(v.Value, 64)
}

// list converts the entries of a list, without those that convert refuses.
func (c *converter) list(out *Node, v *ast.SequenceNode, depth int) {
	out.Kind = ListKind
	out.At = c.src.place(v.Start)
	for _, item := range v.Values {
		if n := c.convert(item, depth+1); n != nil {
			out.Items = append(out.Items, n)
		}
	}
}

// mapping converts the entries of a mapping. The library reports the first colon as the
// start of a block mapping, so its place is that of its first key.
func (c *converter) mapping(out *Node, values []*ast.MappingValueNode, depth int) {
	out.Kind = MappingKind
	for i, entry := range values {
		if i == 0 {
			out.At = c.src.place(entry.Key.GetToken())
		}
		key := c.convert(entry.Key, depth+1)
		if key == nil {
			continue
		}
		if value := c.convert(entry.Value, depth+1); value != nil {
			out.Pairs = append(out.Pairs, Pair{key, value})
		}
	}
}

// place returns where a token begins. The columns of the library do not count tabs
// before a token, so blanks at the place are skipped.
func (s *source) place(tk *token.Token) Position {
	at := Position{tk.Position.Line, tk.Position.Column}
	if at.Line < 1 || at.Line > len(s.lines) {
		return Position{max(min(at.Line, len(s.lines)), 1), 1}
	}
	line := s.line(at.Line)
	for at.Col >= 1 && at.Col <= len(line) && (line[at.Col-1] == ' ' || line[at.Col-1] == '\t') {
		at.Col++
	}
	return at
}
