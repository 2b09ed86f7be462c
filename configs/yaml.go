package configs

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxDepth is how deep lists and mappings may nest. The deepest spec that
// means anything nests 7 deep.
const maxDepth = 32

// parseYAML makes the source a tree. Problems other than the first syntax
// error come from guard, which runs before the parser does.
func parseYAML(src *source, tokens token.Tokens) (root *node, problems []Problem) {
	// The library is not ours and its input is not trusted: a panic in it
	// becomes a problem like any other.
	defer func() {
		if r := recover(); r != nil {
			message := "the YAML cannot be read; write it in a simpler form"
			root, problems = nil, []Problem{src.problem(position{1, 1}, message)}
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
			c.refuse(doc.Body, secondDocument)
			break
		}
		root = c.convert(doc.Body, 0)
	}
	return root, c.problems
}

// syntaxProblem words the library's error for people who do not know YAML's
// grammar.
func syntaxProblem(src *source, err error) Problem {
	var syntax yaml.Error
	if !errors.As(err, &syntax) || syntax.GetToken() == nil {
		return src.problem(position{1, 1}, "the YAML cannot be read; write it in a simpler form")
	}
	message, tk := syntax.GetMessage(), syntax.GetToken()
	at := position{tk.Position.Line, tk.Position.Column}
	for _, hint := range syntaxHints() {
		if strings.Contains(message, hint[0]) {
			return src.problem(at, hint[1])
		}
	}
	return src.problem(at, fmt.Sprintf("the YAML cannot be read here (%s); check the indentation and the quotes", message))
}

// syntaxHints pairs a part of the library's message with ours. The first that
// fits is used.
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

// converter turns the library's tree into ours.
type converter struct {
	src      *source
	problems []Problem
}

// refuse records a problem at a node of the library's.
func (c *converter) refuse(n ast.Node, message string) {
	c.problems = append(c.problems, c.src.problem(c.src.place(n.GetToken()), message))
}

// convert returns the node for n, or nil after it has refused n.
func (c *converter) convert(n ast.Node, depth int) *node {
	if depth > maxDepth {
		c.refuse(n, tooDeep)
		return nil
	}
	out := &node{at: c.src.place(n.GetToken())}
	switch v := n.(type) {
	case *ast.NullNode:
		out.kind, out.text = kindNull, "null"
	case *ast.BoolNode:
		out.kind, out.yes, out.text = kindBool, v.Value, v.Token.Value
	case *ast.IntegerNode:
		setInteger(out, v)
	case *ast.FloatNode:
		out.kind, out.real, out.text = kindNumber, v.Value, v.Token.Value
	case *ast.InfinityNode:
		out.kind, out.real, out.text = kindNumber, v.Value, v.Token.Value
	case *ast.NanNode:
		out.kind, out.real, out.text = kindNumber, math.NaN(), v.Token.Value
	case *ast.StringNode:
		out.kind, out.text = kindText, v.Value
		setNumber(out, v)
	case *ast.LiteralNode:
		out.kind, out.text = kindText, v.Value.Value
	case *ast.SequenceNode:
		c.list(out, v, depth)
	case *ast.MappingNode:
		c.mapping(out, v.Values, depth)
		if v.IsFlowStyle {
			out.at = c.src.place(v.Start)
		}
	case *ast.MappingValueNode:
		c.mapping(out, []*ast.MappingValueNode{v}, depth)
	default:
		c.refuse(n, "this form of YAML is not part of a spec; write plain text, lists and mappings")
		return nil
	}
	return out
}

// setInteger makes a whole number of what fits int64, and a number of the rest.
func setInteger(out *node, v *ast.IntegerNode) {
	out.kind, out.text = kindWhole, v.Token.Value
	switch i := v.Value.(type) {
	case int64:
		out.whole = i
	case uint64:
		if i > math.MaxInt64 {
			out.kind, out.real = kindNumber, float64(i)
			return
		}
		out.whole = int64(i)
	}
	out.real = float64(out.whole)
}

// plainNumber is a number as JSON and YAML 1.2 write it.
var plainNumber = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// setNumber makes numbers of those that the library takes for text: the very
// large and those with an exponent.
func setNumber(out *node, v *ast.StringNode) {
	if v.Token.Type != token.StringType || !plainNumber.MatchString(v.Value) {
		return
	}
	// Too large for a float is infinite, which no part of a spec takes.
	out.kind = kindNumber
	out.real, _ = strconv.ParseFloat(v.Value, 64)
}

// list converts the entries of a list; those that are refused are left out.
func (c *converter) list(out *node, v *ast.SequenceNode, depth int) {
	out.kind = kindList
	out.at = c.src.place(v.Start)
	for _, item := range v.Values {
		if n := c.convert(item, depth+1); n != nil {
			out.items = append(out.items, n)
		}
	}
}

// mapping converts the entries of a mapping. A block mapping begins at its
// first key; the library says it begins at that key's colon.
func (c *converter) mapping(out *node, values []*ast.MappingValueNode, depth int) {
	out.kind = kindMapping
	for i, entry := range values {
		if i == 0 {
			out.at = c.src.place(entry.Key.GetToken())
		}
		key := c.convert(entry.Key, depth+1)
		if key == nil {
			continue
		}
		if value := c.convert(entry.Value, depth+1); value != nil {
			out.pairs = append(out.pairs, pair{key, value})
		}
	}
}

// place is where a token begins. The library's columns are off by the tabs
// before a token, so blanks at the place are skipped.
func (s *source) place(tk *token.Token) position {
	at := position{tk.Position.Line, tk.Position.Column}
	if at.line < 1 || at.line > len(s.lines) {
		return position{max(min(at.line, len(s.lines)), 1), 1}
	}
	line := s.line(at.line)
	for at.col >= 1 && at.col <= len(line) && (line[at.col-1] == ' ' || line[at.col-1] == '\t') {
		at.col++
	}
	return at
}
