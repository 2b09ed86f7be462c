package rules

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A rule that forbids to read a file also forbids shell commands that name the file and show
// what it holds, or copy it. What else a program may read is not seen.

// hole stands in a path for a name that only the shell knows. No rule names it.
const hole = "\ufffc"

// reader says which words of a program name files that it reads.
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
	return reader{}, isShell(name)
}

// grepOptions returns the long options of searching programs whose value is the next word.
func grepOptions() []string {
	return []string{"regexp", "file", "include", "exclude", "exclude-dir", "exclude-from", "after-context", "before-context",
		"context", "max-count", "label", "glob", "iglob", "type", "type-not", "replace", "ignore", "ignore-dir"}
}

// reads returns the words of a command that name files that it reads.
func (c command) reads() []word {
	name, words := c.program(), c.words
	switch r, known := readerOf(name); {
	case name == "git":
		return c.gitReads()
	case name == "dd":
		return suffixes(words[1:], "if=")
	case known && isShell(name):
		files, options := r.operands(words[1:])
		if len(files) == 0 || slices.ContainsFunc(options, func(o word) bool { return strings.Contains(o.value, "c") }) {
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
func suffixes(words []word, mark string) (found []word) {
	for _, w := range words {
		if _, after, ok := strings.Cut(w.value, mark); ok {
			w.value = after
			found = append(found, w)
		}
	}
	return found
}

// fileURLs returns the paths of file: URLs in words.
func fileURLs(words []word) (found []word) {
	for _, w := range words {
		at := strings.Index(strings.ToLower(w.value), "file:/")
		if at < 0 {
			continue
		}
		path := w.value[at+len("file:"):]
		if rest, ok := strings.CutPrefix(path, "//"); ok {
			host, below, _ := strings.Cut(rest, "/")
			if path = "/" + below; host == string(unknown) { // $PWD
				path = rest
			}
		}
		if plain, err := url.PathUnescape(path); err == nil {
			path = plain
		}
		found = append(found, word{value: path, static: w.static})
	}
	return found
}

// gitReads is reads for git: some of its subcommands show what a file holds, or name what holds it.
func (c command) gitReads() []word {
	at := gitSubcommand(c.words)
	if at < len(c.words)-1 && c.words[at].value == "stash" {
		at++
	}
	if at >= len(c.words) {
		return nil
	}
	rest := c.words[at+1:]
	r := reader{short: "GSLOU", files: "L"}
	switch c.words[at].value {
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
	for i, w := range c.words[:at] {
		if dir := c.words[i+1]; w.value == "-C" && dir.static {
			for _, f := range files {
				files = append(files, word{value: resolve(dir.value, f.value), static: f.static})
			}
		}
	}
	return files
}

// showsPatch reports whether an option of git log has it show what files hold.
func showsPatch(w word) bool {
	return slices.Contains([]string{"-p", "-u", "-c", "-m", "--cc"}, w.value) || slices.ContainsFunc(
		[]string{"-U", "-L", "--patch", "--unified", "--word-diff", "--color-words"},
		func(begin string) bool { return strings.HasPrefix(w.value, begin) })
}

// operands returns the operands that may be files, and options: the values of options that are
// files, and of shells all options.
func (r reader) operands(words []word) (files, options []word) {
	given, plain := false, false
	for i := 0; i < len(words); i++ {
		w := words[i]
		arg := w.value
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
				value = words[i].value
			}
			if strings.HasSuffix(name, "file") && value != "" {
				options = append(options, word{value: value, static: w.static})
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
			value := word{value: arg[at+1:], static: w.static}
			if value.value == "" && i+1 < len(words) {
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
func (r Rule) readIn(line *shellLine, c Call) (part string, yes bool) {
	dirs := []string{c.Cwd}
	open := "" // a command that reads a file that only the shell knows
	tries := 0
	look := func(part string, words ...word) bool {
		return slices.ContainsFunc(words, func(w word) bool {
			if strings.Trim(w.value, string(unknown)) == "" {
				open = part
				return false
			}
			tries += len(dirs) * (1 + len(w.value)/64) // long paths take longer
			return tries > maxTries || r.reaches(c, dirs, w)
		})
	}
	commands := slices.Concat(line.all(), line.started)
	for _, cmd := range commands {
		if name := cmd.program(); (name == "cd" || name == "pushd") && len(cmd.words) == 2 && cmd.words[1].static {
			dir := resolve(dirs[len(dirs)-1], cmd.words[1].value)
			if len(dir) > maxPath || len(dirs) > maxTries {
				return cmd.shown(), true
			}
			dirs = append(dirs, dir)
		}
	}
	for _, cmd := range commands {
		if look(cmd.shown(), cmd.reads()...) {
			return cmd.shown(), true
		}
	}
	for _, w := range line.reads {
		if part := "< " + strings.ReplaceAll(w.value, string(unknown), "…"); look(part, w) {
			return part, true
		}
	}
	if line.doubtful { // a script that the line does not show, such as base64 -d x | sh
		return line.doubt, true
	}
	// The name may come from elsewhere in the line: for f in .env; do cat $f; done.
	return open, open != "" && look(open, line.values...)
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
func (r Rule) reaches(c Call, dirs []string, w word) bool {
	pattern, base, ok := r.pathPattern(c)
	if !ok {
		return true
	}
	paths := []string{w.value}
	if !w.static {
		paths = guesses(pattern, w.value)
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
		if !strings.ContainsRune(name, unknown) {
			continue
		}
		names[i] = strings.ReplaceAll(name, string(unknown), hole)
		if strings.Trim(name, string(unknown)) == "" {
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
