//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/workspace"
)

// tree makes a workspace with files of many kinds.
func tree(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, nil)
	b.write(".gitignore", "/vendor/\n*.log\n")
	b.write("main.go", "package main\n\nfunc main() { run() }\n")
	b.write("run.go", "package main\n\nfunc run() {}\n")
	b.write("cmd/tool/main.go", "package main\n\nfunc main() {}\n")
	b.write("docs/guide.md", "# Guide\n\nTo run it, call run.\n")
	b.write("vendor/lib/lib.go", "package lib // func main\n")
	b.write("debug.log", "func main\n")
	b.write(".git/objects/x", "func main\n")
	b.write(".hidden/conf.yaml", "func: main\n")
	b.write("binary", "func main\x00\n")
	b.write("windows.txt", "one\r\nfunc main\r\n")
	b.write("latin.txt", "gr\xfc\xdfe func main\n")
	if err := os.Symlink("/etc", filepath.Join(b.root, "etc")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("main.go", filepath.Join(b.root, "alias.go")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(b.root, "pipe.go"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The order by time is the reverse of the order by name.
	_ = filepath.WalkDir(b.root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			rel, _ := filepath.Rel(b.root, path)
			when := time.Unix(1_700_000_000+int64(rel[0])*1000+int64(len(rel)), 0)
			err = os.Chtimes(path, when, when)
		}
		return err
	})
	return b
}

func lines(s ...string) string { return strings.Join(s, "\n") }

func TestGlob(t *testing.T) {
	b := tree(t)
	tests := []struct {
		name string
		in   fields
		want string
	}{
		{
			"by ending", fields{"pattern": "**/*.go"},
			lines("alias.go", "run.go", "main.go", "cmd/tool/main.go"),
		},
		{"here only", fields{"pattern": "*.md"}, "No files found"},
		{
			"choices", fields{"pattern": "{docs,cmd}/**/*.{md,go}"},
			lines("docs/guide.md", "cmd/tool/main.go"),
		},
		{"below a path", fields{"pattern": "**/*.go", "path": "cmd"}, "cmd/tool/main.go"},
		{"a folder in the pattern", fields{"pattern": "./cmd/../cmd/tool/*.go"}, "cmd/tool/main.go"},
		{"an absolute pattern", fields{"pattern": b.root + "/docs/*"}, "docs/guide.md"},
		{"a plain name", fields{"pattern": "run.go"}, "run.go"},
		{"hidden", fields{"pattern": "**/*.yaml"}, ".hidden/conf.yaml"},
		{"ignored", fields{"pattern": "**/{lib.go,*.log}"}, "No files found"},
		{
			"what an ignored folder holds, if named", fields{"pattern": "**/*.go", "path": "vendor/lib"},
			"vendor/lib/lib.go",
		},
		{"a class", fields{"pattern": "[!m]*.go"}, lines("alias.go", "run.go")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := b.ok("Glob", test.in); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
	b.ok("Bash", fields{"command": "cd docs"})
	b.shows("Glob", fields{"pattern": "../*/*/main.go"}, filepath.Join(b.root, "cmd/tool/main.go"))
}

func TestGlobResponseAndItsLimit(t *testing.T) {
	b := newBench(t, func(e *Env) { e.Now = func() time.Time { return time.Unix(0, 0) } })
	b.write("one", "")
	r := b.call(t.Context(), "Glob", fields{"pattern": "*"})
	if want := `{"filenames":["one"],"durationMs":0,"numFiles":1,"truncated":false}`; string(r.Response) != want {
		t.Errorf("got %s", r.Response)
	}
	for i := range 150 {
		b.write(fmt.Sprintf("f%03d", i), "")
	}
	got := b.ok("Glob", fields{"pattern": "f*"})
	if n := strings.Count(got, "\n"); n != 100 ||
		!strings.HasSuffix(got,
			"\n(the 100 that were changed last; use a narrower pattern to see others)") {
		t.Errorf("%d lines: %q", n, got)
	}
}

func TestGlobFails(t *testing.T) {
	b := tree(t)
	for want, in := range map[string]fields{
		"is no glob pattern":         {"pattern": "[a"},
		`"" is no glob pattern`:      {"pattern": ""},
		"does not exist":             {"pattern": "*", "path": "nowhere"},
		"path is the file":           {"pattern": "*", "path": "main.go"},
		"leads through a symbolic":   {"pattern": "etc/*"},
		`field "pattern" is missing`: {"path": "."},
	} {
		b.refuses("Glob", in, want)
	}
	locator := b.byTag["Glob"].(agent.Locator)
	for pattern, want := range map[string]string{"*": b.root, "cmd/*": b.root + "/cmd",
		"/etc/*.conf": "/etc", "../*": filepath.Dir(b.root)} {
		if got := locator.Locations(texts.Encode(fields{"pattern": pattern})); len(got) != 1 || got[0] != want {
			t.Errorf("%s reaches %v", pattern, got)
		}
	}
}

func TestGrep(t *testing.T) {
	b := tree(t)
	tests := []struct {
		name string
		in   fields
		want string
	}{
		{
			"files", fields{"pattern": "func main"},
			lines("windows.txt", "main.go", "latin.txt", "cmd/tool/main.go"),
		},
		{"content", fields{"pattern": "func main", "output_mode": "content"}, lines(
			"cmd/tool/main.go:3:func main() {}", "latin.txt:1:gr\uFFFDe func main",
			"main.go:3:func main() { run() }",
			"windows.txt:2:func main")},
		{
			"no numbers", fields{"pattern": "run", "output_mode": "content", "-n": false, "glob": "*.md"},
			"docs/guide.md:To run it, call run.",
		},
		{"count", fields{"pattern": "main", "output_mode": "count", "glob": "*.go"}, lines(
			"cmd/tool/main.go:2", "main.go:2", "run.go:1", "5 matches in 3 files")},
		{"ends of lines", fields{"pattern": "main$", "glob": "windows.txt"}, "windows.txt"},
		{"case", fields{"pattern": "GUIDE", "-i": true}, "docs/guide.md"},
		{"nothing", fields{"pattern": "GUIDE"}, "No matches found"},
		{"nothing in content", fields{"pattern": "GUIDE", "output_mode": "content"}, "No matches found"},
		{"a path glob", fields{"pattern": "main", "glob": "cmd/**/*.go"}, "cmd/tool/main.go"},
		{
			"a file", fields{"pattern": "func", "path": "run.go", "output_mode": "content"},
			"run.go:3:func run() {}",
		},
		{"an ignored file, if named", fields{"pattern": "func", "path": "debug.log"}, "debug.log"},
		{"a folder", fields{"pattern": "main", "path": "cmd"}, "cmd/tool/main.go"},
		{
			"a limit", fields{"pattern": "main", "head_limit": 2},
			lines("windows.txt", "run.go", "(and 4 more files)"),
		},
		{"a limit of lines", fields{"pattern": "main", "head_limit": 1, "output_mode": "content"},
			lines(".hidden/conf.yaml:1:func: main",
				"(cut after 1 lines; there may be more: use a narrower pattern, a path or a glob)")},
		{"context", fields{"pattern": "func", "output_mode": "content", "-C": 1,
			"glob": "{run.go,windows.txt}"}, lines(
			"run.go-2-", "run.go:3:func run() {}", "--", "windows.txt-1-one", "windows.txt:2:func main")},
		{"multiline",
			fields{"pattern": `package main.*func \w+`, "multiline": true, "output_mode": "content",
				"glob": "run.go"}, lines(
				"run.go:1:package main", "run.go:2:", "run.go:3:func run() {}")},
		{"multiline files", fields{"pattern": `main\n\nfunc run`, "multiline": true}, "run.go"},
		{
			"multiline count",
			fields{"pattern": `(main|run)`, "multiline": true, "output_mode": "count", "glob": "run.go"},
			lines("run.go:2", "2 matches in 1 files")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := b.ok("Grep", test.in); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestGrepContext(t *testing.T) {
	b := newBench(t, nil)
	b.write("f", "1\n2\nx\n4\n5\n6\n7\nx\nx\n10\n11\n12\nx")
	tests := []struct {
		in   fields
		want string
	}{
		{fields{"-B": 1}, "f-2-2 f:3:x -- f-7-7 f:8:x f:9:x -- f-12-12 f:13:x"},
		{fields{"-A": 1}, "f:3:x f-4-4 -- f:8:x f:9:x f-10-10 -- f:13:x"},
		{
			fields{"-C": 2},
			"f-1-1 f-2-2 f:3:x f-4-4 f-5-5 f-6-6 f-7-7 f:8:x f:9:x f-10-10 f-11-11 f-12-12 f:13:x",
		},
		{fields{"-B": 9, "head_limit": 4}, "f-1-1 f-2-2 f:3:x f-4-4"},
		{
			fields{"-C": 1, "multiline": true},
			"f-2-2 f:3:x f-4-4 -- f-7-7 f:8:x f:9:x f-10-10 -- f-12-12 f:13:x",
		},
	}
	for _, test := range tests {
		test.in["pattern"], test.in["output_mode"] = "x", "content"
		got, _, _ := strings.Cut(b.ok("Grep", test.in), "\n(cut")
		if got = strings.Join(strings.Fields(got), " "); got != test.want {
			t.Errorf("%v\n got %s\nwant %s", test.in, got, test.want)
		}
	}
}

func TestGrepResponses(t *testing.T) {
	b := newBench(t, nil)
	b.write("a", "x\nx\n")
	for mode, want := range map[string]string{
		"files_with_matches": `{"mode":"files_with_matches","numFiles":1,"filenames":["a"]}`,
		"content":            `{"mode":"content","numFiles":1,"filenames":[],"content":"a:1:x\na:2:x","numLines":2}`,
		"count":              `{"mode":"count","numFiles":1,"filenames":[],"content":"a:2","numMatches":2}`,
	} {
		if r := b.call(t.Context(), "Grep",
			fields{"pattern": "x", "output_mode": mode}); string(r.Response) != want {
			t.Errorf("got %s\nwant %s", r.Response, want)
		}
	}
}

func TestGrepOfLongLinesAndLargeFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.write("oneline", strings.Repeat("x", 10<<20)+"needle"+strings.Repeat("y", 1000))
	got := b.ok("Grep", fields{"pattern": "needle", "output_mode": "content"})
	if len(got) > 1000 || !strings.HasPrefix(got, "oneline:1:… xxx") ||
		!strings.Contains(got, "needleyyy") ||
		!strings.HasSuffix(got, "… (cut: the line has 10486766 bytes)") {
		t.Errorf("%d bytes: %.700q", len(got), got)
	}
	b.write("oneline", strings.Repeat("ü", 600)+"needle")
	if got = b.ok("Grep",
		fields{"pattern": "ü", "output_mode": "content"}); got != "oneline:1:"+strings.Repeat("ü",
		500)+" … (cut: the line has 1206 bytes)" {
		t.Errorf("got %q", got)
	}
	b.write("oneline", strings.Repeat("some words\n", 1<<20)+"needle\n")
	if got = b.ok("Grep",
		fields{"pattern": "^needle", "output_mode": "content"}); got != "oneline:1048577:needle" {
		t.Errorf("got %q", got)
	}
	got = b.ok("Grep", fields{"pattern": "words", "output_mode": "content", "head_limit": 0})
	if len(got) > grepBytes+1000 || !strings.Contains(got, "\n(cut after ") {
		t.Errorf("without a limit: %d bytes", len(got))
	}
}

func TestGrepFails(t *testing.T) {
	b := tree(t)
	for want, in := range map[string]fields{
		"no regular expression":   {"pattern": "func("},
		"is no glob pattern":      {"pattern": "x", "glob": "[a"},
		"output_mode is":          {"pattern": "x", "output_mode": "lines"},
		"from 0 up":               {"pattern": "x", "-A": -1},
		"does not exist":          {"pattern": "x", "path": "nowhere"},
		"is not a regular file":   {"pattern": "x", "path": "pipe.go"},
		`unknown field "file"`:    {"pattern": "x", "file": "y"},
		`"head_limit" must be a `: {"pattern": "x", "head_limit": "5"},
	} {
		b.refuses("Grep", in, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tool := range []string{"Glob", "Grep"} {
		if r := b.call(ctx, tool, fields{"pattern": "x"}); !r.IsError ||
			!strings.Contains(r.Content, "canceled") {
			t.Errorf("%s after the end: %q", tool, r.Content)
		}
	}
}

func TestWhatCannotBeReadIsCounted(t *testing.T) {
	if os.Getuid() == 0 {
		// Root can read everything, so the test sets the counts itself.
		s := &search{skipped: 2, unread: 1, timeout: true}
		want := "\n(stopped after 20s; name a folder or a narrower pattern to see the rest)" +
			"\n(2 folders could not be read)\n(1 files could not be read)"
		if got := s.notes(); got != want {
			t.Errorf("got %q", got)
		}
		return
	}
	b := tree(t)
	for _, name := range []string{"docs", "run.go"} {
		if err := os.Chmod(filepath.Join(b.root, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(b.root, "docs"), 0o755) })
	got := b.ok("Grep", fields{"pattern": "func run"})
	if got != "No matches found\n(1 folders could not be read)\n(1 files could not be read)" {
		t.Errorf("got %q", got)
	}
}

func TestASearchHasATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := t.TempDir()
		for i := range 3 {
			write(t, filepath.Join(root, fmt.Sprint(i)), "x")
		}
		s, _, err := paths{workspace.NewWorkdir(root)}.openSearch(".")
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		var seen []string
		s.visit = func(name string, _ os.DirEntry) error {
			seen = append(seen, name)
			time.Sleep(15 * time.Second)
			return nil
		}
		if err := s.run(t.Context()); err != nil || !s.timeout || !slices.Equal(seen, []string{"0", "1"}) {
			t.Errorf("%v, %v, saw %v", err, s.timeout, seen)
		}
	})
}

func TestAWalkStaysOutOfKernelFiles(t *testing.T) {
	for base, names := range map[string][]string{"/": {"proc", "sys", "dev"}} {
		for _, name := range names {
			if s := (&search{base: base}); !s.isVirtual(name) {
				t.Errorf("%s below %s is walked", name, base)
			}
		}
	}
	for _, s := range []*search{{base: "/work"}, {base: "/proc"}} {
		if s.isVirtual("proc") || s.isVirtual("dev") {
			t.Errorf("folders below %s are left out", s.base)
		}
	}
}

func TestALargeTree(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.write(".gitignore", "*.o\nbuild/\n/tmp/**/x\n")
	for i := range 600 {
		b.write(fmt.Sprintf("d%02d/e%02d/f%d.go", i%30, i%10, i), "package d\n")
		b.write(fmt.Sprintf("d%02d/e%02d/f%d.o", i%30, i%10, i), "package d\n")
	}
	begin := time.Now()
	r := b.call(t.Context(), "Grep", fields{"pattern": "^package d$"})
	var out grepOutput
	if err := json.Unmarshal(r.Response, &out); err != nil || out.NumFiles != 600 ||
		len(out.Filenames) != grepHead {
		t.Errorf("%d files, %d of them listed", out.NumFiles, len(out.Filenames))
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("took %v", took)
	}
}
