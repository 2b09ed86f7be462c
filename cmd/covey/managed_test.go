package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/testkit"
)

// TestManagedPolicyOfCommands: a spec without extends keeps to the policy of the machine in all commands that
// read it to run it.
func TestManagedPolicyOfCommands(t *testing.T) {
	t.Parallel()
	etc := testkit.Files(t, map[string]string{"policy.yaml": "covey-policy: 1\nbudget: {tokens: 10}\n"})
	dir := testkit.Files(t, map[string]string{
		"team.yaml": "covey: 1\ngoal: Speak.\nlead: {model: m}\nmodels: {m: {provider: script, script: m.yaml}}\nbudget: {tokens: 11}\n",
		"m.yaml":    "steps: [{say: Done.}]\n",
	})
	for _, args := range [][]string{{"hooks", "list"}, {"validate"}, {"up", "--trust", "--dry-run"}, {"up", "--trust"}, {"ci", "--trust"}, {"config"}} {
		var stdout, stderr bytes.Buffer
		c := cli.New(strings.NewReader(""), &stdout, &stderr, "devel")
		c.Managed = []string{etc}
		root := rootCommand(c)
		root.SetArgs(append([]string{"-C", dir}, args...))
		err := root.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(cli.ErrorText(err), "tokens is 11, and the policy allows 10 at most (policy.yaml:2)") {
			t.Errorf("%v: %v\n%s", args, err, stdout.String())
		}
	}
}

// TestManagedHooks: what an administrator lays down counts by hand, too.
func TestManagedHooks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("own.json", `{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo own"}]}]}}`)
	run := func() (out, errOut string, err error) {
		var stdout, stderr bytes.Buffer
		c := cli.New(strings.NewReader(""), &stdout, &stderr, "devel")
		c.Managed = []string{dir}
		root := rootCommand(c)
		root.SetArgs([]string{"-C", dir, "hooks", "run", "Stop", "--settings", "own.json"})
		err = root.ExecuteContext(t.Context())
		return stdout.String(), stderr.String(), err
	}
	out, errOut, err := run()
	if err != nil || strings.Contains(out, "echo own") || !strings.Contains(errOut, "disableAllHooks in own.json") {
		t.Errorf("%s\n%s\n%v", out, errOut, err)
	}
	write("managed-settings.json", `{"disableAllHooks": false,
		"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo managed"}]}]}}`)
	out, errOut, err = run()
	if err != nil || !strings.Contains(out, "echo own") || !strings.Contains(out, "echo managed") ||
		!strings.Contains(errOut, "disableAllHooks has no effect") {
		t.Errorf("%s\n%s\n%v", out, errOut, err)
	}
	write("managed-settings.json", `{`)
	if _, _, err = run(); !errors.Is(err, settings.ErrManaged) {
		t.Errorf("a broken file: %v", err)
	}
}
