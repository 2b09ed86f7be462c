//go:build unix

package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/proc"
	settingspkg "github.com/coveyteam/covey/hooks/settings"
)

// The tests of this file are the hook attacks of ADVERSARIAL.md section 5, each by
// its number. Of two of them the rest is tested where it belongs: that a program
// whose settings were rewritten is not run again without being trusted (13) in
// package orchestrator and in cmd/covey, that the cap on refusals ends the turn (12)
// in package teammate. 14 is a program stopped before it has done anything.

// onlyResult returns the one result of an outcome.
func onlyResult(t *testing.T, out hooks.Outcome) hooks.Result {
	t.Helper()
	if len(out.Results) != 1 {
		t.Fatalf("%d results, want 1: %+v", len(out.Results), out)
	}
	return out.Results[0]
}

// patience is how long a call may take that does not wait for a program which goes on:
// longer than any machine needs, and shorter than the programs of these tests sleep.
const patience = 5 * time.Minute

// returns runs f, which must come back though what it has started goes on for an hour.
func returns(t *testing.T, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > patience {
		t.Errorf("it has waited for %v", took)
	}
}

// limitTo gives all hooks of a settings section a time-out.
func limitTo(seconds float64, settings hooks.Settings) hooks.Settings {
	for _, groups := range settings {
		for i := range groups {
			for j := range groups[i].Hooks {
				groups[i].Hooks[j].Timeout = seconds
			}
		}
	}
	return settings
}

// untilEnough calls f with a time-out that grows until it was enough for what f starts to
// come as far as it must: how long that takes depends on the machine.
func untilEnough(came func() bool, f func(seconds float64)) {
	for seconds := 0.3; ; seconds *= 4 {
		if f(seconds); came() || seconds > 60 {
			return
		}
	}
}

// has says whether a hook has written a file of the bench.
func (b *bench) has(name string) func() bool {
	return func() bool {
		info, err := os.Stat(filepath.Join(b.dir, name))
		return err == nil && info.Size() > 0
	}
}

// eventually polls for something that another process does.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Errorf("%s: not within a minute", what)
}

// gone reports whether no process of that pid runs.
func gone(pid int) bool { return !proc.Alive(pid) }

func TestAttack01NeverExits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner(t, limitTo(0.3, on(hooks.Stop, "sleep 3600; exit 2")))
	var out hooks.Outcome
	returns(t, func() { out = b.fire(t, r, hooks.StopInput{}) })
	result := onlyResult(t, out)
	if result.Outcome != hooks.Cancelled || result.ExitCode != -1 || !strings.Contains(result.Warning,
		"timed out after 300ms") {
		t.Errorf("result %+v", result)
	}
	if out.Decision != hooks.Pass || len(out.Messages) != 0 || out.FailedOpen() != 1 {
		t.Errorf("outcome %+v", out)
	}
}

func TestAttack02IgnoresTerm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	untilEnough(b.has("pid"), func(seconds float64) {
		r := b.runner(t, limitTo(seconds, on(hooks.Stop, `trap "" TERM; echo $$ >$REC_DIR/pid; while :; do sleep 1; done`)))
		if got := onlyResult(t, b.fire(t, r, hooks.StopInput{})).Outcome; got != hooks.Cancelled {
			t.Errorf("outcome %s", got)
		}
	})
	if pid := pidIn(t, filepath.Join(b.dir, "pid")); !gone(pid) {
		t.Errorf("process %d goes on", pid)
	}
}

func TestAttack02TermComesFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	untilEnough(b.has("ready"), func(seconds float64) {
		b.fire(t, b.runner(t, limitTo(seconds, on(hooks.Stop,
			`trap "echo term >$REC_DIR/term; exit 0" TERM; echo >$REC_DIR/ready; while :; do sleep 0.1; done`))), hooks.StopInput{})
	})
	if data, err := os.ReadFile(filepath.Join(b.dir, "term")); err != nil || string(data) != "term\n" {
		t.Errorf("the hook was not asked first: %q, %v", data, err)
	}
}

// endLeft kills the process in the file left at the end of the test: hooks may leave some.
func endLeft(t *testing.T, b *bench) {
	t.Cleanup(func() { _ = syscall.Kill(pidIn(t, filepath.Join(b.dir, "left")), syscall.SIGKILL) })
}

func TestAttack03ChildHoldsOutput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	endLeft(t, b)
	r := b.runner(t, on(hooks.Stop, "sleep 3600 & echo $! >$REC_DIR/left; echo started; exit 0"))
	var result hooks.Result
	returns(t, func() { result = onlyResult(t, b.fire(t, r, hooks.StopInput{})) })
	if result.Outcome != hooks.Success || result.Stdout != "started\n" || !strings.Contains(result.Warning,
		"keeps its output open") {
		t.Errorf("result %+v", result)
	}
}

func TestAttack04Daemon(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("children that left the session are found by /proc")
	}
	b := newBench(t)
	var result hooks.Result
	untilEnough(b.has("daemon.pid"), func(seconds float64) {
		result = onlyResult(t, b.fire(t, b.runner(t, limitTo(seconds, on(hooks.Stop, `DAEMON & sleep 600`))), hooks.StopInput{}))
	})
	pid := pidIn(t, filepath.Join(b.dir, "daemon.pid"))
	if !gone(pid) {
		t.Errorf("daemon %d goes on", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if !strings.Contains(result.Warning, strconv.Itoa(pid)) {
		t.Errorf("the warning does not name daemon %d: %q", pid, result.Warning)
	}
}

func TestAttack05ForkBomb(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	// Each child makes the next two for as long as it can; the depth alone is
	// bounded, so that a failure of this test does not take the machine with it.
	bomb := filepath.Join(b.dir, "bomb")
	script := "#!/bin/sh\necho $$ >>$REC_DIR/pids\n[ $1 -gt 0 ] || exec sleep 600\nsh $0 $(($1 - 1)) & sh $0 $(($1 - 1)) & wait\n"
	if err := os.WriteFile(bomb, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	untilEnough(b.has("pids"), func(seconds float64) {
		r := b.runner(t, limitTo(seconds, on(hooks.Stop, "sh "+bomb+" 5")))
		if got := onlyResult(t, b.fire(t, r, hooks.StopInput{})).Outcome; got != hooks.Cancelled {
			t.Errorf("outcome %s", got)
		}
	})
	data, err := os.ReadFile(filepath.Join(b.dir, "pids"))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			continue // two children wrote at once
		}
		if !gone(pid) {
			t.Errorf("process %d goes on", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestAttack06Flood(t *testing.T) { // not in parallel: the heap is everybody's
	b := newBench(t)
	r := b.runner(t, limitTo(0.7, on(hooks.Stop, "yes >&2 & yes")))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	result := onlyResult(t, b.fire(t, r, hooks.StopInput{}))
	runtime.ReadMemStats(&after)
	if len(result.Stdout) != defaultOutputCap || len(result.Stderr) != defaultOutputCap {
		t.Errorf("kept %d and %d bytes, want %d", len(result.Stdout), len(result.Stderr), defaultOutputCap)
	}
	for _, stream := range []string{"stdout", "stderr"} {
		if !strings.Contains(result.Warning, "more bytes of "+stream) {
			t.Errorf("the warning does not count %s: %q", stream, result.Warning)
		}
	}
	// The heap has garbage, too, and how much depends on the machine; the flood is far larger than this.
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

func TestAttack07UnreadInput(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	endLeft(t, b)
	big := hooks.StopInput{LastAssistantMessage: strings.Repeat("L", 8<<20)}
	for name, command := range map[string]string{
		"never reads": "exit 0", "closes": "exec 0<&-; exit 0", "reads a little": "head -c 10 >/dev/null",
		"child keeps it": "sleep 3600 >/dev/null 2>&1 & echo $! >$REC_DIR/left; exit 0",
	} {
		t.Run(name, func(t *testing.T) {
			returns(t, func() {
				if result := onlyResult(t, b.fire(t, b.runner(t, on(hooks.Stop, command)),
					big)); result.Outcome != hooks.Success {
					t.Errorf("result %+v", result)
				}
			})
		})
	}
}

func TestAttack07InputArrivesWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := b.input(hooks.StopInput{LastAssistantMessage: strings.Repeat("L", 8<<20)})
	want, err := in.Wire()
	if err != nil {
		t.Fatal(err)
	}
	b.fire(t, b.runner(t, on(hooks.Stop, "REC s '{}'")), in.Payload)
	if got := b.recorded(t, "s", 0); !slices.Equal(got, want) {
		t.Errorf("the hook read %d bytes, want %d", len(got), len(want))
	}
}

func TestAttack08HostileBytes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner(t, on(hooks.Stop, `printf 'a\377\376b\000c\033]52;c;AAAA\007' >&2; printf '\377'; exit 2`))
	out := b.fire(t, r, hooks.StopInput{})
	if out.Decision != hooks.Block {
		t.Errorf("decision %s", out.Decision)
	}
	for _, text := range append(out.Messages, onlyResult(t, out).Stdout, onlyResult(t, out).Stderr) {
		if !utf8.ValidString(text) {
			t.Errorf("not UTF-8: %q", text)
		}
	}
	if !strings.Contains(out.Feedback[0], "a\uFFFD\uFFFDb\x00c") {
		t.Errorf("feedback %q", out.Feedback[0])
	}
}

func TestAttack09BrokenAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	answers := map[string]string{
		"half":      `printf '{"decision":"block","reason":'`,
		"two":       `printf '{"decision":"block","reason":"r"}{"decision":"block","reason":"r"}'`,
		"prefixed":  `printf 'welcome\n{"decision":"block","reason":"r"}'`,
		"huge":      `printf '{"decision":"block","reason":"'; head -c 10000000 /dev/zero | tr '\0' x; printf '"}'`,
		"deep":      `printf '{"decision":"block","reason":'; head -c 100000 /dev/zero | tr '\0' '['`,
		"wrongtype": `printf '{"continue":"false"}'`,
		"null":      `printf '{"decision":null}'`,
	}
	for name, command := range answers {
		t.Run(name, func(t *testing.T) {
			out := b.fire(t, b.runner(t, on(hooks.Stop, command)), hooks.StopInput{})
			if result := onlyResult(t, out); out.Decision != hooks.Pass || result.Warning == "" {
				t.Errorf("a hook fails open, and says so: decision %s, warning %q", out.Decision,
					result.Warning)
			}
			out = b.fire(t, b.runner(t, gateOn(hooks.Stop, command)), hooks.StopInput{})
			gate := name != "prefixed" // plain text is what most checks print
			if (out.Decision == hooks.Block) != gate {
				t.Errorf("a gate: decision %s, %+v", out.Decision, onlyResult(t, out))
			}
		})
	}
}

func TestAttack10ExitCodes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tests := []struct {
		command string
		hook    hooks.Status
		gate    hooks.Status
		code    int
	}{
		{"exit 0", hooks.Success, hooks.Success, 0},
		{"exit 2", hooks.Blocking, hooks.Blocking, 2},
		{"exit 1", hooks.NonBlockingError, hooks.Blocking, 1},
		{"exit 3", hooks.NonBlockingError, hooks.Blocking, 3},
		{"exit 255", hooks.NonBlockingError, hooks.Blocking, 255},
		{"kill -9 $$", hooks.NonBlockingError, hooks.Blocking, -1},
		{"kill -TERM $$", hooks.NonBlockingError, hooks.Blocking, -1},
		{"/no/such/program", hooks.NonBlockingError, hooks.Blocking, 127},
		{": >$REC_DIR/plain; $REC_DIR/plain", hooks.NonBlockingError, hooks.Blocking, 126},
	}
	for _, test := range tests {
		result := onlyResult(t, b.fire(t, b.runner(t, on(hooks.Stop, test.command)), hooks.StopInput{}))
		if result.Outcome != test.hook || result.ExitCode != test.code {
			t.Errorf("hook %q: %s, exit code %d, want %s, %d", test.command, result.Outcome,
				result.ExitCode, test.hook, test.code)
		}
		result = onlyResult(t, b.fire(t, b.runner(t, gateOn(hooks.Stop, test.command)), hooks.StopInput{}))
		if result.Outcome != test.gate {
			t.Errorf("gate %q: %s, want %s", test.command, result.Outcome, test.gate)
		}
	}
}

func TestAttack11DenyBeatsAllow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	say := func(decision string) string {
		return fmt.Sprintf(`printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":%q}}'`, decision)
	}
	for _, order := range [][]string{{"deny", "allow"}, {"allow", "deny"}, {"ask", "deny", "allow",
		"defer"}} {
		var commands []string
		for _, decision := range order {
			commands = append(commands, say(decision))
		}
		out := b.fire(t, b.runner(t, on(hooks.PreToolUse, commands...)), hooks.PreToolUseInput{ToolName: "Bash",
			ToolInput: []byte("{}")})
		if out.Permission.Decision != "deny" || out.Decision != hooks.Block {
			t.Errorf("%v: %+v", order, out.Permission)
		}
	}
}

func TestAttack12AlwaysBlocks(t *testing.T) {
	t.Parallel()
	// The cap itself is the turn's; what a hook that always refuses needs from
	// here is that each run is a run of its own.
	b := newBench(t)
	r := b.runner(t, on(hooks.Stop, "echo never >&2; exit 2"))
	ids := map[string]bool{}
	for range 12 {
		out := b.fire(t, r, hooks.StopInput{StopHookActive: len(ids) > 0})
		if out.Decision != hooks.Block || !out.Continues() {
			t.Fatalf("decision %s", out.Decision)
		}
		ids[out.ToolUseID] = true
	}
	if len(ids) != 12 {
		t.Errorf("%d tool-use IDs for 12 runs", len(ids))
	}
}

func TestAttack13RewritesItsSettings(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := filepath.Join(b.dir, "settings.json")
	before := `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo '{}' >$REC_DIR/settings.json; exit 2"}]}]}}`
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	parsed, warnings := settingspkg.Parse(file, []byte(before))
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	r := b.runner(t, parsed.Hooks)
	for range 2 { // the second time the file says that there are no hooks
		if out := b.fire(t, r, hooks.StopInput{}); out.Decision != hooks.Block {
			t.Errorf("a hook got rid of itself: %+v", out)
		}
	}
	if after, err := os.ReadFile(file); err != nil || string(after) == before {
		t.Errorf("the file was not rewritten: %q, %v", after, err)
	}
}

func TestAttack14StoppedAtStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.runner(t, limitTo(0.3, on(hooks.Stop, "kill -STOP $$; exit 2")))
	returns(t, func() {
		if got := onlyResult(t, b.fire(t, r, hooks.StopInput{})).Outcome; got != hooks.Cancelled {
			t.Errorf("outcome %s", got)
		}
	})
}

func TestAttack15ManyAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const members, tasks, parallel = 50, 2, 4
	settings := on(hooks.Stop, ":")
	settings[hooks.TaskCompleted], settings[hooks.TeammateIdle] = on(hooks.TaskCompleted, ":")[hooks.TaskCompleted],
		on(hooks.TeammateIdle, ":")[hooks.TeammateIdle]
	var running, most atomic.Int64
	r := b.runnerWith(t, Options{Parallel: parallel, Spawned: func(int, Spawn) func() {
		n := running.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		return func() { running.Add(-1) }
	}}, settingspkg.Source{Name: "test", Settings: settings})

	var mu sync.Mutex
	ids := map[string]bool{}
	var wg sync.WaitGroup
	for m := range members {
		wg.Go(func() {
			payloads := []hooks.Payload{hooks.StopInput{}}
			for range tasks {
				payloads = append(payloads, hooks.TaskCompletedInput{TaskInput: hooks.TaskInput{TaskID: strconv.Itoa(m)}})
			}
			for _, payload := range append(payloads, hooks.TeammateIdleInput{}) {
				out, err := r.Run(context.Background(), b.input(payload), nil)
				if err != nil || out.Event != payload.Event() || out.Matched != 1 ||
					out.Results[0].Outcome != hooks.Success {
					t.Errorf("member %d: %+v, %v", m, out, err)
				}
				mu.Lock()
				ids[out.ToolUseID] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if want := members * (tasks + 2); len(ids) != want {
		t.Errorf("%d tool-use IDs for %d runs", len(ids), want)
	}
	if most.Load() > parallel {
		t.Errorf("%d hooks ran at once, want at most %d", most.Load(), parallel)
	}
}

func TestAttack16Recursion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.env = append(b.env, depthName+"="+strconv.Itoa(maxDepth))
	settings := on(hooks.Stop, "REC s '{}'")
	result := onlyResult(t, b.fire(t, b.runner(t, settings), hooks.StopInput{}))
	if result.Outcome != hooks.NonBlockingError || !strings.Contains(result.Warning, "deep") ||
		len(b.tags(t)) != 0 {
		t.Errorf("result %+v, called %q", result, b.tags(t))
	}
	settings[hooks.Stop][0].Hooks[0].Gate = true
	if out := b.fire(t, b.runner(t, settings), hooks.StopInput{}); out.Decision != hooks.Block {
		t.Errorf("a gate that is not run agrees: %+v", out)
	}
	b.env[len(b.env)-1] = depthName + "=1"
	out := b.fire(t, b.runner(t, on(hooks.Stop, "echo $"+depthName+" >&2; exit 2")), hooks.StopInput{})
	if !strings.HasSuffix(out.Feedback[0], ": 2") {
		t.Errorf("the depth is not counted on: %q", out.Feedback)
	}
}

// pidIn reads a pid that another process writes.
func pidIn(t *testing.T, file string) int {
	t.Helper()
	pid := 0
	eventually(t, file, func() bool {
		data, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(data)))
		return err == nil
	})
	return pid
}

// TestOutputBytes: a byte order mark before an answer is skipped, in whatever pieces it comes,
// and each bad byte is shown by itself (HOOKS.md section 12, point 8).
func TestOutputBytes(t *testing.T) {
	b := newBench(t)
	block := `{"decision":"block","reason":"no"}`
	long := `{"decision":"block","reason":"` + strings.Repeat("x", 2*defaultOutputCap) + `"}`
	if err := os.WriteFile(filepath.Join(b.dir, "long"), []byte("\uFEFF"+long), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string]string{
		"together": `printf '\357\273\277` + block + `'`,
		"long":     `cat ` + filepath.Join(b.dir, "long"),
	} {
		t.Run(name, func(t *testing.T) {
			if out := b.fire(t, b.runner(t, on(hooks.Stop, command)), hooks.StopInput{}); out.Decision != hooks.Block {
				t.Errorf("the block is lost: %+v", out)
			}
		})
	}
	out, _ := b.fireAll(t, b.runner(t, on(hooks.Stop, `printf '\357\273\277{"async":true}\n'`)), hooks.StopInput{})
	if out.Background != 1 {
		t.Errorf("in the background: %d", out.Background)
	}
	out = b.fire(t, b.runner(t, on(hooks.Stop, `printf 'a\377\376\303b' >&2; exit 2`)), hooks.StopInput{})
	if want := "a\uFFFD\uFFFD\uFFFDb"; !strings.HasSuffix(out.Feedback[0], want) {
		t.Errorf("feedback %q, want %q", out.Feedback[0], want)
	}
	pieces := answerCapture{capture{limit: 8}}
	for _, piece := range []string{"\xEF", "\xBB", "\xBF", " ", block} {
		if _, err := pieces.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.TrimSpace(pieces.text(answerCap)); got != block {
		t.Errorf("in pieces: %q", got)
	}
	c := capture{limit: 4}
	if _, err := c.Write([]byte("aé€")); err != nil || c.text(4) != "aé" || c.text(2) != "a" {
		t.Errorf("a character that was cut: %q, %q", c.text(4), c.text(2))
	}
}
