package rules

import (
	"strings"

	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
)

// intersectLimit bounds the work of comparisons with unknown text; beyond it the texts may
// match.
const intersectLimit = 1 << 22

// mayFit reports whether text matches pattern for some value of its unknown parts.
func mayFit(pattern, text string) bool {
	if !strings.ContainsRune(text, shell.Unknown) {
		return texts.Wild(pattern, text)
	}
	if len(pattern)*len(text) > intersectLimit {
		return true
	}
	// fits[j] says whether the part of pattern read so far can match text[:j].
	fits := make([]bool, len(text)+1)
	fits[0] = true
	for j := range len(text) {
		fits[j+1] = fits[j] && text[j] == shell.Unknown
	}
	for i := range len(pattern) {
		diagonal := fits[0]
		fits[0] = fits[0] && pattern[i] == '*'
		for j := range len(text) {
			above := fits[j+1]
			if pattern[i] == '*' || text[j] == shell.Unknown {
				fits[j+1] = above || fits[j] // the wildcard matches nothing, or one more character
			} else {
				fits[j+1] = diagonal && pattern[i] == text[j]
			}
			diagonal = above
		}
	}
	return fits[len(text)]
}
