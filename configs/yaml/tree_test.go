package yaml

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/lexer"
)

// tree parses text that must have a tree.
func tree(t *testing.T, text string) *Node {
	t.Helper()
	d := Parse("t.yaml", []byte(text))
	if len(d.Problems) > 0 || d.Root == nil {
		t.Fatalf("%v in\n%s", d.Problems, text)
	}
	return d.Root
}

// outline writes a tree on one line, each node with its place.
func outline(n *Node) string {
	at := fmt.Sprintf("@%d:%d", n.At.Line, n.At.Col)
	switch n.Kind {
	case NullKind:
		return "null" + at
	case BoolKind:
		return fmt.Sprintf("%t%s", n.Yes, at)
	case WholeKind:
		return fmt.Sprintf("%d%s", n.Whole, at)
	case NumberKind:
		return fmt.Sprintf("%v%s", n.Real, at)
	case TextKind:
		return fmt.Sprintf("%q%s", n.Text, at)
	case ListKind:
		parts := make([]string, len(n.Items))
		for i, item := range n.Items {
			parts[i] = outline(item)
		}
		return "[" + strings.Join(parts, " ") + "]" + at
	}
	parts := make([]string, len(n.Pairs))
	for i, p := range n.Pairs {
		parts[i] = outline(p.Key) + "=" + outline(p.Value)
	}
	return "{" + strings.Join(parts, " ") + "}" + at
}

// TestScalars holds what each way of writing a value means: YAML 1.2, so that
// `yes`, `on` and 1_000 hold no surprises and JSON is a part of it.
func TestScalars(t *testing.T) {
	for text, want := range map[string]string{
		"a":                       `"a"@1:4`,
		"a b: c":                  "",
		`"a: b"`:                  `"a: b"@1:4`,
		`'a: b'`:                  `"a: b"@1:4`,
		`'it''s'`:                 `"it's"@1:4`,
		`"\u00e9\ud83d\ude00\/"`:  `"é😀/"@1:4`,
		`"\x41\t\n"`:              `"A\t\n"@1:4`,
		"yes":                     `"yes"@1:4`,
		"off":                     `"off"@1:4`,
		"true":                    `true@1:4`,
		"False":                   `false@1:4`,
		`"true"`:                  `"true"@1:4`,
		"null":                    `null@1:4`,
		"~":                       `null@1:4`,
		`"null"`:                  `"null"@1:4`,
		"3":                       `3@1:4`,
		"-3":                      `-3@1:4`,
		"+3":                      `3@1:4`,
		"0x1F":                    `31@1:4`,
		"0o17":                    `15@1:4`,
		"9223372036854775807":     `9223372036854775807@1:4`,
		"9223372036854775808":     `9.223372036854776e+18@1:4`,
		"18446744073709551616":    `1.8446744073709552e+19@1:4`,
		"-9223372036854775809":    `-9.223372036854776e+18@1:4`,
		"1.5":                     `1.5@1:4`,
		"-.5":                     `-0.5@1:4`,
		"1e3":                     `1000@1:4`,
		"1E-2":                    `0.01@1:4`,
		"1e999":                   `+Inf@1:4`,
		".inf":                    `+Inf@1:4`,
		".nan":                    `NaN@1:4`,
		"10m":                     `"10m"@1:4`,
		"1.2.3":                   `"1.2.3"@1:4`,
		"2026-11-21":              `"2026-11-21"@1:4`,
		"12:30":                   `"12:30"@1:4`,
		"go test ./...":           `"go test ./..."@1:4`,
		"a # comment":             `"a"@1:4`,
		"a#b":                     `"a#b"@1:4`,
		"docs/**":                 `"docs/**"@1:4`,
		"http://127.0.0.1:1/x":    `"http://127.0.0.1:1/x"@1:4`,
		"[]":                      `[]@1:4`,
		"{}":                      `{}@1:4`,
		"[a, b c, 3]":             `["a"@1:5 "b c"@1:8 3@1:13]@1:4`,
		"{a: b, c: {d: e}}":       `{"a"@1:5="b"@1:8 "c"@1:11={"d"@1:15="e"@1:18}@1:14}@1:4`,
		"[a: b]":                  `[{"a"@1:5="b"@1:8}@1:5]@1:4`,
		"{a: }":                   `{"a"@1:5=null@1:8}@1:4`,
		`{"a":1,"b":[true,null]}`: `{"a"@1:5=1@1:9 "b"@1:11=[true@1:16 null@1:21]@1:15}@1:4`,
		"[é, ü, {ö: ß}]":          `["é"@1:5 "ü"@1:8 {"ö"@1:12="ß"@1:15}@1:11]@1:4`,
	} {
		d := Parse("t.yaml", []byte("k: "+text+"\n"))
		if want == "" {
			if len(d.Problems) == 0 {
				t.Errorf("%s is taken", text)
			}
			continue
		}
		if len(d.Problems) > 0 {
			t.Errorf("%s: %v", text, d.Problems)
			continue
		}
		if got := strings.TrimSuffix(strings.TrimPrefix(outline(d.Root), `{"k"@1:1=`), "}@1:1"); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// TestPlaces holds where things are in texts of more than one line.
func TestPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"a:\n  b: c\n":                          `{"a"@1:1={"b"@2:3="c"@2:6}@2:3}@1:1`,
		"a:\n- b\n- c: d\n  e: f\n":             `{"a"@1:1=["b"@2:3 {"c"@3:3="d"@3:6 "e"@4:3="f"@4:6}@3:3]@2:1}@1:1`,
		"a:\n  - - b\n    - c\n":                `{"a"@1:1=[["b"@2:7 "c"@3:7]@2:5]@2:3}@1:1`,
		"- {a: b}\n-\n  c: d\n":                 `[{"a"@1:4="b"@1:7}@1:3 {"c"@3:3="d"@3:6}@3:3]@1:1`,
		"a: |\n  b\n   c\nd: e\n":               `{"a"@1:1="b\n c\n"@1:4 "d"@4:1="e"@4:4}@1:1`,
		"a: >-\n  b\n  c\nd: e\n":               `{"a"@1:1="b c"@1:4 "d"@4:1="e"@4:4}@1:1`,
		"a: b\n  c\nd: e\n":                     `{"a"@1:1="b c"@1:4 "d"@3:1="e"@3:4}@1:1`,
		"a: \"b\n  c\"\nd: e\n":                 `{"a"@1:1="b c"@1:4 "d"@3:1="e"@3:4}@1:1`,
		"a: [b,\n  c]\nd: e\n":                  `{"a"@1:1=["b"@1:5 "c"@2:3]@1:4 "d"@3:1="e"@3:4}@1:1`,
		"# c\n\na: b # d\n\n\nc: d\n":           `{"a"@3:1="b"@3:4 "c"@6:1="d"@6:4}@3:1`,
		"{\n\t\"a\": 1,\n\t\t\"b\": [\n\t2]\n}": `{"a"@2:2=1@2:7 "b"@3:3=[2@4:2]@3:8}@1:1`,
		"---\na: b\n...\n":                      `{"a"@2:1="b"@2:4}@2:1`,
		"a: b\r\nc: d\r\n":                      `{"a"@1:1="b"@1:4 "c"@2:1="d"@2:4}@1:1`,
		"\ufeffa: b\n":                          `{"a"@1:1="b"@1:4}@1:1`,
		"1: a\ntrue: b\n\"q\": c\n":             `{1@1:1="a"@1:4 true@2:1="b"@2:7 "q"@3:1="c"@3:6}@1:1`,
	} {
		if got := outline(tree(t, text)); got != want {
			t.Errorf("%q is\n%s, want\n%s", text, got, want)
		}
	}
}

// TestKeyTexts: keys are known by what is written, whatever YAML takes it for.
func TestKeyTexts(t *testing.T) {
	root := tree(t, "1: a\ntrue: b\n1.5: c\n~: d\nkey: e\n")
	for key, want := range map[string]string{"1": "a", "true": "b", "1.5": "c", "null": "d", "key": "e"} {
		if n := root.Lookup(key); n == nil || n.Text != want {
			t.Errorf("lookup(%q) = %v, want %q", key, n, want)
		}
	}
	if n := root.Lookup("none"); n != nil {
		t.Errorf("lookup of a key that is not there: %v", n)
	}
}

// TestGuard holds what goes no further than the tokens, and what does.
func TestGuard(t *testing.T) {
	for text, want := range map[string]string{
		"a: b\n":                                   "",
		"a: '&b'\nc: \"*d\"\ne: '!f'\n":            "",
		"a: b & c\nd: e * f\ng: h! i\n":            "",
		"a: Bash(go test *)\nb: docs/**\n":         "",
		"'<<': a\n":                                "",
		"a: |\n  &b *c !d\n  ---\n":                "",
		"# &a *b\na: b\n":                          "",
		"---\n# c\na: b\n":                         "",
		"a: b\n...\n# c\n":                         "",
		"a: &b c\n":                                "anchors",
		"a: *b\n":                                  "aliases",
		"a: !b c\n":                                "tags",
		"<<: {a: b}\n":                             "merge keys",
		"? a\n: b\n":                               "begin with ?",
		"%YAML 1.1\n---\na: b\n":                   "directives",
		"a: b\n---\nc: d\n":                        "a second document",
		"---\na: b\n---\n":                         "a second document",
		"a: b\n...\nc: d\n":                        "a second document",
		strings.Repeat("[", spec().MaxDepth+1):     "nests too deep",
		strings.Repeat("- ", spec().MaxDepth+1):    "nests too deep",
		strings.Repeat("a: b\n", spec().MaxKeys+1): "more than 10000 keys",
		"a: [" + strings.Repeat("{},", 5000) + "]": "",
	} {
		src, _, message := newSource("t.yaml", []byte(text), spec())
		if message != "" {
			t.Fatal(message)
		}
		problems := guard(src, lexer.Tokenize(src.text))
		switch {
		case want == "" && len(problems) > 0:
			t.Errorf("%.60q: %v", text, problems[0])
		case want != "" && (len(problems) == 0 || !strings.Contains(problems[0].Message, want)):
			t.Errorf("%.60q: %v, want %q", text, problems, want)
		}
	}
}

// TestGuardStops: an alias bomb is not listed whole.
func TestGuardStops(t *testing.T) {
	src, _, _ := newSource("t.yaml", []byte(strings.Repeat("- *a\n", 5000)), spec())
	if n := len(guard(src, lexer.Tokenize(src.text))); n != maxGuardReports {
		t.Errorf("%d problems, want %d", n, maxGuardReports)
	}
}

// blocks is mappings in mappings, each on a line of its own.
func blocks(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// TestDepthOfBlocks: what the guard cannot see is refused on the way to the tree.
func TestDepthOfBlocks(t *testing.T) {
	for depth, fits := range map[int]bool{spec().MaxDepth - 2: true, spec().MaxDepth + 3: false} {
		d := Parse("t.yaml", []byte(blocks(depth)))
		if got := len(d.Problems) == 0; got != fits {
			t.Errorf("depth %d: problems %v", depth, d.Problems)
		}
	}
}

func TestNewSource(t *testing.T) {
	for text, want := range map[string]struct {
		at      Position
		message string
	}{
		"a: b":                         {Position{1, 1}, ""},
		"a: \u00e9\u0085b":             {Position{1, 1}, ""},
		"a\tb\nc\r\nd\re":              {Position{1, 1}, ""},
		"\ufffd is a character":        {Position{1, 1}, ""},
		"é\xff":                        {Position{1, 2}, "byte 0xff is not UTF-8"},
		"a\nb\n  \xc3(":                {Position{3, 3}, "byte 0xc3 is not UTF-8"},
		"a\r\n\x07":                    {Position{2, 1}, "U+0007"},
		"\x7f":                         {Position{1, 1}, "U+007F"},
		"é\u009b":                      {Position{1, 2}, "U+009B"},
		strings.Repeat("a", MaxSize):   {Position{1, 1}, ""},
		strings.Repeat("a", MaxSize+1): {Position{1, 1}, "larger than 128 KiB"},
	} {
		_, at, message := newSource("t.yaml", []byte(text), spec())
		if !strings.Contains(message, want.message) || want.message == "" && message != "" {
			t.Errorf("%.20q: message %q, want %q", text, message, want.message)
		}
		if message != "" && at != want.at {
			t.Errorf("%.20q: at %v, want %v", text, at, want.at)
		}
	}
}

// TestCaret puts the caret under the spot in lines of all kinds.
func TestCaret(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, test := range []struct {
		line string
		col  int
		spot rune
	}{
		{"key: value", 1, 'k'}, {"key: value", 6, 'v'}, {"\tkey: value", 2, 'k'}, {"é: ß", 4, 'ß'},
		{"\u200bkey", 2, 'k'}, {long[:100] + "!" + long, 101, '!'}, {long + "!" + long, 301, '!'},
		{long + "!", 301, '!'}, {"!" + long, 1, '!'},
	} {
		src, _, _ := newSource("t.yaml", []byte(test.line), spec())
		p := src.problem(Position{1, test.col}, "m")
		source := []rune(p.Source)
		if p.mark >= len(source) || source[p.mark] != test.spot {
			t.Errorf("the caret of column %d of %.30q is at %d of %q", test.col, test.line, p.mark, p.Source)
		}
		if len(source) > sourceWindow+2 {
			t.Errorf("%d characters of %.30q are shown", len(source), test.line)
		}
	}
}

// TestProblemOutside: a place that is not in the text shows no line.
func TestProblemOutside(t *testing.T) {
	src, _, _ := newSource("t.yaml", []byte("a: b\n"), spec())
	for _, at := range []Position{{0, 1}, {9, 1}, {2, 1}} {
		want := fmt.Sprintf("t.yaml:%d:%d: m", at.Line, at.Col)
		if at.Line == 0 { // it has no place at all
			want = "t.yaml: m"
		}
		if got := src.problem(at, "m").String(); got != want {
			t.Errorf("%v gives %q, want %q", at, got, want)
		}
	}
}

func TestJSONFilesAreJSON(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"team.json", "{\n \"covey\": 1,\n \"lead\": {\"model\": {\"provider\": \"script\"},},\n}", "team.json:3:43: a .json file must be JSON"},
		{"team.json", "covey: 1", "team.json:1:1: a .json file must be JSON"},
		{"team.json", "", "team.json:1:1: "},
		{"team.yaml", "{covey: 1,}", ""}, // the trailing comma is YAML's
	} {
		problems := Parse(tt.name, []byte(tt.text)).Problems
		if tt.want == "" && len(problems) > 0 || tt.want != "" && (len(problems) == 0 || !strings.HasPrefix(problems[0].String(), tt.want)) {
			t.Errorf("%s %q: %v, want %q", tt.name, tt.text, problems, tt.want)
		}
	}
}
