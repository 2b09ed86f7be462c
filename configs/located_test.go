package configs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// TestLocated: a hook's script is the workspace's, what it works on the member's.
func TestLocated(t *testing.T) {
	ws := filepath.Join(t.TempDir(), "it's here") // a name that a shell would take apart
	for name, mode := range map[string]os.FileMode{
		"gate.sh": 0o755, "policy/a b.sh": 0o755, "check.py": 0o644, "data.txt": 0o644, "test": 0o755, "tool": 0o755,
	} {
		path := filepath.Join(ws, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("echo\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	team := &Team{Workspace: ws, File: filepath.Join(ws, "team.yaml")}
	q := "'" + strings.ReplaceAll(ws, "'", `'\''`) + "/"
	for line, want := range map[string]string{
		"./gate.sh":                              q + `gate.sh'`,
		"./gate.sh ./gate.sh --x":                q + `gate.sh' ./gate.sh --x`,
		"'./policy/a b.sh' 1":                    q + `policy/a b.sh' 1`,
		`"policy/a b.sh"`:                        q + `policy/a b.sh'`,
		"python3 check.py --all":                 "python3 " + q + `check.py' --all`,
		"python3 -u check.py":                    "python3 -u " + q + `check.py'`,
		"X=1 timeout -k 5 30s ./gate.sh | tee x": "X=1 timeout -k 5 30s " + q + `gate.sh' | tee x`,
		"env A=b ./tool && ! ./gate.sh":          "env A=b " + q + `tool' && ! ` + q + `gate.sh'`,
		"if ./gate.sh; then ./tool; fi":          "if " + q + `gate.sh'; then ` + q + `tool'; fi`,
		"x=$(./gate.sh)":                         "x=$(" + q + `gate.sh')`,
		"shellcheck ./gate.sh":                   "shellcheck ./gate.sh",
		"cd policy && './a b.sh'":                "cd policy && " + q + `policy/a b.sh'`,
		"(cd policy; './a b.sh'); ./gate.sh":     "(cd policy; " + q + `policy/a b.sh'); ` + q + `gate.sh'`,
		"((cd policy; './a b.sh'))":              "((cd policy; " + q + `policy/a b.sh'))`,
		"cd policy && cd .. && ./gate.sh":        "cd policy && cd .. && " + q + `gate.sh'`,
		"cd policy; if true; then cd ..; fi":     "cd policy; if true; then cd ..; fi",
		"cat ./data.txt":                         "cat ./data.txt",
		"./data.txt":                             "./data.txt",
		"test -f x":                              "test -f x",
		"go test ./...":                          "go test ./...",
		"./missing.sh":                           "./missing.sh",
		"../gate.sh":                             "../gate.sh",
		ws + "/gate.sh":                          ws + "/gate.sh",
		`"$CLAUDE_PROJECT_DIR"/gate.sh`:          `"$CLAUDE_PROJECT_DIR"/gate.sh`,
		"./g*.sh":                                "./g*.sh",
		"./gate.sh 'unclosed":                    "./gate.sh 'unclosed",
		"":                                       "",
	} {
		if got := team.Place().LocatedLine(line); got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
	command, args := team.Located(hooks.Handler{Type: "command", Command: "sh", Args: []string{"gate.sh", "./gate.sh"}})
	if command != "sh" || !slices.Equal(args, []string{ws + "/gate.sh", "./gate.sh"}) {
		t.Errorf("exec form: %s %q", command, args)
	}
	for _, h := range []hooks.Handler{
		{Type: "prompt", Command: "./gate.sh"}, {Type: "command", Command: "./gate.sh", Cwd: "policy"},
	} {
		if got, _ := team.Located(h); got != "./gate.sh" {
			t.Errorf("%+v became %s", h, got)
		}
	}
	if !strings.Contains(ws, "'") {
		t.Error("the folder's name no longer tries the quoting")
	}
}
