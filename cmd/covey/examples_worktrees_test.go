package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// resetExample makes the repository of an example whose workspace has to be one
// before its team starts.
func resetExample(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command(filepath.Join(dir, "reset.sh")).CombinedOutput(); err != nil {
		t.Fatalf("reset.sh: %v\n%s", err, out)
	}
}

// checkWorktrees: the task gate refuses once, both dishes come in, one of them by way of a conflict that its
// author has resolved, and nothing is left over.
func checkWorktrees(t *testing.T, e example) {
	e.checkAllDone(t, 3)
	menu := filepath.Join(e.dir, "menu")
	subjects := strings.Split(strings.TrimSpace(gitOutput(t, menu, "log", "--first-parent", "--format=%s", "main")), "\n")
	if len(subjects) != 3 {
		t.Fatalf("main's own commits are %q, want one merge at once and one after the conflict", subjects)
	}
	second, author := "1", "ana"
	if strings.HasPrefix(subjects[1], "Merge task 1:") {
		second, author = "2", "ben"
	}
	if want := "Merge task 3: Resolve the merge conflict of task " + second; subjects[0] != want {
		t.Errorf("main ends with %q, want %q", subjects[0], want)
	}
	if got := e.completedBy("3"); got != author {
		t.Errorf("%s has resolved the conflict of %s", got, author)
	}
	want := "dishes: 4\ncake 3.20\ntea 1.80\nbread 2.00\nsoup 4.50\n"
	if got := gitOutput(t, menu, "show", "main:menu.txt"); got != want {
		t.Errorf("main has the menu\n%s", got)
	}
	if got, err := os.ReadFile(filepath.Join(menu, "menu.txt")); err != nil || string(got) != want {
		t.Errorf("the workspace, which is on main, has the menu %q (%v)", got, err)
	}
	if left := gitOutput(t, menu, "status", "--porcelain") + gitOutput(t, menu, "branch", "--list", "covey/*"); left != "" {
		t.Errorf("the run leaves\n%s", left)
	}
	if e.count(func(l journalLine) bool { return l.Type == "task" && l.Data.Op == "refused" && l.Member == "ana" }) != 1 {
		t.Error("the gate did not refuse the dish without a price, once")
	}
	for _, gate := range []string{"prices.sh", "count.sh"} {
		if e.count(func(l journalLine) bool {
			return l.Type == "hook_finished" && l.Member == "" && strings.HasSuffix(l.Data.Command, gate)
		}) < 2 {
			t.Errorf("%s was not asked about both merges", gate)
		}
	}
}

func TestWorktreesGates(t *testing.T) {
	const found = "dishes: 2\nbread 2.00\nsoup 4.50\n"
	for _, tc := range []struct{ gate, menu, says string }{
		{"prices", found, ""},
		{"prices", "dishes: 2\n", ""},
		{"prices", "dishes: 2\nbread 2.00\nsoup\n", "2:soup"},
		{"prices", "dishes: 3\n<<<<<<< HEAD\ncake 3.20\n=======\ntea 1.80\n>>>>>>> main\n", "1:<<<<<<< HEAD"},
		{"count", found, ""},
		{"count", "dishes: 3\ncake 3.20\ntea 1.80\nbread 2.00\nsoup 4.50\n",
			"says 3 and has 4 dishes, merged into main"},
		{"count", "bread 2.00\n", "says nothing and has 0 dishes"},
		{"count", "dishes: 0\n", ""},
	} {
		dir, code := t.TempDir(), 0
		if err := os.WriteFile(filepath.Join(dir, "menu.txt"), []byte(tc.menu), 0o600); err != nil {
			t.Fatal(err)
		}
		if tc.says != "" {
			code = 2
		}
		script{path: "worktrees/gates/" + tc.gate + ".sh", dir: dir, env: []string{"COVEY_MERGE_INTO=main"}}.run(t).
			want(t, code, tc.says)
	}
}
