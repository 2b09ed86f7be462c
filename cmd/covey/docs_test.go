package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

func readDoc(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocumentedEvents holds the tables of docs/hooks.md against what the
// package knows of events.
func TestDocumentedEvents(t *testing.T) {
	doc := readDoc(t, "docs/hooks.md")
	yes := map[bool]string{true: "yes", false: "no"}
	for _, e := range hooks.Events() {
		row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| `%s` \\|[^|]*\\|([^|]*)\\| (yes|no) \\| (yes|no) \\|$", e.Event)).
			FindStringSubmatch(doc)
		switch {
		case !e.Fires && row != nil:
			t.Errorf("docs/hooks.md says that %s fires, and it does not", e.Event)
		case !e.Fires && !strings.Contains(doc, "`"+string(e.Event)+"`"):
			t.Errorf("docs/hooks.md does not name %s among the events that do not fire yet", e.Event)
		case e.Fires && row == nil:
			t.Errorf("docs/hooks.md has no row for %s", e.Event)
		case e.Fires && (row[2] != yes[e.Blocks] || row[3] != yes[e.Halts]):
			t.Errorf("docs/hooks.md: %s refuses: %s, halts: %s; want %s and %s", e.Event, row[2], row[3],
				yes[e.Blocks], yes[e.Halts])
		case e.Fires && !strings.HasPrefix(strings.TrimSpace(row[1]), matcherCell(e)):
			t.Errorf("docs/hooks.md: the matcher of %s is %s; want %s", e.Event, row[1], matcherCell(e))
		}
	}
}

// matcherCell is how the table begins to say what an event's matcher is about.
func matcherCell(e hooks.EventInfo) string {
	if e.Matcher == "" {
		return "—"
	}
	return "`" + e.Matcher + "`"
}

// TestDocumentedLinks follows the links between documents, and finds the files
// that docs/architecture.md names.
func TestDocumentedLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	code := regexp.MustCompile("(?s)\n```.*?\n```") // an index and a call look like a link
	for _, doc := range trackedFiles(t) {
		if !strings.HasSuffix(doc, ".md") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(readDoc(t, doc), ""), -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(doc), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s, which is not there", doc, m[1])
			}
		}
	}
	named := regexp.MustCompile("`((?:cmd/covey|orchestrator|teammate|tasks|hooks|bus|configs|examples)/[\\w./-]+\\.(?:go|md|yaml))`")
	found := named.FindAllStringSubmatch(readDoc(t, "docs/architecture.md"), -1)
	if len(found) < 20 {
		t.Errorf("docs/architecture.md names %d files", len(found))
	}
	for _, m := range found {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
			t.Errorf("docs/architecture.md names %s, which is not there", m[1])
		}
	}
}

// TestWhereDoesItGo: the files that CONTRIBUTING.md sends a contributor to are there, and a
// change touches at most four of them.
func TestWhereDoesItGo(t *testing.T) {
	_, table, found := strings.Cut(readDoc(t, "CONTRIBUTING.md"), "## Where does it go?\n")
	if !found {
		t.Fatal("CONTRIBUTING.md has no section that says where a change goes")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	file := regexp.MustCompile("`([\\w./-]+/[a-z_]+\\.go)`")
	rows := 0
	for _, row := range strings.Split(table, "\n") {
		files := file.FindAllStringSubmatch(row, -1)
		if len(files) == 0 {
			continue
		}
		rows++
		if len(files) > 4 {
			t.Errorf("CONTRIBUTING.md: this takes %d files, want at most 4: %s", len(files), row)
		}
		for _, m := range files {
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("CONTRIBUTING.md names %s, which is not there", m[1])
			}
		}
	}
	if rows < 7 {
		t.Errorf("CONTRIBUTING.md has %d rows that say where a change goes, want 7", rows)
	}
}

// TestDocumentedCommands finds that the commands which the documents name are
// there.
func TestDocumentedCommands(t *testing.T) {
	command := regexp.MustCompile("(?:`|\\$ |    )covey ([a-z]+)")
	known := map[string]bool{}
	for _, doc := range []string{
		"README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/hooks.md", "docs/operating.md", "docs/spec.md",
		"docs/script-model.md",
		"examples/quickstart/README.md", "examples/idle-policy/README.md", "examples/mixed-team/README.md",
		"examples/plugins/README.md", "examples/worktrees/README.md",
	} {
		for _, m := range command.FindAllStringSubmatch(readDoc(t, doc), -1) {
			if known[m[1]] {
				continue
			}
			known[m[1]] = true
			if out := runHelp(t, m[1]); !strings.Contains(out, "Usage:\n  covey "+m[1]) {
				t.Errorf("%s speaks of covey %s, which does not know how it is used:\n%s", doc, m[1], out)
			}
		}
	}
	if len(known) < 8 {
		t.Errorf("the documents name the commands %v only", known)
	}
}

// runHelp asks a command for its help.
func runHelp(t *testing.T, command string) string {
	t.Helper()
	return example{env: os.Environ()}.covey(t, t.TempDir(), command, "--help")
}
