package main_test

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
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

// TestDocumentedPresets holds the lists of presets that are written by hand against the
// presets: the spec's own tables and the schema are generated.
func TestDocumentedPresets(t *testing.T) {
	t.Parallel()
	for _, list := range []struct{ doc, passage string }{
		{"README.md", `A member is an agent program(.|\n)*?\n\n`},
		{"docs/spec.md", `A member that names (.|\n)*?\n\n`},
		{"cmd/covey/starter/team.yaml.tmpl", `an agent program that you have \([^)]*\)`},
		{"cmd/covey/starter/agents.yaml.tmpl", "(?m)^# claude, codex.*$"},
	} {
		text := regexp.MustCompile(list.passage).FindString(readDoc(t, list.doc))
		for _, p := range configs.Presets() {
			if !regexp.MustCompile(`\b` + p + `\b`).MatchString(text) {
				t.Errorf("%s does not list the preset %s in the passage %q", list.doc, p, text)
			}
		}
	}
}

// TestDocumentedLinks follows the links between documents and to their headings, and finds
// the files that docs/architecture.md names. docs/README.md has a link to each page.
func TestDocumentedLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]+))?\)`)
	code := regexp.MustCompile("(?s)\n```.*?\n```") // an index and a call look like a link
	for _, doc := range trackedFiles(t) {
		if !strings.HasSuffix(doc, ".md") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(readDoc(t, doc), ""), -1) {
			target := doc
			if m[1] != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(doc), filepath.FromSlash(m[1])))
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s, which is not there", doc, m[1])
			} else if m[2] != "" && !slices.Contains(headings(readDoc(t, target)), m[2]) {
				t.Errorf("%s links to %s#%s, which has no such heading", doc, m[1], m[2])
			}
		}
		page, isPage := strings.CutPrefix(doc, "docs/")
		if isPage && page != "README.md" && !strings.Contains(readDoc(t, "docs/README.md"), "("+page+")") {
			t.Errorf("docs/README.md has no link to %s", page)
		}
	}
	named := regexp.MustCompile("`((?:cmd/covey|orchestrator|teammate|tasks|hooks|bus|configs|examples)/[\\w./-]+\\.(?:go|md|yaml))`")
	found := named.FindAllStringSubmatch(readDoc(t, "docs/architecture.md"), -1)
	if len(found) < 15 {
		t.Errorf("docs/architecture.md names %d files", len(found))
	}
	for _, m := range found {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
			t.Errorf("docs/architecture.md names %s, which is not there", m[1])
		}
	}
}

// TestMessagesNameAddresses: what covey prints or writes names a page of docs/ by its address, since
// who has only the program has no docs/; and the page and its heading are there.
func TestMessagesNameAddresses(t *testing.T) {
	module, err := ownTree()
	if err != nil {
		t.Fatal(err)
	}
	bare := regexp.MustCompile(`(?:^|[^/\w])docs/[\w-]+\.(?:md|json)\b`)
	page := regexp.MustCompile(`\.Page "([^"#]*)#?([^"]*)"`)
	pages := 0
	check := func(place, text string) {
		if m := bare.FindString(text); m != "" {
			t.Errorf("%s: %q is no address; use cli.Page", place, m)
		}
		for _, m := range page.FindAllStringSubmatch(text, -1) {
			pages++
			if _, err := os.Stat(filepath.Join(root, "docs", m[1])); err != nil {
				t.Errorf("%s names the page %s, which is not there", place, m[1])
			} else if m[2] != "" && !slices.Contains(headings(readDoc(t, "docs/"+m[1])), m[2]) {
				t.Errorf("%s names %s#%s, which has no such heading", place, m[1], m[2])
			}
		}
	}
	for _, f := range module.code() {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				check(module.place(n), n.Value)
			case *ast.CallExpr:
				if fn, ok := n.Fun.(*ast.SelectorExpr); ok && fn.Sel.Name == "Page" && len(n.Args) > 0 {
					if name, ok := n.Args[len(n.Args)-1].(*ast.BasicLit); ok {
						check(module.place(n), ".Page "+name.Value)
					}
				}
			}
			return true
		})
	}
	for _, name := range trackedFiles(t) {
		if ext := filepath.Ext(name); ext == ".tmpl" || ext == ".html" || ext == ".js" ||
			name == "install.sh" {
			check(name, readDoc(t, name))
		}
	}
	if pages < 5 {
		t.Errorf("only %d pages are named, so this test looks in the wrong places", pages)
	}
}

// headings returns the names by which links find the headings of a document: lower case,
// without signs, with hyphens for spaces.
func headings(text string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\w -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

// TestWhereDoesItGo holds the table of CONTRIBUTING.md that says where a change goes against
// the code: the files of a row are those whose code names its example, and not too many.
func TestWhereDoesItGo(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(readDoc(t, "CONTRIBUTING.md"), "## Where does it go?\n")
	table, _, _ = strings.Cut(table, "\n## ")
	file := regexp.MustCompile("`([\\w./-]+/[a-z_]+\\.go)`")
	code := codeOfFiles(t)
	for _, row := range []struct {
		change, example string // example is a regular expression for the code of the row's example
		most            int
	}{
		{"a preset for an agent program", `[qQ]wen\b|qwen\(`, 5},
		{"a policy", `"report-sent"`, 2},
		{"a command that asks the team", `VerbInterrupt|func Interrupt\(|ask\.Interrupt\(`, 4},
		{"a hook event", `\bConfigChange(Input)?\b`, 4},
		{"a key of the spec", `MaxInProgress|maxInProgress|"max_in_progress"`, 3},
		{"a line of the journal", `\bTaskUnchanged\b|"task_unchanged"`, 5},
		{"a column of `covey ps`", `\bTasksDone\b|Done\.Complete\(`, 3},
		{"a fact about a member on all screens", `\bm\.Box([^.\w]|\.Word)|\bBox\*Box\b|\bBoxLost\b|\bSandboxed\b|view\.IsBoxed`, 13},
		{"a fact about a worktree in `covey ps`", `Ahead int|(st|w)\.Ahead\b`, 2},
	} {
		line := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(row.change) + ` \|.*$`).FindString(table)
		var says []string
		for _, m := range file.FindAllStringSubmatch(line, -1) {
			says = append(says, m[1])
		}
		var is []string
		example := regexp.MustCompile(row.example)
		for name, text := range code {
			if example.MatchString(text) {
				is = append(is, name)
			}
		}
		slices.Sort(says)
		slices.Sort(is)
		if len(is) == 0 || !slices.Equal(says, is) || len(is) > row.most {
			t.Errorf("%s: CONTRIBUTING.md names %q, the example is in %q; want the same files, and at most %d",
				row.change, says, is, row.most)
		}
	}
}

// codeOfFiles returns the tokens of all Go files but tests and generated ones, without
// comments, separated by spaces where letters would meet.
func codeOfFiles(t *testing.T) map[string]string {
	t.Helper()
	code := map[string]string{}
	for _, name := range trackedFiles(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text := []byte(readDoc(t, name))
		var s scanner.Scanner
		fset := token.NewFileSet()
		s.Init(fset.AddFile(name, -1, len(text)), text, nil, 0)
		var b strings.Builder
		for word := false; ; {
			_, tok, lit := s.Scan()
			if tok == token.EOF {
				break
			}
			if lit == "" || lit == "\n" {
				lit = tok.String()
			}
			next := tok.IsLiteral() || tok.IsKeyword()
			if word && next {
				b.WriteByte(' ')
			}
			b.WriteString(lit)
			word = next
		}
		code[name] = b.String()
	}
	return code
}

// TestDocumentedModels finds that docs/models.md shows each kind of provider in a whole spec of five
// lines, and that all its specs are right.
func TestDocumentedModels(t *testing.T) {
	t.Parallel()
	doc := readDoc(t, "docs/models.md")
	short, _, _ := strings.Cut(doc, "\n## Keys\n")
	fences := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	hosts := map[string]bool{}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secrets", "key"), []byte("sk-x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, m := range fences.FindAllStringSubmatch(doc, -1) {
		team, err := configs.Parse(filepath.Join(dir, "team.yaml"), []byte(m[1]))
		if err != nil {
			t.Errorf("spec %d of docs/models.md: %v", i+1, err)
			continue
		}
		if lines := strings.Count(m[1], "\n"); strings.Contains(short, m[0]) && lines > 5 {
			t.Errorf("spec %d of docs/models.md has %d lines", i+1, lines)
		}
		model := team.Lead.Agent.Model
		hosts[fmt.Sprint(model.Provider, " ", model.API)] = true
	}
	if len(hosts) < 4 {
		t.Errorf("docs/models.md shows %v", hosts)
	}
}

// TestDocumentedCommands finds that the commands which the documents name are
// there.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile("(?:`|\\$ |    )covey ([a-z-]+)")
	known := map[string]bool{}
	for _, doc := range []string{
		"README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/hooks.md", "docs/operating.md", "docs/spec.md",
		"docs/script-model.md",
		"examples/quickstart/README.md", "examples/idle-policy/README.md", "examples/mixed-team/README.md",
		"examples/plugins/README.md", "examples/worktrees/README.md", "examples/models-anthropic/README.md",
		"examples/models-local/README.md", "examples/models-mixed/README.md",
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
