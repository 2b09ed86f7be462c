package main

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// commandCost is more than any CLI command takes of its own, in processor time,
// on a slow machine. The goal is 10 ms (PERF.md), which BenchmarkCommand
// measures; wall time on a busy machine would say nothing.
const commandCost = 30 * time.Millisecond

// runningTeam starts a team in the background and returns its folder.
func runningTeam(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range map[string]string{
		"team.yaml": "covey: 1\nname: crew\ngoal: Wait.\nmodels: {lead: {provider: script, script: lead.yaml}}\nlead: {model: lead}\n",
		"lead.yaml": "exhausted: stop\nsteps: [{say: Well., times: -1}]\n",
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	home := dir + "/.state"
	tb.Setenv("COVEY_STATE_HOME", home)
	tb.Cleanup(func() { killTeams(home) })
	if out, err := exec.Command("covey", "-C", dir, "up", "--trust", "--keep", "--detach").CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return dir
}

// once runs a command and returns its processor time.
func once(tb testing.TB, dir string, args ...string) time.Duration {
	tb.Helper()
	cmd := exec.Command("covey", append([]string{"-C", dir}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("covey %v: %v: %s", args, err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// TestCommandCost: the cheapest of some runs is what a command costs; the others
// were disturbed.
func TestCommandCost(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector costs more than the command")
	}
	dir := runningTeam(t)
	for _, args := range [][]string{{"ps"}, {"tasks"}, {"send", "lead", "hello"}, {"version"}} {
		least := time.Hour
		for range 40 {
			if least = min(least, once(t, dir, args...)); least <= commandCost {
				break
			}
		}
		if least > commandCost {
			t.Errorf("covey %v takes %v of its own, more than %v", args, least, commandCost)
		}
	}
}

// BenchmarkCommand is one command on a running team, from start to end, beside
// a command that does nothing.
func BenchmarkCommand(b *testing.B) {
	dir := runningTeam(b)
	for _, args := range [][]string{{"version"}, {"ps"}, {"tasks"}} {
		b.Run(args[0], func(b *testing.B) {
			var own time.Duration
			for b.Loop() {
				own += once(b, dir, args...)
			}
			b.ReportMetric(float64(own.Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
	b.Run("true", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkTree is what building all commands costs, which every command pays.
func BenchmarkTree(b *testing.B) {
	for b.Loop() {
		newCLI(os.Stdin, os.Stdout, os.Stderr).rootCommand()
	}
}
