//go:build unix

package tools

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/teammate/workspace"
)

// odd generates texts as in files and outputs: lines, Windows lines, characters of
// several bytes, invalid UTF-8, and long runs.
func odd() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{
		"a", "b", "x y", "\n", "\n", "\r\n", "\r", "ü", "日本", "\xff", "\xc3", "\t", strings.Repeat("long ", 300),
	})
	return rapid.Map(rapid.SliceOfN(part, 0, 40), func(parts []string) string { return strings.Join(parts, "") })
}

// A page equals the result of splitting the text, for all sizes of reads.
func TestPagesAgainstSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := odd().Draw(t, "text")
		all := strings.Split(text, "\n")
		from := rapid.IntRange(1, len(all)).Draw(t, "from")
		count := rapid.IntRange(1, 10).Draw(t, "count")
		p := page{from: from, count: count}
		if err := p.read(context.Background(), &slowReader{t: t, rest: text}); err != nil {
			t.Fatal(err)
		}
		want := all[from-1 : min(from-1+count, len(all))]
		if p.total != len(all) || len(p.lines) != len(want) {
			t.Fatalf("%d of %d lines, want %d of %d", len(p.lines), p.total, len(want), len(all))
		}
		for i, line := range p.lines {
			plain := strings.ToValidUTF8(strings.TrimRight(want[i], "\r"), "\uFFFD")
			if utf8.RuneCountInString(plain) > readWidth {
				plain = string([]rune(plain)[:readWidth])
				line, _, _ = strings.Cut(line, "… (cut")
			}
			if line != plain {
				t.Fatalf("line %d is %q, want %q", from+i, line, plain)
			}
		}
	})
}

// slowReader returns its text in parts of random size.
type slowReader struct {
	t    *rapid.T
	rest string
}

func (r *slowReader) Read(p []byte) (int, error) {
	if r.rest == "" {
		return 0, io.EOF
	}
	n := min(len(p), len(r.rest), rapid.IntRange(1, 2000).Draw(r.t, "piece"))
	copy(p, r.rest[:n])
	r.rest = r.rest[n:]
	return n, nil
}

// A model sees the beginning and the end of an output, or all of it, and the file holds
// every byte.
func TestSpoolsKeepEverything(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := &spool{dir: dir, name: "out"}
		var all strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "writes") {
			piece := strings.Repeat(odd().Draw(t, "piece"), rapid.SampledFrom([]int{1, 1, 50}).Draw(t, "times"))
			all.WriteString(piece)
			if n, err := s.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatalf("wrote %d of %d, %v", n, len(piece), err)
			}
		}
		limit := rapid.IntRange(2, 5000).Draw(t, "limit")
		text, path := s.text(limit)
		whole := strings.TrimRight(strings.ToValidUTF8(all.String(), "\uFFFD"), "\r\n")
		if path == "" {
			if text != whole || utf8.RuneCountInString(text) > limit {
				t.Fatalf("got %d characters of %d", len(text), len(whole))
			}
			return
		}
		defer os.Remove(path)
		if kept, err := os.ReadFile(path); err != nil || string(kept) != all.String() {
			t.Fatalf("the file holds %d bytes of %d, %v", len(kept), all.Len(), err)
		}
		first, last, found := strings.Cut(text, "\n… (the output has")
		_, last, _ = strings.Cut(last, " …\n")
		if !found || !strings.HasPrefix(whole, first) || !strings.HasSuffix(whole, last) ||
			utf8.RuneCountInString(first+last) > limit {
			t.Fatalf("%.50q … %.50q is not how the output begins and ends", first, last)
		}
	})
}

// Grep finds the same lines as a loop over all lines, with their context, for all sizes
// of the context.
func TestGrepAgainstALoop(t *testing.T) {
	b := newBench(t, nil)
	b.write("f", "")
	path := filepath.Join(b.root, "f")
	exprs := []string{"a", "^b", "x$", "ü|日", "a.*b", "^$", "nothing here"}
	rapid.Check(t, func(t *rapid.T) {
		text := odd().Draw(t, "text")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		in := grepInput{
			Pattern: rapid.SampledFrom(exprs).Draw(t, "pattern"), Path: path, OutputMode: contentMode, Numbers: true,
			Before: rapid.IntRange(0, 3).Draw(t, "before"), After: rapid.IntRange(0, 3).Draw(t, "after"),
		}
		r := b.tools.grep(context.Background(), in)
		want := naive(text, in)
		if r.IsError || r.Content != want {
			t.Fatalf("%+v of %q\n got %q\nwant %q", in, text, r.Content, want)
		}
	})
}

// naive is a simple Grep of the file f, which holds all lines at once.
func naive(text string, in grepInput) string {
	expr := regexp.MustCompile(in.Pattern)
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	hit := make([]bool, len(all))
	for i, line := range all {
		all[i] = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		hit[i] = expr.MatchString(all[i])
	}
	var out []string
	last := -1
	for i, line := range all {
		near := false
		for j := max(i-in.After, 0); j <= min(i+in.Before, len(all)-1); j++ {
			near = near || hit[j]
		}
		if !near {
			continue
		}
		if in.Before+in.After > 0 && last >= 0 && i > last+1 {
			out = append(out, "--")
		}
		last = i
		mark := "-"
		if hit[i] {
			mark = ":"
		}
		out = append(out, fmt.Sprintf("f%s%d%s%s", mark, i+1, mark, cutAround([]byte(line),
			expr.FindStringIndex(line))))
	}
	if len(out) == 0 {
		return "No matches found"
	}
	return strings.Join(out, "\n")
}

// The canonical form of a path names the same file as the path, contains no link and no
// "..", and is its own canonical form.
func TestCanonicalPaths(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"l": "a", "a/m": "../c", "c/n": root, "c/o": "/usr", "c/p": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := paths{workspace.NewWorkdir(root)}
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "l", "m", "n", "o", ".", "..", "bin",
		"new"}), 1, 6)
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(names.Draw(t, "names"), "/")
		if rapid.Bool().Draw(t, "absolute") {
			name = root + "/" + name
		}
		path := p.canonical(name)
		if !filepath.IsAbs(path) || path != filepath.Clean(path) || p.canonical(path) != path {
			t.Fatalf("%s became %s, and that %s", name, path, p.canonical(path))
		}
		was, err1 := os.Stat(p.absolute(name))
		is, err2 := os.Stat(path)
		if (err1 == nil) != (err2 == nil) || err1 == nil && !os.SameFile(was, is) {
			t.Fatalf("%s became %s, which is another file: %v, %v", name, path, err1, err2)
		}
		for dir := path; dir != root && dir != "/"; dir = filepath.Dir(dir) {
			if info, err := os.Lstat(dir); err == nil && info.Mode()&os.ModeSymlink != 0 &&
				strings.HasPrefix(dir, root) {
				t.Fatalf("%s became %s, in which %s is a link", name, path, dir)
			}
		}
	})
}

func TestGlobsThatWouldTakeForEver(t *testing.T) {
	b := newBench(t, nil)
	b.write(strings.Repeat("a", 100), "")
	begin := time.Now()
	for _, pattern := range []string{
		strings.Repeat("{a,b}", 40) + "c", strings.Repeat("{a", 20) + strings.Repeat(",b}", 20),
		strings.Repeat("{a,a,a,a,a,a,a,a,a,a}", 5),
	} {
		b.refuses("Glob", fields{"pattern": pattern}, "more than 10000 choices")
		b.refuses("Grep", fields{"pattern": "x", "glob": pattern}, "more than 10000 choices")
	}
	b.shows("Glob", fields{"pattern": strings.Repeat("*a", 40) + "b"}, "No files found")
	b.shows("Glob", fields{"pattern": strings.Repeat("**/", 200) + "b"}, "No files found")
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("took %v", took)
	}
	for pattern, want := range map[string]int{
		"a": 1, "{a,b}": 2, "{a,b}{c,d,e}": 6, `\{a,b}`: 1, "{a,{b,c}}": 4, "a,b": 1, "}": 1, "{a": 1, `{a\,b,c}`: 2,
	} {
		if got := choices(pattern); got != want {
			t.Errorf("%s: %d choices, want %d", pattern, got, want)
		}
	}
}
