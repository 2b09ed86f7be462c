package script

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	known := strings.Fields(stepKeys)
	for word, want := range map[string]string{
		"sya": "say", "SAY": "say", "calls": "call", "wehn": "when", "erro": "error", "timse": "times",
		"prompt": "", "": "", "x": "", "us": "", strings.Repeat("say", 1000): "",
	} {
		if got := nearest(word, known); got != want {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
}

// The distance between two words is a distance.
func TestDistance(t *testing.T) {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 0, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := word.Draw(t, "a"), word.Draw(t, "b"), word.Draw(t, "c")
		ab := distance(a, b)
		switch {
		case ab != distance(b, a):
			t.Fatalf("%q to %q is not as far as back", a, b)
		case (ab == 0) != (a == b):
			t.Fatalf("%q to %q is %d", a, b, ab)
		case ab > distance(a, c)+distance(c, b):
			t.Fatalf("%q to %q is shorter by way of %q", a, b, c)
		case ab > max(len(a), len(b)):
			t.Fatalf("%q to %q is %d", a, b, ab)
		}
	})
}

// A word that is one or two letters off is told what it should have been.
func TestTypingMistakesAreRecognised(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom(strings.Fields(errorTypes)).Draw(t, "word")
		i := rapid.IntRange(0, len(word)-1).Draw(t, "place")
		wrong := rapid.SampledFrom([]string{
			word[:i] + word[i+1:], word[:i] + "x" + word[i:], word[:i] + "x" + word[i+1:],
		}).Draw(t, "mistake")
		if slices.Contains(strings.Fields(errorTypes), wrong) {
			return
		}
		if got := nearest(wrong, strings.Fields(errorTypes)); got != word {
			t.Fatalf("%s is taken for %s", wrong, got)
		}
	})
}
