package main_test

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// mayImport is the whole import order (docs/architecture.md): each package with
// those of ours that it may import. "teammate/*" stands for every agent kind.
var mayImport = map[string][]string{
	// Permission rules, shell lines and matchers, without anything that acts on them.
	"hooks/rules": {},
	"hooks":       {"hooks/rules"},
	"tasks":       {},
	"bus":         {},
	"configs":     {"hooks", "hooks/rules"},
	"teammate":    {"hooks", "hooks/rules", "tasks"},
	"teammate/*":  {"teammate"},
	// git, which is nobody's business but its own: a leaf, so that it can be read and tested alone.
	"orchestrator/worktree": {},
	// What becomes of finished work: it knows the store and git, and neither crew nor spec.
	"orchestrator/merging": {"hooks", "tasks", "orchestrator/worktree"},
	// What was really written in a folder, and by whom: it knows files and git, and neither members nor spec.
	"orchestrator/written":  {"orchestrator/worktree"},
	"orchestrator/taskpage": {"tasks"},
	// The operator's settings that gates go by: a leaf.
	"orchestrator/gatesettings": {},
	"orchestrator": {"hooks", "hooks/rules", "tasks", "bus", "configs", "teammate", "teammate/*",
		"orchestrator/worktree", "orchestrator/merging", "orchestrator/written", "orchestrator/taskpage", "orchestrator/gatesettings"},
	"cmd/covey": {"orchestrator", "configs", "tasks", "hooks", "hooks/rules"},
}

// leaves are packages that know nothing of ours but each other. All may import
// them, save for tasks and bus, which import nothing.
var leaves = []string{
	"hooks/wording", // texts for messages
	"hooks/rawjson", // JSON objects, field by field
	"hooks/proc",    // programs and their process trees
}

// testsMayImport is what a package's tests may import besides: a member is
// best tested with an agent that follows a script, an agent kind under a real
// member with real gates.
var testsMayImport = map[string][]string{
	"teammate":   {"teammate/*"},
	"teammate/*": {"hooks", "hooks/rules", "tasks"},
}

// uphillImports also holds tests to the order, or a leaf could no longer be
// tested without what is built on it.
func uphillImports(t *tree) []string {
	var out []string
	for _, f := range t.files {
		from := row(f.folder())
		may, known := mayImport[from]
		known = known || slices.Contains(leaves, from)
		if !known {
			out = append(out, breach(f.path, "package %s has no place in the import order; put the code into one of "+
				"the packages there, or give it a row in mayImport and say why in docs/architecture.md", f.folder()))
			continue
		}
		if f.test {
			may = slices.Concat(may, testsMayImport[from], []string{from})
		}
		if from != "tasks" && from != "bus" {
			may = slices.Concat(may, leaves)
		}
		out = append(out, forbidden(t, f, may)...)
	}
	return out
}

func forbidden(t *tree, f *goFile, may []string) []string {
	var out []string
	for _, spec := range f.syntax.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser lets no such path through
		}
		to, ours := strings.CutPrefix(name, modulePath+"/")
		if !ours || slices.Contains(may, row(to)) {
			continue
		}
		out = append(out, breach(t.place(spec), "%s imports %s, which is uphill (it may import: %s); declare a small "+
			"interface in %s for what it needs, and let the orchestrator fill it",
			f.folder(), to, orNone(may), f.folder()))
	}
	return out
}

// row is the name under which a package stands in the tables.
func row(folder string) string {
	if path.Dir(folder) == "teammate" {
		return "teammate/*"
	}
	return folder
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none of ours"
	}
	return strings.Join(names, ", ")
}
