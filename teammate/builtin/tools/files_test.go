//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
)

func (b *bench) content(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.root, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func TestReadAnswersAsTheRecordedHost(t *testing.T) {
	b := newBench(t, nil)
	path := b.write("hostname", "vm\n")
	r := b.call(t.Context(), "Read", fields{"file_path": path})
	want := `{"type":"text","file":{"filePath":"` + path +
		`","content":"vm\n","numLines":2,"startLine":1,"totalLines":2}}`
	if r.Content != "1\tvm\n2\t" || string(r.Response) != want {
		t.Errorf("got %q\n%s\nwant\n%s", r.Content, r.Response, want)
	}
}

func TestRead(t *testing.T) {
	b := newBench(t, nil)
	b.write("five", "a\nb\nc\nd\ne")
	b.write("crlf", "a\r\nb\r\n")
	b.write("empty", "")
	b.write("latin", "gr\xfc\xdfe\n")
	b.write("wide", strings.Repeat("ü", 2500)+"\nx")
	b.write("many", strings.Repeat("line\n", 3000))
	b.write("large", strings.Repeat(strings.Repeat("x", 1000)+"\n", 10_000)) // 10 MB
	b.write("oneline", strings.Repeat("y", 10<<20))
	b.write("sub/x.go", "package x")
	tests := []struct {
		name string
		in   fields
		want string
	}{
		{"all", fields{"file_path": "five"}, "1\ta\n2\tb\n3\tc\n4\td\n5\te"},
		{
			"a range", fields{"file_path": "five", "offset": 2, "limit": 2},
			"2\tb\n3\tc\n(lines 2 to 3 of 5; go on with offset 4)",
		},
		{"its end", fields{"file_path": "five", "offset": 4, "limit": 9}, "4\td\n5\te"},
		{
			"offset 0 is 1", fields{"file_path": "five", "offset": 0, "limit": 1},
			"1\ta\n(lines 1 to 1 of 5; go on with offset 2)",
		},
		{"Windows line ends", fields{"file_path": "crlf"}, "1\ta\n2\tb\n3\t"},
		{"an empty file", fields{"file_path": "empty"}, "(the file is there, and empty)"},
		{"invalid UTF-8", fields{"file_path": "latin"}, "1\tgr\uFFFDe\n2\t"},
		{
			"a wide line", fields{"file_path": "wide"},
			"1\t" + strings.Repeat("ü", 2000) + "… (cut: the line has 5001 bytes)\n2\tx",
		},
		{"dots in the path", fields{"file_path": "sub/../sub/./x.go"}, "1\tpackage x"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := b.ok("Read", test.in); got != test.want {
				t.Errorf("got %.300q\nwant %.300q", got, test.want)
			}
		})
	}
	for name, end := range map[string]string{
		"many":    "\n(lines 1 to 2000 of 3001; go on with offset 2001)",
		"large":   "\n(lines 1 to 199 of 10001; go on with offset 200)",
		"oneline": "… (cut: the line has 10485760 bytes)",
	} {
		if got := b.ok("Read", fields{"file_path": name}); !strings.HasSuffix(got, end) ||
			len(got) > readBytes+5000 {
			t.Errorf("%s: %d bytes that end in %q", name, len(got), got[len(got)-60:])
		}
	}
	got := b.ok("Read", fields{"file_path": "large", "offset": 9999, "limit": 2})
	if !strings.HasPrefix(got, "9999\tx") {
		t.Errorf("deep in a large file: %.50q", got)
	}
}

func TestReadFails(t *testing.T) {
	b := newBench(t, nil)
	b.write("binary", "ELF\x00\x01")
	b.write("Makefile", "all:")
	b.write("main.go", "package main")
	b.write("five", "a\nb")
	b.write("secret", "x")
	if err := syscall.Mkfifo(filepath.Join(b.root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", filepath.Join(b.root, "loop")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		in   fields
		want string
	}{
		{"missing", fields{"file_path": "none"}, "none does not exist; the current directory is " + b.root},
		{
			"other case", fields{"file_path": "makefile"},
			"Did you mean " + filepath.Join(b.root, "Makefile"),
		},
		{
			"other ending", fields{"file_path": "main.py"},
			"Did you mean " + filepath.Join(b.root, "main.go"),
		},
		{"missing folder", fields{"file_path": "no/such/file"}, "does not exist"},
		{"folder", fields{"file_path": "."}, "is a directory, not a file; use Glob"},
		{"binary", fields{"file_path": "binary"}, "is a binary file"},
		{"pipe", fields{"file_path": "pipe"}, "is not a regular file"},
		{"device", fields{"file_path": "/dev/zero"}, "is not a regular file"},
		{"loop of links", fields{"file_path": "loop"}, "loop"},
		{"a file as a folder", fields{"file_path": "five/x"}, "not a directory"},
		{"beyond the end", fields{"file_path": "five", "offset": 3}, "has 2 lines only"},
		{"negative", fields{"file_path": "five", "offset": -1}, "counted from 1"},
		{"no path", fields{}, `field "file_path" is missing`},
		{"null path", fields{"file_path": nil}, `field "file_path" is missing`},
		{"a number", fields{"file_path": 5}, `field "file_path" must be a string, not a number`},
		{"a zero byte", fields{"file_path": "a\x00b"}, "invalid argument"},
		{"a long name", fields{"file_path": strings.Repeat("x", 5000)}, "file name too long"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b.refuses("Read", test.in, test.want)
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := b.call(ctx, "Read", fields{"file_path": "five"}); !r.IsError ||
		!strings.Contains(r.Content, "canceled") {
		t.Errorf("after the end: %q", r.Content)
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	path := filepath.Join(b.root, "a/b/new.txt")
	r := b.call(t.Context(), "Write", fields{"file_path": "a/b/new.txt", "content": "one\n"})
	want := `{"type":"create","filePath":"` + path +
		`","content":"one\n","structuredPatch":[],"originalFile":null}`
	if r.Content != "File created successfully at: "+path || string(r.Response) != want {
		t.Errorf("got %q\n%s\nwant\n%s", r.Content, r.Response, want)
	}
	// The agent knows the files that it has written.
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	r = b.call(t.Context(), "Write", fields{"file_path": path, "content": "one\ntwo\n"})
	want = `{"type":"update","filePath":"` + path +
		`","content":"one\ntwo\n","structuredPatch":[{"oldStart":1,"oldLines":1,` +
		`"newStart":1,"newLines":2,"lines":[" one","+two"]}],"originalFile":"one\n"}`
	if r.Content != "The file "+path+" has been updated successfully." || string(r.Response) != want {
		t.Errorf("got %q\n%s\nwant\n%s", r.Content, r.Response, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(b.root, "a/b/.covey*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	big := strings.Repeat("0123456789\n", 1<<20)
	b.ok("Write", fields{"file_path": "big", "content": big})
	r = b.call(t.Context(), "Write", fields{"file_path": "big", "content": "small"})
	if r.IsError || !strings.Contains(string(r.Response), `"originalFile":null`) ||
		b.content("big") != "small" {
		t.Errorf("a large file: %.300s", r.Response)
	}
}

func TestWhatIsNotKnownIsNotOverwritten(t *testing.T) {
	b := newBench(t, nil)
	path := b.write("f", "theirs\n")
	change := map[string]fields{
		"Write": {"file_path": path, "content": "mine"},
		"Edit":  {"file_path": path, "old_string": "theirs", "new_string": "mine"},
	}
	for tool, in := range change {
		b.refuses(tool, in, "has not been read; Read it first")
	}
	b.ok("Read", fields{"file_path": path, "limit": 1})
	// A change that neither the time nor the size shows.
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	b.write("f", "theirz\n")
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	for tool, in := range change {
		b.refuses(tool, in, "has been changed since it was last read")
	}
	if b.content("f") != "theirz\n" {
		t.Error("it was overwritten all the same")
	}
	// A file that was only touched has the content that the agent has read.
	b.write("f", "theirs\n")
	b.ok("Read", fields{"file_path": path})
	later := time.Now().Add(time.Second)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	b.ok("Edit", change["Edit"])
	if b.content("f") != "mine\n" {
		t.Errorf("after reading it: %q", b.content("f"))
	}
}

// A change by somebody else after the tool has looked at the file must not be lost.
func TestAChangeWhileAToolWritesIsNotLost(t *testing.T) {
	b := newBench(t, nil)
	path := b.write("f", "theirs\n")
	b.ok("Read", fields{"file_path": path})
	s, err := b.tools.paths.spot(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	old, _, err := b.tools.known(s, maxOriginal)
	if err != nil {
		t.Fatal(err)
	}
	b.write("f", "theirs too\n")
	for _, as := range []fs.FileInfo{old, nil} { // an update, and a new file
		if err := b.tools.replace(&s, []byte("mine"), as); !errors.Is(err, errChanged) {
			t.Errorf("got %v", err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(b.root, ".covey*")); b.content("f") != "theirs too\n" || len(left) > 0 {
		t.Errorf("it holds %q; left behind: %v", b.content("f"), left)
	}
}

// Members that edit one file at the same time lose no edit of each other.
func TestMembersEditOneFileAtOnce(t *testing.T) {
	first := newBench(t, nil)
	path := first.write("f", "")
	const members, edits = 4, 10
	var all sync.WaitGroup
	for range members {
		b := newBench(t, func(e *Env) { e.Workdir = first.wd })
		all.Go(func() {
			for done := 0; done < edits; {
				b.call(t.Context(), "Read", fields{"file_path": path})
				text, err := os.ReadFile(path)
				if err != nil {
					t.Error(err)
					return
				}
				in := fields{"file_path": path, "content": string(text) + "x"}
				if r := b.call(t.Context(), "Write", in); !r.IsError {
					done++
				} else if !strings.Contains(r.Content, "has been changed") {
					t.Errorf("got %q", r.Content)
					return
				}
			}
		})
	}
	all.Wait()
	if got := first.content("f"); got != strings.Repeat("x", members*edits) {
		t.Errorf("%d of %d edits are left: %q", len(got), members*edits, got)
	}
}

func TestWhatWasReadIsKnownAfterARestart(t *testing.T) {
	b := newBench(t, nil)
	path := b.write("f", "a\n")
	b.ok("Read", fields{"file_path": path})
	env := b.tools.env
	// An incomplete last line after a crash does not affect the other lines.
	f, err := os.OpenFile(filepath.Join(env.OutputDir, "files-read.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"path":"/x","si`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	again := newBench(t, func(e *Env) { *e = env })
	again.ok("Write", fields{"file_path": path, "content": "b\n"})
}

func TestWriteFails(t *testing.T) {
	b := newBench(t, nil)
	b.write("file", "x")
	if err := os.Symlink("nowhere", filepath.Join(b.root, "dangling")); err != nil {
		t.Fatal(err)
	}
	for want, in := range map[string]fields{
		"is a directory":       {"file_path": b.root, "content": "x"},
		"not a directory":      {"file_path": "file/x", "content": "x"},
		"is not a regular":     {"file_path": "dangling", "content": "x"},
		"file name too long":   {"file_path": strings.Repeat("x", 300), "content": "x"},
		`"content" is missing`: {"file_path": "x"},
	} {
		b.refuses("Write", in, want)
	}
	if _, err := os.Lstat(filepath.Join(b.root, "nowhere")); err == nil {
		t.Error("a dangling link was followed")
	}
}

func TestPathsAreCanonicalBeforeAnybodySeesThem(t *testing.T) {
	b := newBench(t, nil)
	outside := t.TempDir()
	b.write("docs/a.md", "x")
	for link, to := range map[string]string{"manual": "docs", "out": outside, "dangling": outside +
		"/later", "up": ".."} {
		if err := os.Symlink(to, filepath.Join(b.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	tool := b.byTag["Write"].(interface {
		Normalize(json.RawMessage) json.RawMessage
	})
	for in, want := range map[string]string{
		"docs/a.md":                   b.root + "/docs/a.md",
		"docs/../docs//./a.md":        b.root + "/docs/a.md",
		b.root + "/manual/a.md":       b.root + "/docs/a.md",
		"manual/new/b.md":             b.root + "/docs/new/b.md",
		"out/x":                       outside + "/x",
		"out/no/such/x":               outside + "/no/such/x",
		"manual/../x":                 b.root + "/x",
		"/etc/../etc/hostname":        "/etc/hostname",
		"up/" + filepath.Base(b.root): b.root,
	} {
		got := tool.Normalize(texts.Encode(fields{"content": "c", "file_path": in}))
		if string(got) != `{"file_path":"`+want+`","content":"c"}` {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for _, same := range []string{`{"file_path":"/x","content":"c"}`, `{"file_path":5}`, `nonsense`,
		`{"Content":"c"}`, `null`} {
		if got := tool.Normalize(json.RawMessage(same)); string(got) != same {
			t.Errorf("%s became %s", same, got)
		}
	}
}

// The tool writes exactly the path that the host has shown to hooks, even if the agent
// changes symbolic links on it in between.
func TestALinkThatAppearsAfterTheCheckIsNotFollowed(t *testing.T) {
	b := newBench(t, nil)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(b.root, "link")); err != nil {
		t.Fatal(err)
	}
	in := writeInput{FilePath: filepath.Join(b.root, "link/x"), Content: "c"}
	r := b.tools.write(t.Context(), in)
	if !r.IsError ||
		!strings.Contains(r.Content, "leads through a symbolic link to "+outside+"/x; name that path") {
		t.Errorf("got %q", r.Content)
	}
	s, err := b.tools.paths.spot("safe/x")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := os.Symlink(outside, filepath.Join(b.root, "safe")); err != nil {
		t.Fatal(err)
	}
	if err := b.tools.replace(&s, []byte("c"), nil); err == nil {
		t.Error("written through a link that came after the check")
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("outside the workspace: %v", left)
	}
}

func TestFilesOutsideTheWorkspace(t *testing.T) {
	b := newBench(t, nil)
	path := filepath.Join(t.TempDir(), "new/deep/f")
	b.ok("Write", fields{"file_path": path, "content": "x\n"})
	b.shows("Read", fields{"file_path": path}, "1\tx\n2\t")
}

func TestReadStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := page{from: 1, count: 5}
	if err := p.read(ctx, endless(cancel)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// endless is an endless reader; the third read cancels the context.
type endlessReader struct {
	cancel func()
	reads  int
}

func endless(cancel func()) *endlessReader { return &endlessReader{cancel: cancel} }

func (r *endlessReader) Read(p []byte) (int, error) {
	if r.reads++; r.reads == 3 {
		r.cancel()
	}
	for i := range p {
		p[i] = "line\n"[i%5]
	}
	return len(p), nil
}
