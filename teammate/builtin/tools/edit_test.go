//go:build unix

package tools

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/hooks/texts"
)

func TestEdit(t *testing.T) {
	tests := []struct {
		name, before string
		in           fields
		after        string // what the file holds then
		want         string // what the model is told, besides success
	}{
		{"one place", "a\nb\nc\n", fields{"old_string": "b", "new_string": "B"}, "a\nB\nc\n", ""},
		{"removing", "a\nb\n", fields{"old_string": "a\n", "new_string": ""}, "b\n", ""},
		{
			"twice", "x\ny\nx\n", fields{"old_string": "x", "new_string": "z"}, "",
			"occurs 2 times, at lines 1, 3: it must occur once; add lines",
		},
		{
			"all", "x\ny\nx\n", fields{"old_string": "x", "new_string": "z", "replace_all": true},
			"z\ny\nz\n", "",
		},
		{"all of one", "x", fields{"old_string": "x", "new_string": "xx", "replace_all": true}, "xx", ""},
		{
			"no overlaps", "aaa", fields{"old_string": "aa", "new_string": "b", "replace_all": true}, "ba",
			"",
		},
		{
			"very often", strings.Repeat("x\n", 12), fields{"old_string": "x", "new_string": "z"}, "",
			"at lines 1, 2, 3, 4, 5, 6, 7, 8, …",
		},
		{
			"no sign is special", "a.*b $1", fields{"old_string": "a.*b", "new_string": "$1\\0"},
			"$1\\0 $1", "",
		},
		{
			"not there", "a\n", fields{"old_string": "b", "new_string": "c"}, "",
			"was not found; Read the file again",
		},
		{
			"other spaces", "if x {\n\ty()\n}\n",
			fields{"old_string": "if x {\n    y()", "new_string": "z"}, "",
			"line 1 has the same words with other spaces",
		},
		{
			"line numbers", "a\nb\n", fields{"old_string": "1\ta\n2\tb", "new_string": "c"}, "",
			"has the line numbers that Read puts before lines",
		},
		{"the same", "a", fields{"old_string": "a", "new_string": "a"}, "", "nothing to change"},
		{
			"an empty old_string", "a", fields{"old_string": "", "new_string": "b"}, "",
			"old_string is empty, but the file is not",
		},
		{"an empty file", "\n", fields{"old_string": "", "new_string": "b"}, "b", ""},
		{
			"Windows lines", "a\r\nb\r\nc\r\n", fields{"old_string": "a\nb\n", "new_string": "x\ny\nz\n"},
			"x\r\ny\r\nz\r\nc\r\n", "",
		},
		{
			"a word in a Windows file", "a b\r\nc\r\n", fields{"old_string": "b", "new_string": "x\ny"},
			"a x\r\ny\r\nc\r\n", "",
		},
		{
			"mixed line ends", "a\nb\r\nc\nd\n", fields{"old_string": "b\nc", "new_string": "x\ny"},
			"a\nx\r\ny\nd\n", "",
		},
		{
			"line ends themselves", "a\r\nb\r\n", fields{"old_string": "\r\nb", "new_string": "\nb"},
			"a\r\nb\r\n", "",
		},
		{
			"invalid UTF-8 around it", "\xff\xfeab\xffc", fields{"old_string": "b", "new_string": "ü"},
			"\xff\xfeaü\xffc", "",
		},
		{
			"all in a Windows file", "x\r\ny\r\nx\r\ny\r\n",
			fields{"old_string": "x\ny\n", "new_string": "z\n", "replace_all": true}, "z\r\nz\r\n", "",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, nil)
			path := b.write("f", test.before)
			if err := os.Chmod(path, 0o750); err != nil {
				t.Fatal(err)
			}
			b.ok("Read", fields{"file_path": path})
			test.in["file_path"] = path
			r := b.call(t.Context(), "Edit", test.in)
			if test.want != "" {
				if !r.IsError || !strings.Contains(r.Content, test.want) || b.content("f") != test.before {
					t.Errorf("got %q, the file is %q", r.Content, b.content("f"))
				}
				return
			}
			if r.IsError || b.content("f") != test.after {
				t.Errorf("%s\n got %q\nwant %q", r.Content, b.content("f"), test.after)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o750 {
				t.Errorf("the mode is %v, %v", info.Mode(), err)
			}
		})
	}
}

func TestEditResponse(t *testing.T) {
	b := newBench(t, nil)
	path := b.write("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	b.ok("Read", fields{"file_path": path})
	r := b.call(t.Context(), "Edit",
		fields{"file_path": "f", "old_string": "5\n", "new_string": "five\n5b\n"})
	want := `{"filePath":"` + path +
		`","oldString":"5\n","newString":"five\n5b\n","originalFile":"1\n2\n3\n4\n5\n6\n7\n8\n9\n",` +
		`"structuredPatch":[{"oldStart":2,"oldLines":7,"newStart":2,"newLines":8,` +
		`"lines":[" 2"," 3"," 4","-5","+five","+5b"," 6"," 7"," 8"]}],"userModified":false,"replaceAll":false}`
	if string(r.Response) != want {
		t.Errorf("got %s\nwant %s", r.Response, want)
	}
}

func TestEditMakesAFile(t *testing.T) {
	b := newBench(t, nil)
	b.ok("Edit", fields{"file_path": "new/f", "old_string": "", "new_string": "x\n"})
	if b.content("new/f") != "x\n" {
		t.Errorf("it holds %q", b.content("new/f"))
	}
	got := b.fails("Edit", fields{"file_path": "none", "old_string": "a", "new_string": "b"})
	if !strings.Contains(got, "none does not exist") {
		t.Errorf("got %q", got)
	}
	b.write("large", "")
	if err := os.Truncate(filepath.Join(b.root, "large"), maxEdit+1); err != nil {
		t.Fatal(err)
	}
	b.ok("Bash", fields{"command": "true"})
	zeros := sha256.Sum256(make([]byte, maxEdit+1))
	b.tools.stamps.record(filepath.Join(b.root, "large"), zeros[:])
	b.refuses("Edit", fields{"file_path": "large", "old_string": "a", "new_string": "b"}, "more than the")
}

func TestEditOfTenMegabytes(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	path := b.write("f", strings.Repeat("0123456789 some text\r\n", 500_000)+"needle\r\nend")
	b.ok("Read", fields{"file_path": path, "offset": 500_000})
	b.ok("Edit", fields{"file_path": path, "old_string": "needle\nend", "new_string": "found"})
	if !strings.HasSuffix(b.content("f"), "text\r\nfound") {
		t.Error("not replaced")
	}
	got := b.fails("Edit",
		fields{"file_path": path, "old_string": "0123456789  some text\nnever", "new_string": "x"})
	if !strings.Contains(got, "was not found") {
		t.Errorf("got %q", got)
	}
}

// Edit with plain strings does what strings.Replace does.
func TestEditAgainstReplace(t *testing.T) {
	text := rapid.StringOf(rapid.SampledFrom([]rune("ab\n")))
	rapid.Check(t, func(t *rapid.T) {
		before := text.Draw(t, "before")
		in := editInput{
			OldString:  rapid.StringOfN(rapid.SampledFrom([]rune("ab\n")), 1, 4, -1).Draw(t, "old"),
			NewString:  text.Draw(t, "new"),
			ReplaceAll: rapid.Bool().Draw(t, "all"),
		}
		after, err := substitute(before, in)
		n := strings.Count(before, in.OldString)
		if n == 0 || n > 1 && !in.ReplaceAll {
			if err == nil {
				t.Fatalf("%d occurrences, and no error", n)
			}
			return
		}
		if want := strings.ReplaceAll(before, in.OldString, in.NewString); err != nil || after != want {
			t.Fatalf("got %q, %v; want %q", after, err, want)
		}
	})
}

func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\r\n", "a\nb", "c\nd", true)
	f.Add("x\ny", "1\tx", "", false)
	f.Add("\xff\n\r\n", "\n", "\r\n", true)
	f.Add("", "", "x", false)
	f.Fuzz(func(t *testing.T, before, old, replacement string, all bool) {
		after, err := substitute(before, editInput{OldString: old, NewString: replacement, ReplaceAll: all})
		if err != nil {
			if err.Error() == "" || after != "" {
				t.Fatalf("%q with %q", err, after)
			}
			return
		}
		if old == "" {
			return
		}
		// Outside the places that it replaces, an edit changes no byte.
		spans := find(before, old)
		if len(spans) == 0 || len(spans) > 1 && !all {
			t.Fatalf("%d places, and no error", len(spans))
		}
		first, last := before[:spans[0][0]], before[spans[len(spans)-1][1]:]
		if !strings.HasPrefix(after, first) || !strings.HasSuffix(after, last) {
			t.Fatalf("%q became %q", before, after)
		}
	})
}

func TestPatch(t *testing.T) {
	tests := []struct {
		name, before, after string
		want                []hunk
	}{
		{"nothing", "a\n", "a\n", []hunk{}},
		{"from nothing", "", "a\n", []hunk{{1, 0, 1, 1, []string{"+a"}}}},
		{"to nothing", "a\nb", "", []hunk{{1, 2, 1, 0, []string{"-a", "-b"}}}},
		{
			"two places are one hunk", "a\nb\nc\n", "A\nb\nC\n",
			[]hunk{{1, 3, 1, 3, []string{"-a", "-b", "-c", "+A", "+b", "+C"}}},
		},
		{"repeated lines", "x\nx\n", "x\nx\nx\n", []hunk{{1, 2, 1, 3, []string{" x", " x", "+x"}}}},
		{"too much", strings.Repeat("a\n", 1500), strings.Repeat("b\n", 1500), []hunk{}},
	}
	for _, test := range tests {
		if got := patch(test.before, test.after); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v", test.name, got)
		}
	}
}

// The old lines of a patch are lines of the text before the edit, and the new lines are
// lines of the text after it, at the positions that the patch names.
func TestPatchesSayWhatIsThere(t *testing.T) {
	lines := rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c"})), func(l []string) string {
		return strings.Join(l, "\n")
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := lines.Draw(t, "before"), lines.Draw(t, "after")
		for _, h := range patch(before, after) {
			var was, is []string
			for _, line := range h.Lines {
				if line[0] != '+' {
					was = append(was, line[1:])
				}
				if line[0] != '-' {
					is = append(is, line[1:])
				}
			}
			a, b := splitLines(before), splitLines(after)
			if len(was) != h.OldLines || len(is) != h.NewLines ||
				strings.Join(a[h.OldStart-1:h.OldStart-1+h.OldLines], "\n") != strings.Join(was, "\n") ||
				strings.Join(b[h.NewStart-1:h.NewStart-1+h.NewLines], "\n") != strings.Join(is, "\n") {
				t.Fatalf("%q to %q: %+v", before, after, h)
			}
			if raw := texts.Encode(h); !json.Valid(raw) {
				t.Fatalf("not JSON: %s", raw)
			}
		}
	})
}
