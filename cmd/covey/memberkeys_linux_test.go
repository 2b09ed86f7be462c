package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMembersCannotReadKeys runs a team as a user who is not root, for whom the whole program
// must work while its own memory and environment are hidden from the members' shells.
func TestMembersCannotReadKeys(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	t.Parallel()
	const nobodyID = 65534
	dir, err := os.MkdirTemp("", "k")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Another process writes the program: one that this process forks meanwhile would hold a
	// file of its own open for writing, and the program could not start (ETXTBSY).
	program := filepath.Join(dir, "covey")
	if out, err := exec.CommandContext(t.Context(), "cp", self, program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	read := `cat /proc/$PPID/environ; grep -a COVEY_TEST_KEY= /proc/self/environ; "$COVEY_BIN" ps; echo looked`
	for name, data := range map[string]string{
		"team.yaml": "covey: 1\nname: keys\ngoal: Look.\nmodels: {m: {provider: script, script: lead.yaml}}\nlead: {model: m, permission_mode: bypassPermissions}\n",
		"lead.yaml": "steps:\n  - call: [{tool: Bash, input: {command: '" + read + "'}}]\n  - say: done\n",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(data), 0o755), os.Chown(path, nobodyID, nobodyID)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(dir, nobodyID, nobodyID); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "up", "--trust", "--json")
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "COVEY_STATE_HOME=" + filepath.Join(dir, "state"), "COVEY_TEST_KEY=key-0815",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyID, Gid: nobodyID}}
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil || !strings.Contains(text, "environ: Permission denied") || !strings.Contains(text, "looked") ||
		!strings.Contains(text, "running") {
		t.Errorf("%v\n%s", err, text)
	}
	if strings.Contains(text, "key-0815") {
		t.Errorf("a member has read covey's environment:\n%s", text)
	}
}
