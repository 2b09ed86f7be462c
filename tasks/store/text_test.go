package store

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for have, want := range map[string]string{
		"":              "",
		"plain äöü 🦆":   "plain äöü 🦆",
		"a\x00b":        "a\uFFFDb",
		"a\xffb":        "a\uFFFDb",
		"cut \xe2\x82":  "cut \uFFFD",
		"\x1b[2Jescape": "\x1b[2Jescape", // showing it safely is the reader's business
	} {
		if got := Clean(have); got != want || !utf8.ValidString(got) {
			t.Errorf("Clean(%q) = %q, want %q", have, got, want)
		}
	}
}

func TestCheckName(t *testing.T) {
	for name, valid := range map[string]bool{
		"backend": true, "Ärger": true, "a b": true, "toolu_01AB": true, strings.Repeat("x", MaxName): true,
		"": false, "a\x00": false, "a\nb": false, "\xff": false, "\x7f": false, strings.Repeat("x", MaxName+1): false,
	} {
		if err := CheckName("member", name); (err == nil) != valid || err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("CheckName(%.20q) = %v, want valid: %v", name, err, valid)
		}
	}
}

func TestCleanJSON(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{``, ``},
		{` { "a" : [1, 2] } `, `{"a":[1,2]}`},
		{`"` + "\xff" + `"`, `"` + "\uFFFD" + `"`},
		{`{"a":}`, "error"},
		{`1 2`, "error"},
		{`{`, "error"},
	} {
		have, err := CleanJSON("data", json.RawMessage(tt.in))
		if tt.want == "error" {
			wantError(t, err, ErrInvalid, "data is not JSON")
		} else if err != nil || string(have) != tt.want {
			t.Errorf("%q: %q, %v", tt.in, have, err)
		}
	}
}

func TestCleanList(t *testing.T) {
	have, err := CleanList("label", nil)
	if err != nil || have == nil || len(have) != 0 {
		t.Errorf("no labels: %v, %v", have, err)
	}
	_, err = CleanList("label", []string{"go", ""})
	wantError(t, err, ErrInvalid, "no label")
	_, err = CleanList("label", slices.Repeat([]string{"x"}, MaxList+1))
	wantError(t, err, ErrInvalid, "1001 labels")
}

func TestOneLine(t *testing.T) {
	if have := OneLine(" a\n\tb  c ", 10); have != "a b c" {
		t.Errorf("have %q", have)
	}
	if have := OneLine("ääääää", 4); have != "äää…" {
		t.Errorf("have %q", have)
	}
}
