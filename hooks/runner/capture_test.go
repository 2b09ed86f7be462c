package runner

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/texts"
)

// TestCaptureKeepsTheBeginning: however the bytes arrive, the first ones stay
// and the rest is counted.
func TestCaptureKeepsTheBeginning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		c := capture{limit: limit}
		var all strings.Builder
		for _, chunk := range rapid.SliceOfN(rapid.StringN(0, 20, 30), 0, 8).Draw(t, "chunks") {
			n, err := c.Write([]byte(chunk))
			if n != len(chunk) || err != nil {
				t.Fatalf("took %d of %d bytes, %v", n, len(chunk), err)
			}
			all.WriteString(chunk)
		}
		want := all.String()[:min(limit, all.Len())]
		if string(c.kept) != want || c.dropped != int64(all.Len()-len(want)) {
			t.Fatalf("kept %q and dropped %d of %q", c.kept, c.dropped, all.String())
		}
	})
}

func TestAnswerCaptureGrowsForAnswers(t *testing.T) {
	long := strings.Repeat("x", 3*defaultOutputCap)
	for _, test := range []struct {
		name   string
		chunks []string
		whole  bool
	}{
		{"an object", []string{"{" + long}, true},
		{"blanks before it", []string{" \n", "\t", `{"a":`, long}, true},
		{"text", []string{long}, false},
		{"text before it", []string{"noise\n", "{" + long}, false},
		{"a list", []string{"[{" + long}, false},
		{"nothing but blanks", []string{strings.Repeat(" ", 3*defaultOutputCap)}, false},
		{"a brace that comes too late", []string{strings.Repeat(" ", defaultOutputCap), "{" + long}, false},
	} {
		c := answerCapture{capture{limit: defaultOutputCap}}
		total := 0
		for _, chunk := range test.chunks {
			n, err := c.Write([]byte(chunk))
			if err != nil {
				t.Fatal(err)
			}
			total += n
		}
		if whole := len(c.kept) == total; whole != test.whole {
			t.Errorf("%s: kept %d of %d bytes", test.name, len(c.kept), total)
		}
		if len(c.kept) > answerCap {
			t.Errorf("%s: kept %d bytes", test.name, len(c.kept))
		}
	}
	c := answerCapture{capture{limit: defaultOutputCap}}
	for range 40 {
		fmt.Fprint(&c, "{", long)
	}
	if len(c.kept) != answerCap || c.dropped == 0 {
		t.Errorf("kept %d bytes, dropped %d", len(c.kept), c.dropped)
	}
}

func TestCaptureText(t *testing.T) {
	c := capture{limit: 100}
	fmt.Fprint(&c, "a\xffbü", strings.Repeat("z", 200))
	if got := c.text(5); got != "a\uFFFDb\u00fc" {
		t.Errorf("text %q", got)
	}
	if got := c.text(4); !utf8.ValidString(got) {
		t.Errorf("a character that is cut: %q", got)
	}
	if got := c.cutNote("stdout", 50); got != "155 more bytes of stdout were not kept" {
		t.Errorf("note %q", got)
	}
	if got := (&capture{limit: 5, kept: []byte("abc")}).cutNote("stdout", 5); got != "" {
		t.Errorf("note %q", got)
	}
}

// TestTailKeepsTheEnd: what stays is the end, valid UTF-8 and from a line's
// beginning.
func TestTailKeepsTheEnd(t *testing.T) {
	var end tail
	for i := range 2000 {
		end.Write(fmt.Appendf(nil, "line %d ü\n", i))
	}
	end.Write([]byte("last\n"))
	text := end.text(tailCap)
	if !strings.HasPrefix(text, "…\nline ") || !strings.HasSuffix(text, "\nlast") || len(text) > tailCap+10 ||
		!utf8.ValidString(text) {
		t.Errorf("%d bytes: %.60q … %q", len(text), text, text[len(text)-20:])
	}
	for _, line := range strings.Split(text, "\n")[1:] {
		if !strings.HasPrefix(line, "line ") && line != "last" {
			t.Errorf("a torn line: %q", line)
		}
	}
}

func TestTailOfHugeWrites(t *testing.T) {
	for size, want := range map[int]int{0: 0, 10: 10, tailCap: tailCap, tailCap + 1: tailCap, 50 * tailCap: tailCap} {
		var end tail
		end.Write([]byte(strings.Repeat("ü", size/2) + strings.Repeat("x", size%2)))
		text := strings.TrimPrefix(end.text(tailCap), "…\n")
		if len(text) < want-4 || len(text) > want || !utf8.ValidString(text) {
			t.Errorf("%d bytes written: %d kept, want %d", size, len(text), want)
		}
	}
	var short tail
	short.Write([]byte("\n  two\nlines \n\n"))
	if got := short.text(tailCap); got != "two\nlines" {
		t.Errorf("a short output is whole: %q", got)
	}
}

// TestEndOf: errors stand last, and neither stream pushes the other out.
func TestEndOf(t *testing.T) {
	long := func(word string) string { return strings.Repeat(word+"\n", 5000) }
	for _, test := range []struct{ stdout, stderr, begins, ends string }{
		{"", "", "", ""},
		{"out\n", "", "out", "out"},
		{"", "err\n", "err", "err"},
		{"out\n", "err\n", "out\n", "\nerr"},
		{long("out"), "err\n", "…\nout\n", "out\nerr"},
		{"out\n", long("err"), "out\n…\n", "err\nerr"},
		{long("out"), long("err"), "…\nout\n", "err\nerr"},
	} {
		var out, errs tail
		out.Write([]byte(test.stdout))
		errs.Write([]byte(test.stderr))
		got := endOf(&out, &errs)
		if !strings.HasPrefix(got, test.begins) || !strings.HasSuffix(got, test.ends) || len(got) > tailCap+20 {
			t.Errorf("%.20q, %.20q: %d bytes, %.20q … %q", test.stdout, test.stderr, len(got), got, got[max(0, len(got)-20):])
		}
		if test.stdout != "" && test.stderr != "" && !strings.Contains(got, "out\n") {
			t.Errorf("%.20q was pushed out", test.stdout)
		}
	}
}

func TestPreview(t *testing.T) {
	for _, test := range []struct {
		text string
		n    int
		want string
	}{
		{"", 5, ""}, {"abc", 5, "abc"}, {"abcdef", 5, "abcde…"}, {" a\nb ", 5, "a …"}, {"aüü", 4, "aü…"}, {"\xff", 5, "\uFFFD"},
		{"üü", 1, "…"},
	} {
		if got := texts.Preview(test.text, test.n); got != test.want {
			t.Errorf("%q, %d: %q, want %q", test.text, test.n, got, test.want)
		}
	}
}

func TestFirstRunes(t *testing.T) {
	for _, test := range []struct {
		text string
		n    int
		want string
	}{{"", 3, ""}, {"abc", 0, ""}, {"abc", 2, "ab"}, {"üöä", 2, "üö"}, {"ab", 5, "ab"}} {
		if got := texts.Runes(test.text, test.n); got != test.want {
			t.Errorf("%q, %d: %q", test.text, test.n, got)
		}
	}
}

// TestSpillCountsCharacters: ten thousand characters pass, however many bytes
// they are.
func TestSpillCountsCharacters(t *testing.T) {
	r := &run{Runner: &Runner{opts: Options{SpillDir: t.TempDir()}}}
	var v Verdict
	for text, kept := range map[string]bool{
		strings.Repeat("x", maxText):   true,
		strings.Repeat("ü", maxText):   true,
		strings.Repeat("ü", maxText+1): false,
		strings.Repeat("x", maxText+1): false,
		"":                             true,
	} {
		if got := r.shorten(&v, text); (got == text) != kept {
			t.Errorf("%d bytes: kept %v, got %.80q", len(text), got == text, got)
		}
	}
	if v.Warning != "" {
		t.Errorf("warning %q", v.Warning)
	}
}

func TestShellWords(t *testing.T) {
	for text, want := range map[string]bool{
		"/usr/lib/x-1_2.3": true, "a@b": true, "": false, "a b": false, "$x": false, "a;b": false, "`x`": false, "a'b": false,
		"ü": false, "a\nb": false, "~": false, "a*": false, "(x)": false, "a\\b": false,
	} {
		if isShellWord(text) != want {
			t.Errorf("%q: want %v", text, want)
		}
	}
}

func TestLookupEnv(t *testing.T) {
	env := []string{"A=1", "AB=2", "A=3", "C", "=x"}
	for name, want := range map[string]string{"A": "3", "AB": "2", "C": "", "D": "", "": "x"} {
		if got := proc.Getenv(env, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestHookDepth(t *testing.T) {
	for value, want := range map[string]int{"": 0, "2": 2, "x": 0, "-5": 0, "999": 999} {
		if got := hookDepth([]string{depthName + "=" + value}); got != want {
			t.Errorf("%q: %d, want %d", value, got, want)
		}
	}
	t.Setenv(depthName, "3")
	if got := hookDepth([]string{"PATH=/bin"}); got != 3 {
		t.Errorf("a filtered environment hides the depth: %d", got)
	}
}

// TestSpillReachesEveryText: contexts and messages for people are shortened,
// a refusal's reason never is: the model has to read it.
func TestSpillReachesEveryText(t *testing.T) {
	long := strings.Repeat("x", maxText+1)
	quoted, err := texts.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{Runner: &Runner{opts: Options{SpillDir: t.TempDir()}}}
	said := `{"decision":"block","reason":` + string(quoted) + `,"systemMessage":` + string(quoted) +
		`,"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":` + string(quoted) + `}}`
	v := Judge(hooks.InfoOf(hooks.Stop), &hooks.Handler{}, Finding{Answer: Read(hooks.Stop, said, false)})
	r.spill(&v)
	if v.Feedback != long {
		t.Errorf("the reason was shortened to %d bytes", len(v.Feedback))
	}
	for _, text := range []string{v.Message, v.Contexts[0].Text} {
		if len(text) > previewText+500 || !strings.Contains(text, "Output too large (9.8KB)") {
			t.Errorf("%d bytes: %.100q", len(text), text)
		}
	}
}
