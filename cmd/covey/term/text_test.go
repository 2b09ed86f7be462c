package term

import (
	"strings"
	"testing"
	"time"
)

func TestElapsed(t *testing.T) {
	for _, tc := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Second, "0s"}, {0, "0s"}, {59900 * time.Millisecond, "59s"}, {61 * time.Second, "1m01s"},
		{59*time.Minute + 59*time.Second, "59m59s"}, {26*time.Hour + 5*time.Minute, "26h05m"},
	} {
		if got := Elapsed(tc.d); got != tc.want {
			t.Errorf("elapsed(%v) = %q, want %q", tc.d, got, tc.want)
		}
	}
}

func TestShortOfMuch(t *testing.T) {
	got := Short(strings.Repeat("世", 5<<20))
	if len([]rune(got)) > maxBrief || !strings.HasSuffix(got, "…") {
		t.Errorf("%d characters of 5 million, ending in %q", len([]rune(got)), got[len(got)-3:])
	}
}

func TestFill(t *testing.T) {
	const text = "one two three four\nfive\n\n  a list   of words that is long\nsix --and-seven eight"
	want := "one two three\nfour five\n\n  a list   of words that is long\nsix\n--and-seven\neight"
	if got := Fill(text, 14); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestFitMiddleShowsWholeWords: the end of a secret is not shown without its beginning.
func TestFitMiddleShowsWholeWords(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"refused because of reasons", 30, "refused because of reasons"},
		{"refused ghp_0123456789abcdef; mend it", 29, "refused ghp_01… mend it"},
		{"refused ghp_0123456789abcdefghijkl", 21, "refused gh…"},
		{strings.Repeat("é", 10) + " ü", 9, "éééé… ü"},
	} {
		if got := FitMiddle(test.text, test.width); got != test.want {
			t.Errorf("%q in %d: %q, want %q", test.text, test.width, got, test.want)
		}
	}
}
