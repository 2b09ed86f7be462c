//go:build unix

package runner

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks"
)

// spawnBare starts a program as a C program would: three pipes, fork and exec,
// input written, outputs read to their end, one wait.
func spawnBare(tb testing.TB, args []string, input []byte) {
	var in, out, errs [2]int
	for _, pipe := range []*[2]int{&in, &out, &errs} {
		syscall.ForkLock.RLock()
		err := syscall.Pipe(pipe[:])
		for _, fd := range pipe {
			syscall.CloseOnExec(fd)
		}
		syscall.ForkLock.RUnlock()
		if err != nil {
			tb.Fatal(err)
		}
	}
	pid, err := syscall.ForkExec(args[0], args, &syscall.ProcAttr{Env: os.Environ(),
		Files: []uintptr{uintptr(in[0]), uintptr(out[1]), uintptr(errs[1])},
		Sys:   &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		tb.Fatal(err)
	}
	for _, fd := range []int{in[0], out[1], errs[1]} {
		_ = syscall.Close(fd)
	}
	_, _ = syscall.Write(in[1], input)
	_ = syscall.Close(in[1])
	buf := make([]byte, 4096)
	for _, fd := range []int{out[0], errs[0]} {
		for {
			if n, err := syscall.Read(fd, buf); n <= 0 || err != nil {
				break
			}
		}
		_ = syscall.Close(fd)
	}
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
}

// BenchmarkHook compares one hook with a bare spawn of the same program in the
// same round, and reports the median of the ratios: only that can be trusted
// on a noisy machine.
func BenchmarkHook(b *testing.B) {
	place := newBench(b)
	for name, h := range map[string]hooks.Handler{
		"true": {Type: "command", Command: "/bin/true", Args: []string{}},
		"sh":   {Type: "command", Command: ":"},
	} {
		b.Run(name, func(b *testing.B) {
			args := []string{"/bin/true"}
			if h.Args == nil {
				args = []string{"/bin/sh", "-c", ":"}
			}
			r := place.runner(b, hooks.Settings{hooks.Stop: {{Hooks: []hooks.Handler{h}}}})
			in := place.input(hooks.StopInput{LastAssistantMessage: "done"})
			wire, err := in.Wire()
			if err != nil {
				b.Fatal(err)
			}
			var ratios []float64
			var ours, bare time.Duration
			for b.Loop() {
				start := time.Now()
				out, err := r.Run(b.Context(), in, nil)
				ours = time.Since(start)
				if err != nil || out.Results[0].Outcome != hooks.Success {
					b.Fatalf("%+v, %v", out, err)
				}
				start = time.Now()
				spawnBare(b, args, wire)
				bare = time.Since(start)
				ratios = append(ratios, float64(ours)/float64(bare))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "x-bare")
		})
	}
}

// BenchmarkNoHook is what an event costs that nobody listens to.
func BenchmarkNoHook(b *testing.B) {
	place := newBench(b)
	r := place.runner(b, on(hooks.TaskCompleted, ":"))
	in := place.input(hooks.StopInput{LastAssistantMessage: "done"})
	b.ReportAllocs()
	for b.Loop() {
		if out, err := r.Run(b.Context(), in, nil); err != nil || out.ToolUseID == "" || out.Matched != 0 {
			b.Fatalf("%+v, %v", out, err)
		}
	}
}

// BenchmarkNoMatch is what a tool call costs whose hooks are for other tools.
func BenchmarkNoMatch(b *testing.B) {
	place := newBench(b)
	settings := hooks.Settings{hooks.PreToolUse: {{Matcher: "Write|Edit", Hooks: on(hooks.Stop, ":")[hooks.Stop][0].Hooks},
		{Matcher: "^mcp__.*", Hooks: on(hooks.Stop, ":")[hooks.Stop][0].Hooks}}}
	r := place.runner(b, settings)
	in := place.input(hooks.PreToolUseInput{ToolName: "Bash", ToolInput: []byte(`{"command":"ls"}`),
		ToolUseID: "toolu_1"})
	b.ReportAllocs()
	for b.Loop() {
		if out, err := r.Run(b.Context(), in, nil); err != nil || out.Matched != 0 {
			b.Fatalf("%+v, %v", out, err)
		}
	}
}

// BenchmarkManyHooks runs many hooks on one Stop, beside as many bare spawns
// one after another.
func BenchmarkManyHooks(b *testing.B) {
	place := newBench(b)
	for _, n := range []int{8, 32} {
		b.Run(map[int]string{8: "8", 32: "32"}[n], func(b *testing.B) {
			var group hooks.Group
			for i := range n {
				group.Hooks = append(group.Hooks, hooks.Handler{Type: "command", Command: "/bin/true",
					Args: []string{string(rune('a' + i))}})
			}
			r := place.runner(b, hooks.Settings{hooks.Stop: {group}})
			in := place.input(hooks.StopInput{})
			var ratios []float64
			for b.Loop() {
				start := time.Now()
				out, err := r.Run(b.Context(), in, nil)
				ours := time.Since(start)
				if err != nil || len(out.Results) != n {
					b.Fatalf("%d results, %v", len(out.Results), err)
				}
				start = time.Now()
				for range n {
					spawnBare(b, []string{"/bin/true"}, nil)
				}
				ratios = append(ratios, float64(ours)/float64(time.Since(start)))
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "x-bare-in-a-row")
		})
	}
}
