package term

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlain(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"ordinary", "Grüße, 世界 🎉", "Grüße, 世界 🎉"},
		{"lines and tabs stay", "a\n\tb\n", "a\n\tb\n"},
		{"CRLF is a newline", "a\r\nb", "a\nb"},
		{"colour", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"clipboard", "\x1b]52;c;cm0gLXJm\a", `\x1b]52;c;cm0gLXJm\x07`},
		{"overwriting the line", "harmless\rrm -rf /", `harmless\x0drm -rf /`},
		{"erasing", "ab\b\b\x7f", `ab\x08\x08\x7f`},
		{"one-byte controls", "a\u009b31mb", `a\u009b31mb`},
		{"reading direction", "a\u202etxt.exe", `a\u202etxt.exe`},
		{"isolates", "\u2066x\u2069", `\u2066x\u2069`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"tag characters", "a\U000e0041", `a\U000e0041`},
		{"joined emoji stay", "👩\u200d💻", "👩\u200d💻"},
		{"not UTF-8", "a\xff\xc3b", "a\ufffd\ufffdb"},
		{"NUL", "a\x00b", `a\x00b`},
		{"lone CR at the end", "a\r", `a\x0d`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Plain(tc.in); got != tc.want {
				t.Errorf("plain(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

func TestPlainLine(t *testing.T) {
	if got, want := PlainLine("  one\n\n two\tthree\x1b\n"), `one two three\x1b`; got != want {
		t.Errorf("plainLine = %q, want %q", got, want)
	}
}

// TestPlainJSON: the disarmed document means what it meant before.
func TestPlainJSON(t *testing.T) {
	in := map[string]string{"text": "a\x7f\u009b\u202e\U000e0041 é 🎉\x1b\n"}
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	safe := plainJSON(raw)
	var out map[string]string
	if err := json.Unmarshal(safe, &out); err != nil || out["text"] != in["text"] {
		t.Errorf("plainJSON(%s) = %s, which reads as %q (%v)", raw, safe, out["text"], err)
	}
	if !isPlain(string(safe)) {
		t.Errorf("plainJSON left something in %q", safe)
	}
}

// FuzzPlain: whatever goes in, what comes out is harmless, and doing it twice
// changes nothing.
func FuzzPlain(f *testing.F) {
	f.Add("\x1b]0;title\a")
	f.Add("\xff\u2028\r\n")
	f.Fuzz(func(t *testing.T, in string) {
		out := Plain(in)
		if !utf8.ValidString(out) || !isPlain(out) || Plain(out) != out {
			t.Errorf("plain(%q) = %q is not harmless", in, out)
		}
		if line := PlainLine(in); strings.ContainsAny(line, "\n\t\r\x1b") {
			t.Errorf("plainLine(%q) = %q is not one line", in, line)
		}
	})
}
