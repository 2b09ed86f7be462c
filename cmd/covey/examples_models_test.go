package main_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// serveOffline lets scripts answer in place of an example's models, as its README says; the
// port is another one, because several examples run at the same time. Examples without the
// folder offline need nothing.
func serveOffline(t *testing.T, dir string, env []string) {
	t.Helper()
	override, err := os.ReadFile(filepath.Join(dir, "offline", "team.override.yaml"))
	if err != nil {
		return
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "offline", "*-*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("covey", append([]string{"model", "serve"}, scripts...)...)
	cmd.Env = env
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the model server said %q: %v", url, err)
	}
	text := strings.ReplaceAll(string(override), "http://127.0.0.1:8123", strings.TrimSpace(url))
	if err := os.WriteFile(filepath.Join(dir, "team.override.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkModels says what all examples with real models have: the gate refused a member once,
// and the lead heard of the result.
func checkModels(tasks int, member, event, refusal string) func(*testing.T, example) {
	return func(t *testing.T, e example) {
		e.checkAllDone(t, tasks)
		refused := e.find(0, func(l journalLine) bool {
			return l.Type == "hook_feedback" && l.Member == member && l.Data.Event == event &&
				strings.Contains(l.Data.Text, refusal)
		})
		if e.find(refused, taskOp("completed", "1")) < 0 || e.completedBy("1") != member {
			t.Errorf("%s refused no attempt of %s with %q before task 1 was completed", event, member,
				refusal)
		}
		for _, m := range e.line {
			if m.Type == "message" && m.Data.To == "lead" && m.Data.Kind == "text" {
				return
			}
		}
		t.Error("the lead did not hear of the result")
	}
}
