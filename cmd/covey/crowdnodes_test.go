//go:build unix

package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// nodeCrowd is how many members the team of TestCrowdOnNodes has.
var nodeCrowd = flag.Int("nodecrowd", 0, "how many members the team of TestCrowdOnNodes has; 0: it is skipped")

// TestCrowdOnNodes: a team of many members on three nodes ends with the same tasks and merges as on one host. The CPU
// time of a member may be 2.5 times that of one host; our goal is 1.5.
func TestCrowdOnNodes(t *testing.T) {
	if *nodeCrowd == 0 {
		t.Skip("it takes minutes; say -nodecrowd 100")
	}
	var costs [2]time.Duration
	var ends [2]string
	for i, hosts := range [][]string{nil, {"a", "b", "c"}} {
		costs[i], ends[i] = runCrowd(t, hosts)
		t.Logf("on %d nodes: %d members cost %.2f s of CPU each", len(hosts), *nodeCrowd, costs[i].Seconds()/float64(*nodeCrowd))
	}
	if ends[0] != ends[1] {
		t.Errorf("one host ends with\n%s\nnodes with\n%s", ends[0], ends[1])
	}
	if ratio := float64(costs[1]) / float64(costs[0]); ratio > 2.5 {
		t.Errorf("a member on a node costs %.2f times as much as on one host", ratio)
	}
}

// runCrowd runs a team on one host, or its members on nodes. It returns the CPU time of all that covey has started, and
// what the team ends with.
func runCrowd(t *testing.T, hosts []string) (cost time.Duration, end string) {
	t.Helper()
	dir := t.TempDir()
	start := func(name string, args ...string) *exec.Cmd {
		out, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd := exec.Command("covey", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "COVEY_STATE_HOME="+filepath.Join(dir, name+"-state"))
		cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = out, out, &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		return cmd
	}
	over := func(cmd *exec.Cmd, may bool) {
		if err := cmd.Wait(); err != nil && !may {
			t.Errorf("%v: %v", cmd.Args, err)
		}
		cost += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	shell := func(command string) string {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	shell(`printf '[user]\nname = a\nemail = a@example.com\n' >.gitconfig; git init -q --bare -b main origin.git; git init -q -b main one`)
	start("bus", "nats", "--trial", "--team", "crowd", "--dir", "servers", "--node", "a,b,c")
	for begun := time.Now(); !strings.Contains(read("bus"), "three servers run"); time.Sleep(50 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatalf("no servers: %s", read("bus"))
		}
	}
	lines := strings.Split(read("bus"), "\n")
	section := lines[slices.Index(lines, "bus:"):]
	keys := "merge: {into: main}\ngates: {task: [\"true\"]}\n" + strings.Join(section[:3], "\n") +
		"\ndefaults: {isolation: worktree, permissions: {allow: [Bash]}"
	if len(hosts) > 0 {
		keys += ", on: [crowd]}\nnodes: {" + strings.Join(hosts, ": {labels: [crowd]}, ") + ": {labels: [crowd]}"
	}
	for name, text := range crowdFiles(*nodeCrowd, keys+"}\n", "{tool: Bash, input: {command: 'echo %d >work-%d'}}, ", 1) {
		if err := os.WriteFile(filepath.Join(dir, "one", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shell("cd one && git add . && git commit -qm files && git remote add origin ../origin.git && git push -q origin main")
	var carriers []*exec.Cmd
	for _, name := range hosts {
		carriers = append(carriers, start(name, "node", "--creds", "servers/"+name+".creds", "--trust", "--places", fmt.Sprint(*nodeCrowd/len(hosts)+1)))
	}
	over(start("up", "-C", "one", "up", "--trust"), false)
	for _, cmd := range carriers {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		over(cmd, true) // there is no coordinator any more that takes its last reports
	}
	if t.Failed() {
		text := read("up")
		t.Fatalf("%s", text[max(0, len(text)-3000):])
	}
	end = shell(`cd one; COVEY_STATE_HOME=../up-state covey tasks list --json | grep -E '"(id|status|owner)":' | paste - - - | sort
		git -C ../origin.git ls-tree -r --name-only main; git -C ../origin.git rev-list --merges --count main`)
	return cost, end
}
