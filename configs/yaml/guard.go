package yaml

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// Limits of what is given to the YAML parser, whose time grows with the square of the
// number of keys in a mapping and of the depth of lists.
const (
	maxKeys         = 10_000
	maxGuardReports = 100 // the rest of an alias bomb is not listed
)

// Messages of guard and the converter.
const (
	secondDocument = "a second document begins here; a spec is one document, so remove this line " +
		"and what follows, or keep it in a file of its own"
	tooDeep = "this nests too deep; no part of a spec is deeper than a few levels"
)

// guard looks in the tokens for forms of YAML that a spec may not have and for what
// would make the parser slow. The parser is called only if guard finds nothing.
func guard(src *source, tokens token.Tokens) []Problem {
	g := guardian{src: src}
	for _, tk := range tokens {
		if tk.Position == nil || tk.Type == token.CommentType {
			continue
		}
		if message := g.look(tk); message != "" {
			g.problems = append(g.problems, src.problem(src.place(tk), message))
		}
		if g.fatal || len(g.problems) == maxGuardReports {
			break
		}
	}
	return g.problems
}

// guardian is the state of guard between two tokens. Depth is approximate: a bracket
// within a bracket, a dash after a dash on one line. MaxSize bounds nesting by
// indentation, which needs one line for each level; the converter refuses the rest.
type guardian struct {
	src      *source
	problems []Problem
	flow     int  // open [ and {
	dashes   int  // "- " in a row on line
	line     int  // of the last dash
	keys     int  // colons so far
	content  bool // a token of a document was seen
	ended    bool // the first document is over
	fatal    bool // the tokens that follow have no meaning
}

// look returns the message about the next token; empty if it is allowed.
func (g *guardian) look(tk *token.Token) string {
	switch tk.Type {
	case token.DocumentHeaderType:
		if g.content || g.ended {
			g.fatal = true
			return secondDocument
		}
		return ""
	case token.DocumentEndType:
		g.ended = true
		return ""
	case token.DirectiveType:
		g.fatal = true
		return "directives are not part of a spec; remove this line"
	}
	if g.ended {
		g.fatal = true
		return secondDocument
	}
	g.content = true
	if message := g.depth(tk); message != "" {
		g.fatal = true
		return message
	}
	return foreign(tk)
}

// depth counts nesting and keys, which make the parser slow.
func (g *guardian) depth(tk *token.Token) string {
	switch tk.Type {
	case token.SequenceStartType, token.MappingStartType:
		g.flow++
	case token.SequenceEndType, token.MappingEndType:
		g.flow--
	case token.SequenceEntryType:
		if tk.Position.Line != g.line {
			g.dashes, g.line = 0, tk.Position.Line
		}
		g.dashes++
	case token.MappingValueType:
		g.keys++
	}
	if g.flow > maxDepth || g.dashes > maxDepth {
		return tooDeep
	}
	if g.keys > maxKeys {
		return fmt.Sprintf("more than %d keys; a spec holds one team, so split this one", maxKeys)
	}
	return ""
}

// foreign refuses the forms of YAML by which a small file can stand for a huge one, or
// have another meaning than it seems to have.
func foreign(tk *token.Token) string {
	switch tk.Type {
	case token.AnchorType:
		return "anchors (&name) are not part of a spec; " +
			"write the value out, or put text that begins with & in quotes"
	case token.AliasType:
		return "aliases (*name) are not part of a spec; " +
			"write the value out, or put text that begins with * in quotes"
	case token.MergeKeyType:
		return "merge keys (<<) are not part of a spec; " +
			"write the keys out, or put what members share under defaults"
	case token.TagType:
		return "tags (!name) are not part of a spec; " +
			"remove the tag, or put text that begins with ! in quotes"
	case token.MappingKeyType:
		return "keys that begin with ? are not part of a spec; write key: value"
	}
	return ""
}
