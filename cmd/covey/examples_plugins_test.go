package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkPlugins finds that each of the three plugins had its say, and that the
// lead did what they wanted.
func checkPlugins(t *testing.T, e example) {
	t.Helper()
	e.checkAllDone(t, 0)
	for what, fits := range map[string]func(journalLine) bool{
		"keep-going refuses a stop": func(l journalLine) bool {
			return l.Type == "hook_feedback" && strings.Contains(l.Data.Text, "Look at the poem once more")
		},
		"rule-book refuses a stop": func(l journalLine) bool {
			return l.Type == "hook_feedback" && strings.Contains(l.Data.Text, "Nobody has looked at the poem")
		},
		"rule-book denies a call": func(l journalLine) bool {
			return l.Data.IsError && strings.Contains(l.Data.Content, "Nothing is removed with -r or -f")
		},
		"reviewer tells of the gap": func(l journalLine) bool {
			return strings.Contains(l.Data.Text, "review of poem.txt: there is an open place (???) in it")
		},
		"the lead fills the gap": func(l journalLine) bool {
			return strings.Contains(l.Data.Text, "there is a gap. I fill it.")
		},
	} {
		if e.find(0, fits) < 0 {
			t.Errorf("not in the journal: %s", what)
		}
	}
	poem, err := os.ReadFile(filepath.Join(e.dir, "workspace", "out", "poem.txt"))
	if err != nil || !bytes.Contains(poem, []byte("tide")) {
		t.Errorf("the poem is %q, %v", poem, err)
	}
	if _, err := os.Stat(filepath.Join(e.dir, "workspace", "out", "keep-going.md")); !os.IsNotExist(err) {
		t.Errorf("keep-going still goes on: %v", err)
	}
}
