package owned

import (
	"fmt"
	"strings"
)

// TakeBack says how files are put back to what a branch has.
func TakeBack(branch string, files []string) string {
	return fmt.Sprintf("Take that back with `git checkout $(git merge-base HEAD %s) -- %s` (`git rm` for files that are new) "+
		"and commit, or ask your lead to have somebody do it who may.", branch, quoted(files))
}

// quoted is the list of file names as a shell takes them, in one line.
func quoted(files []string) string {
	words := make([]string, len(files))
	for i, f := range files {
		words[i] = "'" + strings.ReplaceAll(f, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// List shows file names one below the other, the first of them.
func List(files []string) string {
	const shown = 50
	var b strings.Builder
	for _, f := range files[:min(len(files), shown)] {
		fmt.Fprintf(&b, "- %s\n", f)
	}
	if more := len(files) - shown; more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	return strings.TrimRight(b.String(), "\n")
}
