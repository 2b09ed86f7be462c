package pages

import (
	"path"
	"slices"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks"
)

// Alarm is a fact about the work on a task that a person should see first. It says what was
// found, never what was meant by it.
type Alarm struct {
	Word  string   // two or three words, for the main page
	Text  string   // a sentence
	Files []string // the files that it is about
	Weak  bool     // it alone is no reason to look: the main page does not show it
}

// Work is what alarms about a task's changes are found in.
type Work struct {
	Task   tasks.Task
	Diff   merging.Diff
	Files  []FileDiff
	Judges merging.Judges
	Review api.Review
	None   string // why there are no changes
	Fault  string // why they cannot be read
}

// Name returns the path of a file below the workspace.
func (w Work) Name(f FileDiff) string { return merging.Below(w.Diff.Prefix, f.Name) }

// Old is Name for the earlier path of a renamed file.
func (w Work) Old(f FileDiff) string { return merging.Below(w.Diff.Prefix, f.Old) }

// Alarms returns the facts about the changes, the gravest first.
func (w Work) Alarms() []Alarm {
	var list []Alarm
	add := func(files []string, word, text string) {
		if len(files) > 0 {
			list = append(list, Alarm{Word: word, Text: text, Files: files})
		}
	}
	add(w.filesThat(w.judges), "gate changed",
		"Weakened gate? The work changes what judges it: a script, the configuration or the spec of its gates.")
	add(w.filesThat(w.losesTests), "test deleted", "Test files are deleted, or are no tests by their names any more.")
	add(w.lostTests(), "tests removed", "Tests are removed from files that stay.")
	add(w.skippedTests(), "test skipped", "Tests are marked to be skipped, or the only ones to run.")
	add(w.Review.Outside, "not its files", "The author may not write these files (owns).")
	add(w.Review.Protected, "protected", "These files are protected.")
	add(w.filesThat(func(f FileDiff) bool { return f.What == Deleted && !w.losesTests(f) }),
		"file deleted", "Files are deleted.")
	add(slices.DeleteFunc(w.unnamed(), func(name string) bool { return isAbout(list, name) }),
		"also changes", "The task names other files of this work, but not these: it also changes them.")
	if w.judgedOthers() {
		list = append(list, Alarm{Word: "other files judged",
			Text: "The last gates agreed to other files than those that would be merged."})
	}
	if w.Fault != "" {
		list = append(list, Alarm{Word: "not read", Text: "Its changes cannot be read: " + w.Fault})
	}
	strong := len(list)
	for _, b := range w.Review.Brings { // what is wrong with that work has its own alarms above
		add(b.Changes, "brings other work", "The merge brings "+b.Authored()+", too, which is "+string(b.State)+".")
	}
	add(w.filesThat(func(f FileDiff) bool {
		return IsTest(w.Name(f)) && f.What != Deleted && f.Removed > f.Added
	}), "tests shrink", "Test files lose more lines than they get.")
	if w.Diff.Withheld != "" {
		list = append(list, Alarm{Word: "not shown", Text: "Some changes are not shown below: " + w.Diff.Withheld})
	}
	add(w.filesThat(func(f FileDiff) bool { return f.Binary }), "binary", "Binary files cannot be read here.")
	for i := strong; i < len(list); i++ {
		list[i].Weak = true
	}
	return list
}

// AlarmWords returns the words of the alarms that are a reason to look, each once.
func AlarmWords(alarms []Alarm) []string {
	var list []string
	for _, a := range alarms {
		if !a.Weak && !slices.Contains(list, a.Word) {
			list = append(list, a.Word)
		}
	}
	return list
}

// isAbout reports whether one of the alarms is about a file.
func isAbout(list []Alarm, name string) bool {
	return slices.ContainsFunc(list, func(a Alarm) bool { return slices.Contains(a.Files, name) })
}

// filesThat lists the files for which a fact holds.
func (w Work) filesThat(holds func(FileDiff) bool) []string {
	var list []string
	for _, f := range w.Files {
		if holds(f) {
			list = append(list, w.Name(f))
		}
	}
	return list
}

// judges reports whether a file is part of a gate.
func (w Work) judges(f FileDiff) bool {
	if w.Judges.Include(w.Name(f)) || f.What == Renamed && w.Judges.Include(w.Old(f)) {
		return true
	}
	return slices.ContainsFunc(w.Judges.Programs, func(program string) bool {
		return slices.ContainsFunc(configured[program], func(pattern string) bool {
			fits, _ := path.Match(pattern, path.Base(f.Name)) // the patterns are ours
			return fits
		})
	})
}

// configured are the files that tell a program of a gate what to check.
var configured = func() map[string][]string {
	node := []string{
		"package.json", "jest.config.*", "vitest.config.*", ".eslintrc*", "eslint.config.*", ".mocharc*", "tsconfig*.json",
	}
	python := []string{
		"pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "conftest.py", "noxfile.py", "ruff.toml", "mypy.ini",
	}
	build := []string{"Makefile", "makefile", "GNUmakefile", "*.mk"}
	rust := []string{"Cargo.toml", "clippy.toml", "rustfmt.toml"}
	files := map[string][]string{
		"make": build, "gmake": build, "just": {"justfile", "Justfile", ".justfile"}, "cargo": rust,
		"golangci-lint": {".golangci.*"}, "lefthook": {"lefthook.y*ml"}, "pre-commit": {".pre-commit-config.yaml"},
		"gradle": {"build.gradle*"}, "gradlew": {"build.gradle*"}, "mvn": {"pom.xml"}, "rake": {"Rakefile"},
		"rspec": {".rspec"}, "task": {"Taskfile.y*ml"},
	}
	for _, program := range []string{"npm", "npx", "pnpm", "yarn", "bun", "node", "jest", "vitest", "eslint", "tsc"} {
		files[program] = node
	}
	for _, program := range []string{"pytest", "tox", "nox", "ruff", "mypy", "python", "python3", "uv"} {
		files[program] = python
	}
	return files
}()

// losesTests reports whether a file of tests is gone.
func (w Work) losesTests(f FileDiff) bool {
	switch f.What {
	case Deleted:
		return IsTest(w.Name(f))
	case Renamed:
		return IsTest(w.Old(f)) && !IsTest(w.Name(f))
	}
	return false
}

// judgedOthers reports whether the gates of the task have agreed, but not to its commit's files.
func (w Work) judgedOthers() bool {
	agreed := false
	for _, v := range w.Review.Verdicts {
		if !v.Pass || v.Moment != "task" {
			continue
		}
		if v.Tree == w.Review.Tree {
			return false
		}
		agreed = true
	}
	return agreed && w.Review.Tree != ""
}

// unnamed lists the changed files that neither the task nor the title of other work that the merge
// brings names, if they name others: by a path, a
// folder, or a name without its ending. The test of a named file is named with it.
func (w Work) unnamed() []string {
	words := map[string]bool{}
	text := strings.ToLower(w.Task.Subject + " " + w.Task.Description)
	for _, b := range w.Review.Brings {
		text += " " + strings.ToLower(b.Title)
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_-./", r) && r < 0x80
	}) {
		word = strings.Trim(word, "./-")
		words[word], words[stem(path.Base(word))] = true, true
	}
	var others []string
	for _, f := range w.Files {
		if name := w.Name(f); !isNamed(words, strings.ToLower(name)) {
			others = append(others, name)
		}
	}
	if len(others) == len(w.Files) {
		return nil // it names no file, so nothing can be compared
	}
	return others
}

// isNamed reports whether the words of a task name a file.
func isNamed(words map[string]bool, name string) bool {
	base := path.Base(name)
	if words[name] || words[base] || words[stem(base)] {
		return true
	}
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if words[dir] || len(path.Base(dir)) > 2 && words[path.Base(dir)] {
			return true
		}
	}
	return false
}

// StateAlarms are the facts that the journal knows of a task. w is the Works of s.
func StateAlarms(s *view.State, w view.Works, t *view.Task, gated bool) []Alarm {
	var list []Alarm
	if t.Status == tasks.Completed && t.Unchanged {
		list = append(list, Alarm{Weak: true, Word: "nothing changed", Text: "It was completed without a change to a file."})
	}
	agreed, open := false, map[string]bool{}
	for _, g := range w.Gates[t.ID] {
		if g.Task != t.ID || g.Event != "TaskCompleted" {
			continue
		}
		agreed = agreed || g.Verdict == view.Agreed
		for _, h := range g.Hooks {
			open[h.Command] = h.FailedOpen
		}
	}
	if gated && t.Status == tasks.Completed && !agreed && s.Dropped.Gates == 0 {
		list = append(list, Alarm{Word: "no gate agreed", Text: "No gate has agreed to its completion."})
	}
	for command, failed := range open {
		if failed {
			list = append(list, Alarm{Word: "hook failed",
				Text: "A hook could not judge it and was passed over: " + term.Short(command)})
		}
	}
	slices.SortStableFunc(list, func(a, b Alarm) int { return strings.Compare(a.Text, b.Text) })
	if upon := uponReturned(s, w.Merges[t.ID], t.ID); upon != "" {
		list = append(list, Alarm{Word: "builds on returned work",
			Text: "It builds on work that is back with its author; merging it merges that, too: " + upon})
	}
	return list
}

// uponReturned names the returned work, if any, that the commits of a task's own work contain.
func uponReturned(s *view.State, own *view.Merge, id string) string {
	if own == nil || own.State.Over() {
		return ""
	}
	from := own.From
	for _, m := range slices.Backward(s.Merges) {
		if m.Commit != from || m == own || m.State == tasks.MergeDone {
			continue
		}
		if m.State == tasks.MergeReturned && m.Fix != id {
			return m.Name()
		}
		from = m.From
	}
	return ""
}
