package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkPolicyTests: the team's cases pass and leave nothing uncovered, a comparison with its lead alone prefers the
// team, and a case fails as the README shows once
// the hook is broken.
func checkPolicyTests(t *testing.T, e example) {
	e.checkAllDone(t, 1)
	out := e.covey(t, e.dir, "test", "team.yaml", "-v", "--cover")
	if !strings.Contains(out, "cover: cases have made 7 of 7 rules, hooks and gates agree and refuse") {
		t.Errorf("the cases leave something uncovered:\n%s", out)
	}
	out = e.covey(t, e.dir, "compare", "Have the release notes written.", "--accept", "grep -q 2026 NOTES.md", "-n", "1", "--budget-tokens", "1000",
		"--trust", "--out", filepath.Join(t.TempDir(), "comparison"))
	if !strings.Contains(out, "lead  0 of 1") || !strings.Contains(out, "team  1 of 1") {
		t.Errorf("the comparison prints\n%s", out)
	}
	hook := filepath.Join(e.dir, "policy", "no-new-tags.sh")
	if err := os.WriteFile(hook, []byte("exit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("covey", "test", "team.yaml")
	cmd.Dir, cmd.Env = e.dir, e.env
	failed, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the cases of a broken hook end with %v:\n%s", err, failed)
	}
	readme, err := os.ReadFile(filepath.Join(e.dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(failed)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "expected") || strings.HasPrefix(line, "seen") {
			if !strings.Contains(string(readme), line) {
				t.Errorf("the README does not show %q", line)
			}
		}
	}
	if !strings.Contains(string(failed), "FAIL  covey-tests/rules.yaml  1 of 3 cases failed") {
		t.Errorf("the cases of a broken hook print\n%s", failed)
	}
	gitOutput(t, e.dir, "checkout", "-q", "policy")
}
