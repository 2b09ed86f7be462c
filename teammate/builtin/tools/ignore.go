package tools

import (
	"bytes"
	"os"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// The .gitignore libraries that there are get classes such as [!a], or files
// below a folder that is taken back in, wrong, or bring a whole git along. The
// rules are short and globbing is doublestar's, so they stand here; a test
// holds them against `git check-ignore`.

// ignoreRule is one line of a .gitignore file.
type ignoreRule struct {
	// glob is in doublestar's language, not git's.
	glob string
	// keep stands for "!": the rule takes back in what an earlier one ignores.
	keep bool
	// dirOnly stands for a "/" at the end: the rule is about folders.
	dirOnly bool
	// rooted stands for a "/" elsewhere: the glob is of the path below the
	// file's folder, not of the name alone.
	rooted bool
	// literal says that the glob has no special signs, and need only be compared.
	literal bool
}

// ignoreList holds the rules of one .gitignore file, and what lies above it.
type ignoreList struct {
	up *ignoreList
	// base is the folder of the file, relative to where the walk's paths begin;
	// "." for that place itself.
	base  string
	rules []ignoreRule
}

// maxIgnore is how much of a .gitignore file is read, in bytes.
const maxIgnore = 1 << 20

// readIgnore reads a .gitignore file of the folder base into a list below up.
// A file that is not there, or cannot be read, ignores nothing.
func readIgnore(up *ignoreList, base string, read func() ([]byte, error)) *ignoreList {
	data, err := read()
	if err != nil || len(data) > maxIgnore {
		return up
	}
	list := &ignoreList{up: up, base: base}
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

// parseIgnore reads one line; false: it holds no rule.
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
		line += "/*" // what is in the folder, but not the folder
	}
	r.literal = !strings.ContainsAny(line, `*?[\`)
	r.glob = line
	if !r.literal {
		r.glob = translate(line)
	}
	return r, true
}

// translate writes a glob of git's for doublestar, which takes {a,b} for a
// choice, and a bracket that comes first in a class for its end.
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

// classes are the named classes that may stand in brackets.
var classes = strings.NewReplacer("[:alnum:]", "0-9A-Za-z", "[:alpha:]", "A-Za-z", "[:digit:]", "0-9",
	"[:lower:]", "a-z", "[:upper:]", "A-Z", "[:space:]", " \t", "[:xdigit:]", "0-9A-Fa-f")

// translateClass writes the class that begins at glob[i], and returns where it
// ends. One that does not end is written as it is: nothing matches it.
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

// trimTrailing drops the spaces at a line's end, save one that is quoted.
func trimTrailing(line string) string {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}

// ignores reports whether the file or folder name, a slash path from where the
// walk's paths begin, is ignored. The rule that comes last decides, and a
// file's rules come after those of the folders above. Folders above name that
// are ignored are the caller's business: it does not go into them.
func (l *ignoreList) ignores(name string, dir bool) bool {
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

// matches reports whether the rule is about rel, a path below the folder of its
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

// repository returns the root of the git work tree that dir lies in, or "".
func repository(dir string) string {
	for {
		if _, err := os.Lstat(dir + "/.git"); err == nil {
			return dir
		}
		up := path.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
