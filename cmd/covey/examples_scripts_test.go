package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// These tests hold the gate and hook scripts of examples/ against what covey
// tells them on stdin, one script at a time and without a team. That the teams
// meet them is tested in examples_test.go.

// script is one run of a script of examples/.
type script struct {
	path  string // below examples/
	args  []string
	stdin string
	dir   string   // where it runs; empty: anywhere
	env   []string // besides our own
}

// answer is what a script did.
type answer struct {
	code           int
	stdout, stderr string
}

func (s script) run(t *testing.T) answer {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the examples' scripts are for /bin/sh")
	}
	path, err := filepath.Abs(filepath.Join(root, "examples", filepath.FromSlash(s.path)))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, s.args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(s.stdin), &stdout, &stderr
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.env...)
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", s.path, err)
	}
	return answer{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// want checks the exit code, and that what the script said holds a text; an
// empty text wants silence.
func (a answer) want(t *testing.T, code int, text string) {
	t.Helper()
	said := a.stdout + a.stderr
	if a.code != code || !strings.Contains(said, text) || (text == "" && said != "") {
		t.Errorf("left with %d, stdout %q, stderr %q; want %d and %q", a.code, a.stdout, a.stderr, code, text)
	}
}

// asJSON writes v as covey writes it, and once more as another host might.
func asJSON(t *testing.T, v any) (compact, spaced string) {
	t.Helper()
	one, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	many, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(one) + "\n", string(many) + "\n"
}

// fields is a JSON object.
type fields map[string]any

func TestQuickstartStopGate(t *testing.T) {
	for _, tc := range []struct {
		active bool
		said   any
		code   int
		text   string
	}{
		{false, "Done.", 2, `"Done." tells nobody anything`},
		{false, "done", 2, `"done" tells nobody anything`},
		{true, "Done.", 0, ""},
		{false, "Done with it, the tests pass.", 0, ""},
		{false, `done" and "done`, 0, ""},
		{false, nil, 0, ""},
	} {
		compact, spaced := asJSON(t, fields{"hook_event_name": "Stop", "stop_hook_active": tc.active,
			"last_assistant_message": tc.said, "background_tasks": []int{}})
		for _, in := range []string{compact, spaced} {
			script{path: "quickstart/gates/more-than-done.sh", stdin: in}.run(t).want(t, tc.code, tc.text)
		}
	}
}

func TestQuickstartPushHook(t *testing.T) {
	denied := []string{
		"git push", "git push origin main", "git -C till push", "git --no-pager -c a=b push -f",
		"go test ./... && git push", "cd x; git  push", `echo "hi"; git push`,
	}
	passed := []string{
		"git status", "git log --grep=push", "git commit -m 'push it'", `git commit -m "do not push"`, "echo push",
		"git stash push", "git push-all",
	}
	ask := func(command string) answer {
		compact, _ := asJSON(t, fields{"hook_event_name": "PreToolUse", "tool_name": "Bash",
			"tool_input": fields{"command": command, "description": "git push, perhaps"}, "tool_use_id": "t"})
		return script{path: "quickstart/hooks/no-push.sh", stdin: compact}.run(t)
	}
	for _, command := range denied {
		got := ask(command)
		var out struct {
			HookSpecificOutput struct{ HookEventName, PermissionDecision, PermissionDecisionReason string }
		}
		if err := json.Unmarshal([]byte(got.stdout), &out); err != nil {
			t.Fatalf("%s: answered %q: %v", command, got.stdout, err)
		}
		if o := out.HookSpecificOutput; o.HookEventName != "PreToolUse" || o.PermissionDecision != "deny" ||
			o.PermissionDecisionReason == "" || got.code != 0 {
			t.Errorf("%s: answered %+v, left with %d", command, o, got.code)
		}
	}
	for _, command := range passed {
		ask(command).want(t, 0, "")
	}
}

func TestQuickstartTaskGate(t *testing.T) {
	t.Parallel()
	dir := copyExample(t, "quickstart")
	if out, err := exec.Command(filepath.Join(dir, "reset.sh")).CombinedOutput(); err != nil {
		t.Fatalf("reset.sh: %v\n%s", err, out)
	}
	for i, tc := range []struct {
		description string
		code        int
		text        string
	}{
		{"Package: ./money", 2, "FAIL: TestPercent"},
		{"Package: ./money\nRefunds, too.", 2, "go test ./money fails:\n"},
		{"Package: ./receipt (its TODO)", 0, ""},
		{"Lay out a fresh copy.", 0, ""},
		{"Package: ./nowhere", 2, "nowhere: directory not found"},
	} {
		compact, spaced := asJSON(t, fields{"hook_event_name": "TaskCompleted", "task_id": "2", "task_subject": "S",
			"task_description": tc.description, "teammate_name": "ana"})
		script{path: "quickstart/gates/tests-pass.sh", stdin: [2]string{compact, spaced}[i%2], // each run links a program
			env: []string{"CLAUDE_PROJECT_DIR=" + filepath.Join(dir, "workspace")}}.run(t).want(t, tc.code, tc.text)
	}
}

// TestQuickstartReset runs reset.sh twice, the second time over work of a team.
func TestQuickstartReset(t *testing.T) {
	dir := copyExample(t, "quickstart")
	till := filepath.Join(dir, "workspace", "till")
	for range 2 {
		// A git hook that starts covey has such variables set.
		cmd := exec.Command(filepath.Join(dir, "reset.sh"))
		cmd.Env = append(os.Environ(), "GIT_DIR="+filepath.Join(dir, "nowhere"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("reset.sh: %v\n%s", err, out)
		}
		out, err := exec.Command("git", "-C", till, "status", "--porcelain").Output()
		if err != nil || len(out) > 0 {
			t.Fatalf("after reset.sh git sees %q, %v", out, err)
		}
		fresh, err := os.ReadFile(filepath.Join(till, "money", "money.go"))
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := os.ReadFile(filepath.Join(dir, "module", "money", "money.go")); !bytes.Equal(fresh, want) {
			t.Fatal("money.go is not the module's")
		}
		if err := os.WriteFile(filepath.Join(till, "money", "money.go"), []byte("package gone\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// copyExample copies an example to a folder of this test, without what a run
// has left in it, and gives the copy's path.
func copyExample(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	from := filepath.Join(root, "examples", name)
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"workspace/till", "workspace/notes", "menu"} {
		if err := os.RemoveAll(filepath.Join(dir, filepath.FromSlash(left))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
