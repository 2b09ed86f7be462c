package writes

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/shell"
)

// UndoText returns how to restore files to the state of a branch.
func UndoText(branch string, files []string) string {
	return fmt.Sprintf("Undo that with `git checkout $(git merge-base HEAD %s) -- %s` (`git rm` for files that are new) "+
		"and commit, or ask your lead to let a member who may write there do it.", branch, quoted(files))
}

// quoted returns file names in one line, quoted for a shell.
func quoted(files []string) string {
	words := make([]string, len(files))
	for i, f := range files {
		words[i] = shell.Quote(f)
	}
	return strings.Join(words, " ")
}

// List lists the first few file names, one a line.
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
