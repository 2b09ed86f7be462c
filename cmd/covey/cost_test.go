package main

import (
	"math"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/coveyteam/covey/cmd/covey/cli"
)

// commandCost is how many times the processor time of `git --version` a CLI command may
// take of its own. The goal is 10 ms (PERF.md), which BenchmarkCommand measures. A test
// cannot hold a time against it: on a busy machine all processes take longer, this one,
// too, so it is held against another one that is run at the same moment.
const commandCost = 20

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

// once runs a command of covey's and returns its processor time.
func once(tb testing.TB, dir string, args ...string) time.Duration {
	tb.Helper()
	return processorTime(tb, "covey", append([]string{"-C", dir}, args...)...)
}

// processorTime runs a program and returns what it took.
func processorTime(tb testing.TB, program string, args ...string) time.Duration {
	tb.Helper()
	cmd := exec.Command(program, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s %v: %v: %s", program, args, err, out)
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
		ratio := math.Inf(1)
		for range 40 {
			other := max(processorTime(t, "git", "--version"), time.Millisecond/2) // what clocks can tell apart
			if ratio = min(ratio, float64(once(t, dir, args...))/float64(other)); ratio <= commandCost {
				break
			}
		}
		t.Logf("covey %v takes %.1f times what git --version does", args, ratio)
		if ratio > commandCost {
			t.Errorf("covey %v takes %.0f times what git --version does, more than %d", args, ratio,
				commandCost)
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
		rootCommand(cli.New(os.Stdin, os.Stdout, os.Stderr, "devel"))
	}
}
