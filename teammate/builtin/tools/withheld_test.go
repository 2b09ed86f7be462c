//go:build unix

package tools

import (
	"testing"

	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/workspace"
)

// TestSearchLeavesOut: Grep and Glob omit the files that a deny rule for Read hides from the
// member, and report their number.
func TestSearchLeavesOut(t *testing.T) {
	var deny permission.Policy
	for _, text := range []string{"Read(secret/**)", "Read(*.pem)", "Grep(notes.txt)", "Bash(x)", "Read"} {
		rule, err := rules.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		deny.Deny = append(deny.Deny, rule)
	}
	b := newBench(t, func(e *Env) {
		e.Withheld = func(tool string, dir *workspace.Workdir, file string) bool {
			return deny.Withhold(rules.Call{Tool: tool, Cwd: dir.Dir(), Root: dir.Root()}, file)
		}
	})
	b.write("a.txt", "word\n")
	b.write("notes.txt", "word\n")
	b.write("secret/deep/key.txt", "word\n")
	b.write("secret/b.txt", "nothing\n")
	b.write("sub/key.pem", "word\n")
	b.shows("Grep", fields{"pattern": "word"},
		"a.txt\n(4 files were left out: a permission rule denies reading them)")
	b.shows("Grep", fields{"pattern": "word", "glob": "*.pem"},
		"No matches found\n(1 file was left out: a permission rule denies reading it)")
	b.shows("Grep", fields{"pattern": "word", "path": "sub/key.pem", "output_mode": "content"},
		"No matches found\n(1 file was left out: a permission rule denies reading it)")
	b.shows("Glob", fields{"pattern": "s*/**"},
		"No files found\n(3 files were left out: a permission rule denies reading them)")
	b.shows("Glob", fields{"pattern": "no*"}, "notes.txt")
	b.shows("Glob", fields{"pattern": "b.txt", "path": "secret"},
		"No files found\n(1 file was left out: a permission rule denies reading it)")
}
