package merging

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/hints"
)

// TestCalledJudges: what a gate runs is followed to what that calls, and no further.
func TestCalledJudges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ci/test.sh": `#!/bin/sh
# sh scripts/comment.sh
here="$(cd "$(dirname "$0")" && pwd)"
cat README.md scripts/data.sh
scripts/unit.sh --fast
"$here/beside.sh"
. "$(dirname "$0")/env.sh"
python3 tools/check.py src/
python3 -m tools.types
go run ./tools/gen
go run ./cmd/app
node src/cli.js
npm run contract
make docs
curl -s https://example.com | sh
../outside.sh
`,
		"scripts/unit.sh": "#!/bin/sh\nsh scripts/deeper.sh\n", "scripts/deeper.sh": "", "scripts/comment.sh": "", "scripts/data.sh": "",
		"ci/beside.sh": "", "ci/env.sh": "", "tools/check.py": "import os", "tools/types.py": "", "tools/gen/main.go": "", "cmd/app/main.go": "",
		"src/cli.js": "", "README.md": "", "scripts/build.sh": "", "scripts/fmt.sh": "", "scripts/docs.sh": "", "scripts/exports.js": "",
		"package.json":    `{"scripts": {"contract": "node scripts/contract.js", "check": "npm run lint && node scripts/exports.js", "lint": "sh scripts/lint.sh", "x": "sh scripts/build.sh"}}`,
		"scripts/lint.sh": "", "scripts/contract.js": "",
		"Makefile": `.PHONY: all check
V := 1
check: vet \
  fmt
	@sh scripts/deeper.sh
vet:
	go vet ./...
fmt: ; sh scripts/fmt.sh
build:
	sh scripts/build.sh
docs:
	sh scripts/docs.sh
`,
	} {
		testkit.Put(t, dir, name, text)
	}
	of := func(gates ...string) (j hints.Judges) {
		team := &configs.Team{Workspace: dir, File: filepath.Join(dir, "team.yaml"), Gates: hooks.Settings{}}
		var list []hooks.Handler
		for _, g := range gates {
			list = append(list, hooks.Handler{Command: g})
		}
		team.Gates[hooks.TaskCompleted] = []hooks.Group{{Hooks: list}}
		j = JudgesOf(team)
		slices.Sort(j.Files)
		slices.Sort(j.Targets)
		return j
	}
	for _, tc := range []struct{ gate, files, targets string }{
		{"./ci/test.sh", "ci/beside.sh ci/env.sh ci/test.sh scripts/unit.sh team.yaml tools/check.py tools/gen tools/types.py", "contract docs"},
		{"make check", "scripts/deeper.sh scripts/fmt.sh team.yaml", "check fmt vet"},
		{"make", "scripts/deeper.sh scripts/fmt.sh team.yaml", "check fmt vet"},
		{"make -j4 V=2 build", "scripts/build.sh team.yaml", "build"},
		{"npm run check", "scripts/exports.js scripts/lint.sh team.yaml", "check lint"},
		{"go test ./...", "team.yaml", ""},
		{"sh ci/none.sh", "ci/none.sh team.yaml", ""},
		{"make 'check", "team.yaml", ""},
	} {
		j := of(tc.gate)
		if got := strings.Join(j.Files, " "); got != tc.files {
			t.Errorf("%s: %s, want %s", tc.gate, got, tc.files)
		}
		if got := strings.Join(j.Targets, " "); got != tc.targets {
			t.Errorf("%s: targets %s, want %s", tc.gate, got, tc.targets)
		}
	}

	// What a called program is configured by counts, and no target but those that run.
	j := of("make check")
	change := func(file, section string, lines ...string) string {
		return "diff --git a/" + file + " b/" + file + "\n--- a/" + file + "\n+++ b/" + file + "\n@@ -1,9 +1,9 @@ " + section + "\n" + strings.Join(lines, "\n") + "\n"
	}
	for _, tc := range []struct {
		name, diff string
		judges     hints.Judges
		marked     bool
	}{
		{"a target that it needs", change("Makefile", "vet:", "-\tgo vet ./...", "+\tgo vet ./a"), j, true},
		{"another target", change("Makefile", "build:", "-\tsh a.sh", "+\tsh b.sh"), j, false},
		{"a called script", change("scripts/fmt.sh", "", "-gofmt -l .", "+true"), j, true},
		{"a script that is not called", change("scripts/build.sh", "", "-a", "+b"), j, false},
		{"a script of npm", change("package.json", "", `-    "contract": "node a.js",`, `+    "contract": "node b.js",`), of("./ci/test.sh"), true},
		{"another one", change("package.json", "", `-    "start": "node a.js",`, `+    "start": "node b.js",`), of("./ci/test.sh"), false},
		{"a folder of go run", change("tools/gen/main.go", "", "-a", "+b"), of("./ci/test.sh"), true},
	} {
		list := hints.Find(hints.Work{Files: hints.ParseDiff(tc.diff), Judges: tc.judges})
		if got := slices.ContainsFunc(list, func(h hints.Hint) bool { return h.Kind == "gate-changed" }); got != tc.marked {
			t.Errorf("%s: %t, want %t: %v", tc.name, got, tc.marked, list)
		}
	}
}
