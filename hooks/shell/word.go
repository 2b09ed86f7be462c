package shell

import (
	"os"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Unknown stands in a word for something that only the shell knows when it runs: any
// text, of any length.
const Unknown = '\x00'

// Word is one word of a command after the shell's quoting. Parts that only the shell knows
// are Unknown.
type Word struct {
	Value  string
	Static bool // nothing in it is unknown
	Splits bool // it may expand to any number of words

	// At and End are where it stands in the line's text or, for Args, its index and the next
	// one. Both are zero for a word that is not written like that there.
	At, End int

	node *syntax.Word
}

// static returns a word that has only its literal meaning.
func static(text string) Word { return Word{Value: text, Static: true} }

// Literal returns what the word will be; empty if that is not known.
func (w Word) Literal() string {
	if !w.Static {
		return ""
	}
	return w.Value
}

// Program returns the name of the program that a word starts, without its folder. known is
// false if the name is not literal.
func (w Word) Program() (name string, known bool) {
	if !w.Static && !w.IsFile() {
		return "", false
	}
	return path.Base(w.Value), true
}

// IsFile reports whether a word certainly names one file, even if a part of it is unknown:
// "$dir/env.sh".
func (w Word) IsFile() bool {
	if w.Static {
		return !isInput(w.Value)
	}
	base := w.Value[strings.LastIndexByte(w.Value, '/')+1:]
	return !w.Splits && strings.Contains(w.Value, "/") && !strings.ContainsRune(base, Unknown) &&
		base != "" &&
		base != "stdin" && strings.Trim(base, "0123456789") != ""
}

// isInput reports whether a path is the standard input or a file descriptor.
func isInput(name string) bool {
	name = path.Clean(name)
	return name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") ||
		strings.HasPrefix(name, "/proc/") && strings.Contains(name, "/fd/")
}

// MayBeOption reports whether a word may be an option.
func (w Word) MayBeOption() bool {
	return len(w.Value) > 1 && w.Value[0] == '-' || strings.HasPrefix(w.Value, string(Unknown))
}

// Quote returns text as one word of any shell.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Join returns a list of arguments as a command line. It quotes only words in which some
// shell may treat a character specially, if only at the start of a word.
func Join(args []string) string {
	words := slices.Clone(args)
	for i, arg := range args {
		if arg == "" || strings.ContainsFunc(arg, special) {
			words[i] = Quote(arg)
		}
	}
	return strings.Join(words, " ")
}

// special lists the harmless characters, which is safer than the reverse: braces, = and ^
// are special in bash or zsh.
func special(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("-_./:@%+,", r)
}

// Env is what is known of the environment in which a line will run.
type Env struct {
	Values func(variable string) []string // the values that a variable may have
	Output func(command string) string    // what a command in $() writes; empty if that is not known
}

// maxMeanings is the maximum number of texts that one word may become.
const maxMeanings = 64

// Expand returns the texts that a word may become; globs in them are not expanded. What
// cannot be known is Unknown.
func (w Word) Expand(env Env) []string {
	if w.node == nil {
		return []string{w.Value}
	}
	return env.parts(w.node.Parts)
}

// parts returns the possible texts of the parts of a word together.
func (e Env) parts(parts []syntax.WordPart) []string {
	all := []string{""}
	for _, part := range parts {
		var next []string
		for _, piece := range e.part(part) {
			for _, text := range all {
				if len(next) < maxMeanings {
					next = append(next, text+piece)
				}
			}
		}
		all = next
	}
	return all
}

// part returns the possible texts of one part of a word.
func (e Env) part(part syntax.WordPart) []string {
	switch p := part.(type) {
	case *syntax.Lit:
		text := strings.ReplaceAll(p.Value, "\\", "")
		if home, err := os.UserHomeDir(); err == nil && (text == "~" || strings.HasPrefix(text, "~/")) {
			text = home + text[1:]
		}
		return []string{text}
	case *syntax.SglQuoted:
		return []string{singleQuoted(p)}
	case *syntax.DblQuoted:
		return e.parts(p.Parts)
	case *syntax.ParamExp:
		return e.parameter(p)
	case *syntax.CmdSubst:
		var b strings.Builder
		if e.Output == nil || len(p.Stmts) != 1 || syntax.NewPrinter().Print(&b, p.Stmts[0]) != nil {
			break
		}
		if text := e.Output(strings.TrimSpace(b.String())); text != "" {
			return []string{text}
		}
	}
	return []string{string(Unknown)}
}

// parameter returns the possible values of a variable.
func (e Env) parameter(p *syntax.ParamExp) []string {
	if p.Param == nil || p.Excl || p.Length || p.Index != nil || p.Slice != nil || p.Repl != nil {
		return []string{string(Unknown)}
	}
	values := slices.Clone(e.Values(p.Param.Value))
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
			syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if p.Exp.Word != nil {
				values = append(values, e.parts(p.Exp.Word.Parts)...)
			}
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		default:
			return []string{string(Unknown)}
		}
	}
	if len(values) == 0 {
		return []string{string(Unknown)}
	}
	return values[:min(len(values), maxMeanings)]
}

// valueOf returns what a word will be, as far as that is known.
func valueOf(w *syntax.Word) Word {
	var value strings.Builder
	splits := false
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			text := unquote(p.Value, false)
			splits = splits || strings.ContainsRune(text, Unknown)
			value.WriteString(text)
		case *syntax.SglQuoted:
			value.WriteString(singleQuoted(p))
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					value.WriteString(unquote(lit.Value, true))
				} else {
					value.WriteByte(Unknown)
					splits = splits || expandsToList(inner)
				}
			}
		default:
			value.WriteByte(Unknown)
			splits = splits || !isFolder(part)
		}
	}
	text := value.String()
	return Word{Value: text, Static: !strings.ContainsRune(text, Unknown), Splits: splits,
		At: int(w.Pos().Offset()), End: int(w.End().Offset()), node: w}
}

// expandsToList reports whether an expansion yields several words even in double quotes:
// "$@" and "${a[@]}".
func expandsToList(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	return ok && (p.Param == nil || p.Param.Value == "@" || p.Excl || p.Index != nil || p.Slice != nil)
}

// isFolder reports whether an expansion is a variable that holds a folder. Such values
// hardly ever split into words.
func isFolder(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	return ok && p.Param != nil && (p.Param.Value == "HOME" || p.Param.Value == "PWD") && p.Exp == nil &&
		p.Index == nil && p.Slice == nil && p.Repl == nil && !p.Excl
}

// singleQuoted returns the text of '…' or, with escapes resolved, of $'…'.
func singleQuoted(quoted *syntax.SglQuoted) string {
	if !quoted.Dollar {
		return quoted.Value
	}
	text, _, err := expand.Format(&expand.Config{}, strings.ReplaceAll(quoted.Value, "%", "%%"), nil)
	if err != nil {
		return string(Unknown)
	}
	return text
}

// unquote removes the backslashes from a literal. Outside quotes, globs and lists in braces
// become Unknown.
func unquote(text string, quoted bool) string {
	switch {
	case quoted:
	case text == "[" || text == "]": // the test command
		return text
	case strings.ContainsRune(text, '{') && strings.ContainsAny(text, ",."):
		return string(Unknown)
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0):
			i++
			if text[i] != '\n' {
				out.WriteByte(text[i])
			}
		case !quoted && b == '[':
			i = max(i, strings.LastIndexByte(text, ']')) // one of the characters in it
			out.WriteByte(Unknown)
		case !quoted && (b == '*' || b == '?'):
			out.WriteByte(Unknown)
		default:
			out.WriteByte(b)
		}
	}
	return out.String()
}

// braced returns what a word with a list in braces expands to, if that is not too much.
func braced(n *syntax.Word) (values []Word) {
	lit := n.Lit()
	if !strings.Contains(lit, ",") || strings.Contains(lit, "..") || strings.Count(lit, "{") > 4 {
		return nil
	}
	list := *n
	list.Parts = slices.Clone(n.Parts)
	if !syntax.SplitBraces(&list) {
		return nil
	}
	for one, err := range expand.BracesSeq(nil, &list) {
		if err != nil {
			return nil // it is too large
		}
		values = append(values, valueOf(one))
	}
	return values
}
