package orchestrator

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/crew"
)

// TestNewPart: the feature with a state of each member that CONTRIBUTING shows is one file and
// its line in team.go, and covey builds with both; see TestPartKeepsTheHouseRules, too.
func TestNewPart(t *testing.T) {
	text, err := os.ReadFile("../CONTRIBUTING.md")
	testkit.Must(t, err)
	_, after, _ := strings.Cut(string(text), "```go\n// Package streaks")
	code, after, found := strings.Cut(after, "```")
	_, after, _ = strings.Cut(after, "```go\n")
	line, _, ok := strings.Cut(after, "```")
	if !found || !ok || strings.Count(line, "\n") != 1 {
		t.Fatalf("CONTRIBUTING.md shows no part, or not its one line: %q", line)
	}
	root, err := os.ReadFile("team.go")
	testkit.Must(t, err)
	const list, imports = "d.Parts = []crew.Part{\n", "import (\n"
	changed := strings.Replace(string(root), list, list+line, 1)
	changed = strings.Replace(changed, imports, imports+"\t\"github.com/coveyteam/covey/orchestrator/streaks\"\n", 1)

	dir, files := t.TempDir(), map[string]string{}
	for name, text := range map[string]string{"streaks/streaks.go": "// Package streaks" + code, "team.go": changed} {
		path, err := filepath.Abs(name)
		testkit.Must(t, err)
		files[path] = filepath.Join(dir, filepath.Base(name))
		testkit.Must(t, os.WriteFile(files[path], []byte(text), 0o600))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": files})
	testkit.Must(t, err)
	testkit.Must(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), ".").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestPartsHaveNoOtherMethods: a method of a part that has the name of one of a moment is that method.
// Otherwise the crew would not call it, and nobody would notice.
func TestPartsHaveNoOtherMethods(t *testing.T) {
	for _, p := range newCrewRig(t, mcpFiles("")).team.Parts {
		part, told := reflect.TypeOf(p), false
		for _, moment := range []reflect.Type{
			reflect.TypeFor[crew.Starter](), reflect.TypeFor[crew.Timer](), reflect.TypeFor[crew.Describer](), reflect.TypeFor[crew.Assigner](),
			reflect.TypeFor[crew.Joiner](), reflect.TypeFor[crew.Preparer](), reflect.TypeFor[crew.Rejoiner](), reflect.TypeFor[crew.Completer](),
			reflect.TypeFor[crew.Watcher](), reflect.TypeFor[crew.Answerer](), reflect.TypeFor[crew.Follower](), reflect.TypeFor[crew.Stopper](),
			reflect.TypeFor[crew.Retirer](), reflect.TypeFor[crew.Leaver](), reflect.TypeFor[crew.Ender](),
		} {
			name := moment.Method(0).Name
			if _, has := part.MethodByName(name); has && !part.Implements(moment) {
				t.Errorf("%v has a method %s that is not the one of %v", part, name, moment)
			}
			told = told || part.Implements(moment)
		}
		if !told {
			t.Errorf("%v is told of nothing", part)
		}
	}
}
