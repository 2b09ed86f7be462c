package merging

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
)

func TestJudgesOf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testkit.Put(t, dir, ".claude/settings.json", `{"hooks": {"TaskCompleted": [{"hooks": [{"type": "command", "command": "python3 tools/q.py"}]}]}}`)
	team := &configs.Team{
		File: filepath.Join(dir, "team.yaml"), Workspace: dir, Settings: []string{filepath.Join(dir, ".claude/settings.json"), "/etc/x.json"},
		Plugins: []string{filepath.Join(dir, "plug")},
		Gates:   hooks.Settings{hooks.TaskCompleted: {{Hooks: []hooks.Handler{{Command: "make check && ./ci/gate.sh --all"}}}}},
		Hooks:   hooks.Settings{hooks.Stop: {{Hooks: []hooks.Handler{{Command: "sh", Args: []string{"stop.sh"}, Cwd: "bin"}}}}},
		Merge:   configs.Merge{Gates: []hooks.Handler{{Command: "cargo test"}, {Command: "/usr/bin/check ../out.sh"}}},
	}
	j := JudgesOf(team)
	want := "team.yaml .claude/settings.json plug bin/stop.sh ci/gate.sh tools/q.py"
	if got := strings.Join(j.Files, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, program := range []string{"make", "cargo", "sh", "check", "python3"} {
		if !slices.Contains(j.Programs, program) {
			t.Errorf("%s is not in %q", program, j.Programs)
		}
	}
	for file, is := range map[string]bool{"plug/hooks/x": true, "plugin": false, "team.yaml": true, "x/team.yaml": false} {
		if j.Include(file) != is {
			t.Errorf("%s: %t", file, !is)
		}
	}
}
