package merging

import (
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
)

func TestJudgesOf(t *testing.T) {
	t.Parallel()
	team := &configs.Team{
		File: "/w/team.yaml", Workspace: "/w", Settings: []string{"/w/.claude/settings.json", "/etc/x.json"}, Plugins: []string{"/w/plug"},
		Gates: hooks.Settings{hooks.TaskCompleted: {{Hooks: []hooks.Handler{{Command: "make check && ./ci/gate.sh --all"}}}}},
		Hooks: hooks.Settings{hooks.Stop: {{Hooks: []hooks.Handler{{Command: "sh", Args: []string{"stop.sh"}, Cwd: "bin"}}}}},
		Merge: configs.Merge{Gates: []hooks.Handler{{Command: "cargo test"}, {Command: "/usr/bin/check ../out.sh"}}},
	}
	j := JudgesOf(team, []string{"python3 tools/q.py"})
	want := "team.yaml .claude/settings.json plug ci/gate.sh bin/stop.sh tools/q.py"
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
