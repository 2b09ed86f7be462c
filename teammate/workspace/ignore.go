package workspace

import (
	"bytes"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Existing .gitignore libraries mishandle classes such as [!a] or files below a folder
// that is included again, or they depend on a whole git implementation. The rules are
// short and doublestar does the globbing, so they are implemented here; a test of
// the search tools compares them with git.

// ignoreRule is one line of a .gitignore file.
type ignoreRule struct {
	// glob is in the syntax of doublestar, not of git.
	glob string
	// keep represents "!": the rule includes again what an earlier one ignores.
	keep bool
	// dirOnly represents a "/" at the end: the rule applies to folders.
	dirOnly bool
	// rooted represents a "/" elsewhere: the glob matches the path below the file's
	// folder, not only the name.
	rooted bool
	// literal means that the glob has no special characters and is compared as it is.
	literal bool
}

// Ignore holds the rules of one .gitignore file and links to those above it. A nil Ignore
// ignores nothing.
type Ignore struct {
	up *Ignore
	// base is the folder of the file, relative to the start of the walk's paths;
	// "." is the start itself.
	base  string
	rules []ignoreRule
}

// MaxIgnore is the largest size in bytes of a .gitignore file that is read.
const MaxIgnore = 1 << 20

// ReadIgnore reads the .gitignore file of the folder base into a list below up. A file
// that is missing or unreadable ignores nothing.
func ReadIgnore(up *Ignore, base string, read func() ([]byte, error)) *Ignore {
	data, err := read()
	if err != nil || len(data) > MaxIgnore {
		return up
	}
	list := &Ignore{up: up, base: base}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for line := range strings.SplitSeq(string(data), "\n") {
		if rule, ok := parseIgnore(line); ok {
			list.rules = append(list.rules, rule)
		}
	}
	if len(list.rules) == 0 {
		return up
	}
	return list
}

// parseIgnore parses one line; it returns false if the line holds no rule.
func parseIgnore(line string) (ignoreRule, bool) {
	line = trimTrailing(strings.TrimSuffix(line, "\r"))
	if line == "" || line[0] == '#' {
		return ignoreRule{}, false
	}
	var r ignoreRule
	if line[0] == '!' {
		r.keep, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly, line = true, line[:len(line)-1]
	}
	r.rooted = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return ignoreRule{}, false
	}
	if strings.HasSuffix(line, "/**") {
		line += "/*" // the contents of the folder, but not the folder
	}
	r.literal = !strings.ContainsAny(line, `*?[\`)
	r.glob = line
	if !r.literal {
		r.glob = translate(line)
	}
	return r, true
}

// translate converts a glob of git to the syntax of doublestar, where {a,b} is a choice
// and a bracket cannot be the first character of a class.
func translate(glob string) string {
	var out strings.Builder
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '{', '}':
			out.WriteByte('\\')
			out.WriteByte(c)
		case '\\':
			out.WriteByte(c)
			if i++; i < len(glob) {
				out.WriteByte(glob[i])
			}
		case '[':
			i = translateClass(glob, i, &out)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// classes replaces the named classes that may occur in brackets.
var classes = strings.NewReplacer("[:alnum:]", "0-9A-Za-z", "[:alpha:]", "A-Za-z", "[:digit:]", "0-9",
	"[:lower:]", "a-z", "[:upper:]", "A-Z", "[:space:]", " \t", "[:xdigit:]", "0-9A-Fa-f")

// translateClass writes the class that begins at glob[i], and returns the index of its
// end. A class without an end is written unchanged and matches nothing.
func translateClass(glob string, i int, out *strings.Builder) int {
	begin := i + 1
	if begin < len(glob) && (glob[begin] == '!' || glob[begin] == '^') {
		begin++
	}
	end := begin
	for end < len(glob) && (glob[end] != ']' || end == begin) {
		switch {
		case glob[end] == '\\':
			end++
		case strings.HasPrefix(glob[end:], "[:"):
			if n := strings.Index(glob[end:], ":]"); n > 0 {
				end += n + 1
			}
		}
		end++
	}
	if end >= len(glob) {
		out.WriteString(glob[i:])
		return len(glob)
	}
	out.WriteString(glob[i:begin])
	class := classes.Replace(glob[begin:end])
	if strings.HasPrefix(class, "]") {
		out.WriteByte('\\')
	}
	out.WriteString(class)
	out.WriteByte(']')
	return end
}

// trimTrailing drops trailing spaces, except an escaped one.
func trimTrailing(line string) string {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}

// Ignores reports whether the file or folder name is ignored; name is a slash path from
// the start of the walk's paths. The last matching rule decides, and a file's rules come
// after those of the folders above. The caller must not descend into ignored folders,
// because Ignores does not check the parents of name.
func (l *Ignore) Ignores(name string, dir bool) bool {
	for ; l != nil; l = l.up {
		rel := name
		if l.base != "." {
			rel = strings.TrimPrefix(name, l.base+"/")
		}
		for i := len(l.rules) - 1; i >= 0; i-- {
			if r := l.rules[i]; (dir || !r.dirOnly) && r.matches(rel) {
				return !r.keep
			}
		}
	}
	return false
}

// matches reports whether the rule matches rel, a path below the folder of its
// .gitignore file.
func (r ignoreRule) matches(rel string) bool {
	if !r.rooted {
		rel = path.Base(rel)
	}
	if r.literal {
		return rel == r.glob
	}
	ok, err := doublestar.Match(r.glob, rel)
	return ok && err == nil
}
