package script

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/configs/yaml"
)

// A word that is one or two letters off gets a suggestion.
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
		if got := yaml.Nearest(wrong, strings.Fields(errorTypes)); got != word {
			t.Fatalf("%s is taken for %s", wrong, got)
		}
	})
}
