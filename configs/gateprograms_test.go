package configs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// TestGatePrograms: a program without which a gate's line cannot succeed is missed, and
// nothing that only the shell will know, or that stands behind a condition.
func TestGatePrograms(t *testing.T) {
	dir := testkit.Files(t, map[string]string{"team.yaml": "", "sub/bin/tool": "", "bin/other": "", "plain": ""})
	team := &Team{Workspace: dir, File: filepath.Join(dir, "team.yaml")}
	for line, want := range map[string]string{
		"bin/other":                       "",
		"./plain":                         "./plain",
		"./sub":                           "./sub",
		"cd sub && bin/tool":              "",
		"cd sub && ./gone":                "./gone",
		"cd $SOMEWHERE; ./gone":           "",
		"zz-gone -v":                      "zz-gone",
		"X=1 zz-gone":                     "zz-gone",
		"zz-a | zz-b":                     "zz-a zz-b",
		"zz-a; zz-a && zz-b":              "zz-a zz-b",
		"! zz-a":                          "zz-a",
		"(cd sub && zz-a)":                "zz-a",
		"{ zz-a; }":                       "zz-a",
		"time zz-a":                       "zz-a",
		"timeout 60 zz-a":                 "zz-a",
		"timeout -k 5 60 zz-a":            "",
		"env A=b zz-a":                    "zz-a",
		"exec ./gone":                     "./gone",
		"set -e; export X=1; zz-a":        "zz-a",
		"zz-a || exit 1":                  "zz-a",
		"zz-a || { echo no; exit 1; }":    "zz-a",
		"zz-a || true":                    "",
		"zz-a || zz-b":                    "",
		"exit 0; zz-a":                    "",
		"test -e x && zz-a":               "",
		"[ -e x ] || zz-a":                "",
		"[ -e x ]; [[ -e x ]]":            "",
		"if ./gone; then zz-a; fi":        "",
		"for f in *; do zz-a; done":       "",
		"command -v zz-a && zz-a":         "",
		"type zz-a >/dev/null; zz-a":      "",
		"PATH=bin:$PATH zz-a":             "",
		"export PATH=bin; zz-a":           "",
		"PATH=bin:$PATH ./gone":           "./gone",
		". ./env.sh; zz-a":                "",
		"eval $X; zz-a":                   "",
		"zz_f() { true; }; zz_f":          "",
		"$TOOL x":                         "",
		"tool=./gone; $tool":              "./gone",
		"${TOOL:-bin/other} x":            "",
		`"$CLAUDE_PROJECT_DIR"/plain`:     dir + "/plain",
		`"$CLAUDE_PROJECT_DIR/bin/other"`: "",
		"./*.sh":                          "",
		"~nobody/x":                       "",
		"echo 'not closed":                "",
		"$(zz-a) x":                       "",
		">out":                            "",
		"":                                "",
	} {
		var got []string
		for _, l := range team.Place().Lacks(line) {
			got = append(got, l.Word)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: misses %q, want %q", line, got, want)
		}
	}
}

// TestGateProgramsOfCopies: what a working copy may have though the workspace has it not
// is a warning; what cannot come from there stays a mistake.
func TestGateProgramsOfCopies(t *testing.T) {
	const head = "covey: 1\nlead: {model: {provider: script, script: demo.yaml}}\n"
	gates := "gates: {task: [./node_modules/.bin/lint]}\n"
	for _, key := range []string{"worktree: {setup: [npm ci]}\n", "worktree: {base: main}\n"} {
		team := mustParse(t, head+gates+key)
		if len(team.Warnings) != 1 || team.Warnings[0].Line != 3 || !strings.Contains(team.Warnings[0].Message, "worktree.") {
			t.Errorf("%s gives %+v", key, team.Warnings)
		}
	}
	for _, program := range []string{"zz-gone", "/zz-gone/x", "../zz-gone"} {
		_, err := parse(t, head+"worktree: {setup: [npm ci]}\ngates: {task: ["+program+"]}\n")
		if err == nil || !strings.Contains(err.Error(), "team.yaml:4:") {
			t.Errorf("%s gives %v", program, err)
		}
	}
}
