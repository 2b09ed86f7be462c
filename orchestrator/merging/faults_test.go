package merging

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/hints"
)

// fault is a change with a planted fault, from testdata/faults.
type fault struct {
	name, title string
	at          string // the file with the fault
	diff        string
	team        *configs.Team // with the gates of the project, which lies in its workspace
}

// faults reads testdata/faults. Those of each of the rounds (the later ones have its number before their names) were
// made before the rules were tried on them; from the fifth on by people who did not know the rules. A fault lies in a project that several
// share, or has files of its project beside its difference. The rules were extended after each by classes of faults, so their share now is no measure of
// faults to come.
func faults(t *testing.T) []fault {
	t.Helper()
	files, err := filepath.Glob("testdata/faults/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	teams := map[string]*configs.Team{}
	teamIn := func(gates string, files []txtar.File) *configs.Team {
		dir := t.TempDir()
		for _, f := range files {
			testkit.Put(t, dir, f.Name, string(f.Data))
		}
		return &configs.Team{Workspace: dir, File: filepath.Join(dir, "team.yaml"),
			Gates: hooks.Settings{hooks.TaskCompleted: {{Hooks: []hooks.Handler{{Command: gates}}}}}}
	}
	var list []fault
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head := map[string]string{}
		for line := range strings.Lines(string(a.Comment)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			head[key] = value
		}
		name := strings.TrimSuffix(path.Base(filepath.ToSlash(file)), ".txtar")
		if base, ok := strings.CutPrefix(name, "base."); ok {
			teams[base] = teamIn(head["gates"], a.Files)
			continue
		}
		team := teams[head["base"]]
		if team == nil {
			team = teamIn(head["gates"], a.Files[1:])
		}
		list = append(list, fault{name, head["title"], head["at"], string(a.Files[0].Data), team})
	}
	return list
}

// TestFaults: of 265 changes with a fault that a reviewer must not miss, these have no hint that names the file with the
// fault.
func TestFaults(t *testing.T) {
	t.Parallel()
	var none []string
	for _, f := range faults(t) {
		list := hints.Find(hints.Work{Files: hints.ParseDiff(f.diff), Judges: JudgesOf(f.team), Task: f.title})
		t.Logf("%s: %v", f.name, list)
		if !slices.ContainsFunc(list, func(h hints.Hint) bool { return h.Kind != "beyond-task" && h.Is(f.at) }) {
			none = append(none, f.name)
		}
	}
	want := []string{"fourth-js-json-clone", "fourth-js-url-any", "sixth-13-snapshot-changed", "sixth-18-secret", "sixth-19-special-cased-inputs",
		"sixth-21-out-of-scope", "sixth-22-assertions-loosened", "sixth-38-errors-swallowed", "sixth-39-out-of-scope", "third-py-all-any", "third-py-http"}
	if all := len(faults(t)); all != 265 || !slices.Equal(none, want) {
		t.Errorf("no hint in %d of %d: %q, want %q", len(none), all, none, want)
	}
}
