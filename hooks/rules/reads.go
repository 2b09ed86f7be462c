package rules

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/shell"
)

// A rule that forbids to read a file also forbids shell commands that name the file and show
// what it holds, or copy it. What else a program may read is not seen.

// hole stands in a path for a name that only the shell knows. No rule names it.
const hole = "\ufffc"

// reader describes which words of a program name files that it reads.
type reader struct {
	short string   // the letters of options with a value
	long  []string // the long options whose value is the next word
	files string   // those letters whose value is a file
	first bool     // the first operand is a pattern or a program, unless an option of given has it
	last  bool     // the last operand is where it writes, unless an option of given says where
	given string   // letters
}

// readerOf returns the program's entry in the table of programs that read files.
func readerOf(name string) (reader, bool) {
	switch name {
	case "cat", "tac", "nl", "head", "tail", "less", "more", "most", "bat", "batcat", "cut", "sort", "uniq", "wc", "paste",
		"join", "comm", "column", "fold", "fmt", "pr", "rev", "od", "xxd", "hexdump", "hd", "strings", "base64", "base32",
		"md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "sum", "shasum", "diff",
		"cmp", "sdiff", "diff3", "colordiff", "zcat", "bzcat", "xzcat", "gzip", "bzip2", "xz", "zstd", "split", "csplit",
		"openssl", "gpg", "age", "vi", "vim", "nvim", "view", "ex", "ed", "nano", "emacs", "pico", "micro", "source", ".",
		"wget", "http", "expand", "unexpand", "iconv", "shuf", "tsort", "ptx", "pv", "ul", "m4", "cpp":
		return reader{}, true
	case "xargs":
		return reader{short: "aEILnPsd", files: "a"}, true
	case "cp", "mv", "ln", "install", "scp":
		return reader{short: "tSgmoPiFl", last: true, given: "t"}, true
	case "rsync":
		return reader{short: "efBMT", long: []string{"exclude", "include", "filter", "exclude-from", "rsh"}, last: true}, true
	case "tar", "gtar", "bsdtar", "zip", "7z":
		return reader{short: "CX", long: []string{"exclude", "directory", "exclude-from"}}, true
	case "grep", "egrep", "fgrep", "zgrep", "rgrep":
		return reader{short: "ABCDdefm", long: grepOptions(), files: "f", first: true, given: "ef"}, true
	case "rg", "ag", "ack":
		return reader{short: "ABCEdefgGjmMprtT", long: grepOptions(), files: "f", first: true, given: "ef"}, true
	case "sed", "gsed":
		return reader{short: "efl", long: []string{"expression", "file"}, files: "f", first: true, given: "ef"}, true
	case "awk", "gawk", "mawk", "nawk":
		return reader{short: "vFfeE", files: "fE", first: true, given: "feE"}, true
	case "perl", "ruby":
		return reader{short: "eEI"}, true
	case "jq", "yq":
		return reader{short: "fL", long: []string{"indent"}, files: "f", first: true, given: "f"}, true
	case "curl":
		return reader{short: "TK", long: []string{"upload-file"}, files: "TK"}, true
	}
	return reader{}, shell.IsShell(name)
}

// grepOptions returns the long options of searching programs whose value is the next word.
func grepOptions() []string {
	return []string{"regexp", "file", "include", "exclude", "exclude-dir", "exclude-from", "after-context", "before-context",
		"context", "max-count", "label", "glob", "iglob", "type", "type-not", "replace", "ignore", "ignore-dir"}
}

// reads returns the words of a command that name files that it reads.
func reads(c shell.Command) []shell.Word {
	name, words := c.Program(), c.Words
	switch r, known := readerOf(name); {
	case name == "git":
		return gitReads(c)
	case name == "dd":
		return suffixes(words[1:], "if=")
	case known && shell.IsShell(name):
		files, options := r.operands(words[1:])
		if len(files) == 0 || slices.ContainsFunc(options, func(o shell.Word) bool { return strings.Contains(o.Value, "c") }) {
			return nil
		}
		return files[:1]
	case known && name == "curl": // -d @file, -F name=@file, file:///file; its other operands are URLs
		_, options := r.operands(words[1:])
		return slices.Concat(suffixes(words[1:], "@"), options, fileURLs(words[1:]))
	case known:
		files, options := r.operands(words[1:])
		return append(files, options...)
	}
	return nil
}

// suffixes returns what follows a mark in words.
func suffixes(words []shell.Word, mark string) (found []shell.Word) {
	for _, w := range words {
		if _, after, ok := strings.Cut(w.Value, mark); ok {
			w.Value = after
			found = append(found, w)
		}
	}
	return found
}

// fileURLs returns the paths of file: URLs in words.
func fileURLs(words []shell.Word) (found []shell.Word) {
	for _, w := range words {
		at := strings.Index(strings.ToLower(w.Value), "file:/")
		if at < 0 {
			continue
		}
		path := w.Value[at+len("file:"):]
		if rest, ok := strings.CutPrefix(path, "//"); ok {
			host, below, _ := strings.Cut(rest, "/")
			if path = "/" + below; host == string(shell.Unknown) { // $PWD
				path = rest
			}
		}
		if plain, err := url.PathUnescape(path); err == nil {
			path = plain
		}
		found = append(found, shell.Word{Value: path, Static: w.Static})
	}
	return found
}

// gitReads is reads for git: some of its subcommands show what a file holds, or name what holds it.
func gitReads(c shell.Command) []shell.Word {
	at := c.GitSubcommand()
	if at < len(c.Words)-1 && c.Words[at].Value == "stash" {
		at++
	}
	if at >= len(c.Words) {
		return nil
	}
	rest := c.Words[at+1:]
	r := reader{short: "GSLOU", files: "L"}
	switch c.Words[at].Value {
	case "diff", "show", "blame", "annotate", "cat-file", "archive", "difftool", "diff-tree", "diff-index", "diff-files", "whatchanged",
		"format-patch", "mv", "rev-parse":
	case "log", "reflog", "list":
		if !slices.ContainsFunc(rest, showsPatch) {
			return nil
		}
	case "grep":
		r, _ = readerOf("grep")
	default:
		return nil
	}
	files, options := r.operands(rest)
	files = append(files, options...)
	files = append(files, suffixes(files, ":")...) // HEAD:file, -L 1,5:file
	for i, w := range c.Words[:at] {
		if dir := c.Words[i+1]; w.Value == "-C" && dir.Static {
			for _, f := range files {
				files = append(files, shell.Word{Value: resolve(dir.Value, f.Value), Static: f.Static})
			}
		}
	}
	return files
}

// showsPatch reports whether an option of git log has it show what files hold.
func showsPatch(w shell.Word) bool {
	return slices.Contains([]string{"-p", "-u", "-c", "-m", "--cc"}, w.Value) || slices.ContainsFunc(
		[]string{"-U", "-L", "--patch", "--unified", "--word-diff", "--color-words"},
		func(begin string) bool { return strings.HasPrefix(w.Value, begin) })
}

// operands returns the operands that may be files, and options: the values of options that are
// files, and of shells all options.
func (r reader) operands(words []shell.Word) (files, options []shell.Word) {
	given, plain := false, false
	for i := 0; i < len(words); i++ {
		w := words[i]
		arg := w.Value
		name, value, set := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		switch {
		case plain || len(arg) < 2 || arg[0] != '-':
			files = append(files, w)
		case arg == "--":
			plain = true
		case name == "arg" || name == "argjson": // of jq
			i += 2
		case (name == "rawfile" || name == "slurpfile") && i+2 < len(words):
			i += 2
			options = append(options, words[i])
		case strings.HasPrefix(arg, "--"):
			given = given || r.first && slices.Contains([]string{"regexp", "expression", "file", "from-file"}, name)
			if !set && slices.Contains(r.long, name) && i+1 < len(words) {
				i++
				value = words[i].Value
			}
			if strings.HasSuffix(name, "file") && value != "" {
				options = append(options, shell.Word{Value: value, Static: w.Static})
			}
		default:
			at := strings.IndexAny(arg, r.short)
			if at < 0 {
				if r.short == "" {
					options = append(options, w)
				}
				continue
			}
			given = given || strings.IndexByte(r.given, arg[at]) >= 0
			value := shell.Word{Value: arg[at+1:], Static: w.Static}
			if value.Value == "" && i+1 < len(words) {
				i++
				value = words[i]
			}
			if strings.IndexByte(r.files, arg[at]) >= 0 {
				options = append(options, value)
			}
		}
	}
	switch {
	case given || len(files) == 0:
	case r.first:
		files = files[1:]
	case r.last && len(files) > 1:
		files = files[:len(files)-1]
	}
	return files, options
}

// Bounds on the work for one line. A line beyond maxTries, the number of files times that of
// folders, cannot be judged.
const (
	maxTries = 4096
	maxPath  = 4096 // bytes
)

// readIn reports whether a line reads a file that r forbids to read, and in which part.
func (r Rule) readIn(line *shell.Line, c Call) (part string, yes bool) {
	dirs, whole := foldersOf(line, c.Cwd)
	if !whole {
		return line.Text, true
	}
	open := "" // a command that reads a file that only the shell knows
	tries := 0
	look := func(part string, words ...shell.Word) bool {
		return slices.ContainsFunc(words, func(w shell.Word) bool {
			if strings.Trim(w.Value, string(shell.Unknown)) == "" {
				open = part
				return false
			}
			tries += len(dirs) * (1 + len(w.Value)/64) // long paths take longer
			return tries > maxTries || r.reaches(c, dirs, w)
		})
	}
	for _, cmd := range line.Of(shell.Written, shell.Scripted, shell.Started) {
		if look(shown(cmd), reads(cmd)...) {
			return shown(cmd), true
		}
	}
	for _, w := range line.Reads {
		if part := "< " + strings.ReplaceAll(w.Value, string(shell.Unknown), "…"); look(part, w) {
			return part, true
		}
	}
	if line.Doubt != "" { // a script that the line does not show, such as base64 -d x | sh
		return line.Doubt, true
	}
	// The name may come from elsewhere in the line: for f in .env; do cat $f; done.
	return open, open != "" && look(open, line.Values...)
}

// foldersOf returns the folders in which a line's commands run. whole is false if they are too
// many, or their paths too long.
func foldersOf(line *shell.Line, cwd string) (dirs []string, whole bool) {
	if len(line.Folders) > maxTries {
		return nil, false
	}
	whole = true
	return line.Resolve(cwd, func(dir string, to shell.Word) string {
		if !to.Static {
			return dir
		}
		next := resolve(dir, to.Value)
		if len(next) > maxPath {
			whole = false
			return dir
		}
		return next
	}), whole
}

// resolve returns a path of a command line below a folder. It does not clean the path, which may
// go up from a link.
func resolve(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return home + "/" + rest
		}
	}
	if filepath.IsAbs(path) {
		return path
	}
	return dir + "/" + path
}

// reaches reports whether a word may name a file that r forbids, from one of some folders.
func (r Rule) reaches(c Call, dirs []string, w shell.Word) bool {
	pattern, base, ok := r.pathPattern(c)
	if !ok {
		return true
	}
	paths := []string{w.Value}
	if !w.Static {
		paths = guesses(pattern, w.Value)
	}
	for _, path := range paths {
		for _, dir := range dirs {
			target := resolve(dir, path)
			if len(target) > maxPath {
				continue // no system opens it
			}
			if pathMatch(pattern, base, filepath.Clean(target), forbidding) ||
				pathMatch(pattern, realPath(base), realPath(target), forbidding) {
				return true
			}
		}
	}
	return false
}

// guesses returns paths that a value with unknown parts may be, if a pattern forbids any: a name
// of which a part is known may be one of the pattern's, and a folder at the beginning may be the
// current one, the home or the root.
func guesses(pattern, value string) []string {
	names := strings.Split(value, "/")
	for i, name := range names {
		if !strings.ContainsRune(name, shell.Unknown) {
			continue
		}
		names[i] = strings.ReplaceAll(name, string(shell.Unknown), hole)
		if strings.Trim(name, string(shell.Unknown)) == "" {
			continue // it may be anything, which is nothing to go by
		}
		for p := range strings.SplitSeq(pattern, "/") {
			p = strings.ReplaceAll(p, "?", "*")
			if strings.Trim(p, "*") != "" && !strings.ContainsAny(p, "{[") && mayFit(p, name) {
				names[i] = strings.ReplaceAll(p, "*", hole)
			}
		}
	}
	path := strings.Join(names, "/")
	rest, open := strings.CutPrefix(path, hole+"/")
	if !open {
		return []string{path}
	}
	return []string{path, rest, "~/" + rest, "/" + rest}
}
