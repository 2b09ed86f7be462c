package launch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// TestSharedProgram: a program that asks nobody and tells nothing is found out as well,
// and so is one that tells; what it was permitted is its own.
func TestSharedProgram(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]string{
		"tells nothing": "sneak echo 2 >main.go", "tells": "edit main.go 2",
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newFakeRig(t, teamtest.LeadLetsWork, "defaults: {permission_mode: bypassPermissions, isolation: shared}\n"+teamtest.OwnedByDev,
				act{When: "files that are not yours", Do: []string{"sneak cp -p kept.log main.go", teamtest.Finishes}},
				act{When: "You own task #1", Do: []string{
					teamtest.Claims, "askedit docs/b.md b", "sneak cp -p main.go kept.log", do, "say Done, I think.",
				}})
			r.Rewrite("team.yaml", "dev: {agent: fake}", "dev: {agent: fake, owns: [docs/**]}")
			for file, text := range map[string]string{"docs/a.md": "a\n", "main.go": "package main\n",
				".gitignore": "*.log\n"} {
				if err := os.MkdirAll(filepath.Join(r.Dir, "docs"), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(r.Dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
			prompts := toldFake(t, dir, "prompt")
			if len(prompts) < 2 || !strings.Contains(prompts[1],
				"You have changed files that are not yours: | - main.go | You may write to docs/**.") {
				t.Errorf("it was told %q\n%s", prompts, teamtest.Show(r.Lines.All()))
			}
			if strings.Contains(strings.Join(prompts, ""), "docs/b.md") {
				t.Errorf("it was blamed for its own file: %q", prompts)
			}
		})
	}
}
