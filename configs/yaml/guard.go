package yaml

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// maxGuardReports bounds what is listed of an alias bomb.
const maxGuardReports = 100

// secondDocument is the message about a second document.
func (f Form) secondDocument() string {
	return fmt.Sprintf("a second document begins here; a %s is one document, so remove this line and what follows, "+
		"or keep it in a file of its own", f.Name)
}

// tooDeep is the message about what is nested too deep.
func (f Form) tooDeep() string {
	return fmt.Sprintf("this nests too deep; no part of a %s is deeper than a few levels", f.Name)
}

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
			return g.src.secondDocument()
		}
		return ""
	case token.DocumentEndType:
		g.ended = true
		return ""
	case token.DirectiveType:
		g.fatal = true
		return g.src.excludes("directives", "remove this line")
	}
	if g.ended {
		g.fatal = true
		return g.src.secondDocument()
	}
	g.content = true
	if message := g.depth(tk); message != "" {
		g.fatal = true
		return message
	}
	return g.foreign(tk)
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
	if g.flow > g.src.MaxDepth || g.dashes > g.src.MaxDepth {
		return g.src.tooDeep()
	}
	if g.keys > g.src.MaxKeys {
		return fmt.Sprintf("more than %d keys; split this %s", g.src.MaxKeys, g.src.Name)
	}
	return ""
}

// foreign refuses the forms of YAML by which a small file can stand for a huge one, or
// have another meaning than it seems to have.
func (g *guardian) foreign(tk *token.Token) string {
	switch tk.Type {
	case token.AnchorType:
		return g.src.excludes("anchors (&name)", "write the value out, or put text that begins with & in quotes")
	case token.AliasType:
		return g.src.excludes("aliases (*name)", "write the value out, or put text that begins with * in quotes")
	case token.MergeKeyType:
		return g.src.excludes("merge keys (<<)", g.src.InsteadOfMerge)
	case token.TagType:
		return g.src.excludes("tags (!name)", "remove the tag, or put text that begins with ! in quotes")
	case token.MappingKeyType:
		return g.src.excludes("keys that begin with ?", "write key: value")
	}
	return ""
}

// excludes is the message about what such a file cannot have.
func (f Form) excludes(what, instead string) string {
	return fmt.Sprintf("%s are not part of a %s; %s", what, f.Name, instead)
}
