package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/coveyteam/covey/hooks/texts"
)

// The YAML library takes quadratic time for deeply nested files and for mappings
// with very many keys. These limits are far above those of real scripts.
const (
	maxDepth = 100
	maxKeys  = 60_000
)

// document parses data and returns the root of its only document. If there is a
// mistake, it records it and returns nil.
func (p *problems) document(data []byte) ast.Node {
	// Check the size before processing the content.
	if len(data) > MaxSize {
		p.at(nil, fmt.Sprintf("the script is larger than %d KiB; split it into one script a member", MaxSize>>10))
		return nil
	}
	p.lines = strings.Split(string(data), "\n")
	tokens := lexer.Tokenize(string(data))
	if p.checkTokens(tokens); len(p.list) > 0 {
		return nil
	}
	// The parser finds duplicate keys.
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		p.syntax(err)
		return nil
	}
	if len(file.Docs) > 1 && file.Docs[1].Body != nil {
		p.atNode(file.Docs[1].Body,
			"a second document; one file is one script, so put it into a file of its own")
		return nil
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		p.at(nil, "the script is empty; write at least `steps: [{say: hello}]`")
		return nil
	}
	return file.Docs[0].Body
}

// checkTokens refuses, before parsing, tokens that would overload the parser and
// those that scripts do not allow. Aliases in particular: nine nested ones in a few
// lines use up all memory.
func (p *problems) checkTokens(tokens token.Tokens) {
	depth, keys := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			p.at(t, "anchors, aliases and merge keys are not allowed; write the value out")
		case token.TagType:
			p.at(t, "tags are not allowed; write text in quotes, everything else plainly")
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.MappingValueType:
			keys++
		}
		if depth > maxDepth || keys > maxKeys {
			p.at(t, fmt.Sprintf("more than %d brackets deep or %d keys; split the script", maxDepth, maxKeys))
			return
		}
	}
}

// syntax records the parser's error at its position.
func (p *problems) syntax(err error) {
	var positioned yaml.Error
	if errors.As(err, &positioned) && positioned.GetToken() != nil {
		p.at(positioned.GetToken(), positioned.GetMessage()+
			"; is the indentation right, and text with a colon in quotes?")
		return
	}
	// The rest of the library's text is the source.
	first, _, _ := strings.Cut(err.Error(), "\n")
	p.at(nil, "not YAML: "+first)
}

// at records a problem at t, or at the beginning of the file if t has no position.
func (p *problems) at(t *token.Token, message string) {
	line, col := 1, 1
	if t != nil && t.Position != nil {
		line, col = max(t.Position.Line, 1), max(t.Position.Column, 1)
	}
	p.list = append(p.list, Problem{File: p.file, Line: line, Col: col, Message: shorten(message)})
}

// maxMessage is the maximum length of a message, in bytes. Messages quote the file,
// in which a key may be very long.
const maxMessage = 400

// shorten cuts the middle out of a message that is too long, because the subject is
// at its beginning and the advice at its end.
func shorten(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	head := strings.ToValidUTF8(message[:maxMessage/2], "")
	return head + " … " + strings.ToValidUTF8(message[len(message)-maxMessage/2:], "")
}

// atNode records a problem at the beginning of n. The token of a mapping is its
// first colon, so its first key is used instead.
func (p *problems) atNode(n ast.Node, format string, args ...any) {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	p.at(n.GetToken(), fmt.Sprintf(format, args...))
}

// place returns the position of n.
func (p *problems) place(n ast.Node) Problem {
	spot := problems{file: p.file}
	spot.atNode(n, "")
	spot.list[0].show(p.lines)
	return spot.list[0]
}

// kind describes n for messages. A scalar is described by its source text.
func kind(n ast.Node) string {
	switch n.(type) {
	case *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	default:
		return n.GetToken().Value
	}
}

// field is one key of a mapping and its value.
type field struct {
	key   string
	name  ast.Node
	value ast.Node
}

// fields returns the keys of n in order, or false if n is not a mapping. Some
// versions of the library return a mapping with one key as a node of another type.
func fields(n ast.Node) ([]field, bool) {
	var values []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		return nil, false
	}
	list := make([]field, 0, len(values))
	for _, v := range values {
		list = append(list, field{v.Key.GetToken().Value, v.Key, v.Value})
	}
	return list, true
}

// json converts n to JSON, with keys in the order of the file. It also checks the
// depth, because checkTokens does not count nesting by indentation.
func (p *problems) json(n ast.Node, depth int) json.RawMessage {
	if depth > maxDepth {
		p.atNode(n, "nested more than %d deep; write it flatter", maxDepth)
		return nil
	}
	var out bytes.Buffer
	switch v := n.(type) {
	case *ast.SequenceNode:
		out.WriteByte('[')
		for i, item := range v.Values {
			if i > 0 {
				out.WriteByte(',')
			}
			out.Write(p.json(item, depth+1))
		}
		out.WriteByte(']')
	case *ast.MappingNode, *ast.MappingValueNode:
		list, _ := fields(n)
		out.WriteByte('{')
		for i, f := range list {
			if i > 0 {
				out.WriteByte(',')
			}
			out.Write(texts.Encode(f.key))
			out.WriteByte(':')
			out.Write(p.json(f.value, depth+1))
		}
		out.WriteByte('}')
	default:
		return p.scalar(n)
	}
	return out.Bytes()
}

// scalar converts a scalar to JSON. Infinity and NaN are refused.
func (p *problems) scalar(n ast.Node) json.RawMessage {
	raw, err := texts.Marshal(value(n))
	if err != nil {
		p.atNode(n, "%s cannot be written as JSON; write it as text, in quotes", n.GetToken().Value)
	}
	return raw
}

// value returns the Go value of a scalar.
func value(n ast.Node) any {
	switch v := n.(type) {
	case *ast.LiteralNode:
		return v.Value.Value
	case ast.ScalarNode:
		return v.GetValue()
	default:
		return n.GetToken().Value
	}
}
