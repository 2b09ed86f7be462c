//go:build unix

package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks"
	settingspkg "github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/testkit"
)

// The test binary plays the programs that hooks run: REC as the recordings have
// it, and children that misbehave.
func TestMain(m *testing.M) {
	switch os.Getenv("HOOKS_TEST_AS") {
	case "rec":
		os.Exit(rec(os.Args[1], os.Args[2]))
	case "daemon":
		os.Exit(daemon())
	}
	testkit.Begin(0)
	if err := makePrograms(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

// programs is the folder that REC and DAEMON are in. They are written before any
// test runs: a program that was open for writing when some other test forked
// cannot be started for a while.
var programs string

// makePrograms makes them shell scripts, as recorded hooks are, so that a command
// line means the same here and there.
func makePrograms() (err error) {
	if programs, err = os.MkdirTemp("", "hooks"); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for name, as := range map[string]string{"REC": "rec", "DAEMON": "daemon"} {
		script := fmt.Sprintf("#!/bin/sh\nHOOKS_TEST_AS=%s GORACE=atexit_sleep_ms=0 exec '%s' \"$@\"\n", as, self)
		if err := os.WriteFile(filepath.Join(programs, name), []byte(script), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// recSpec is what REC does in one call.
type recSpec struct {
	Sleep      float64         `json:"sleep"`
	PreStdout  string          `json:"pre_stdout"`
	Stdout     json.RawMessage `json:"stdout"`
	Stderr     string          `json:"stderr"`
	BigStdout  int             `json:"big_stdout"`
	BigStderr  int             `json:"big_stderr"`
	Exit       int             `json:"exit"`
	Seq        []recSpec       `json:"seq"`
	RepeatLast bool            `json:"repeat_last"`
}

// rec records its stdin under tag and does what spec says. Calls are counted by
// files that can be made only once, as hooks run side by side.
func rec(tag, spec string) int {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 99
	}
	n := 0
	for ; ; n++ {
		name := filepath.Join(os.Getenv("REC_DIR"), fmt.Sprintf("%x.%d", tag, n))
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			continue
		}
		_, _ = f.Write(input)
		_ = f.Close()
		break
	}
	var do recSpec
	if err := json.Unmarshal([]byte(spec), &do); err != nil {
		fmt.Fprintln(os.Stderr, "REC:", err)
		return 98
	}
	if do.Seq != nil {
		switch {
		case n < len(do.Seq):
			do = do.Seq[n]
		case do.RepeatLast:
			do = do.Seq[len(do.Seq)-1]
		default:
			do = recSpec{}
		}
	}
	return do.perform()
}

// perform does what one call is to do.
func (do recSpec) perform() int {
	fmt.Print(do.PreStdout)
	time.Sleep(time.Duration(do.Sleep * float64(time.Second)))
	var text string
	if json.Unmarshal(do.Stdout, &text) != nil {
		text = string(do.Stdout)
	}
	fmt.Print(text, strings.Repeat("O", do.BigStdout))
	fmt.Fprint(os.Stderr, do.Stderr, strings.Repeat("E", do.BigStderr))
	return do.Exit
}

// daemon leaves the session as daemons do, says its pid, and stays.
func daemon() int {
	if os.Getenv("HOOKS_TEST_STAGE") == "" {
		child, err := os.StartProcess("/proc/self/exe", os.Args, &os.ProcAttr{
			Env:   append(os.Environ(), "HOOKS_TEST_STAGE=2"),
			Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
		if err != nil {
			return 1
		}
		_ = child.Release()
		return 0
	}
	_ = os.WriteFile(os.Getenv("REC_DIR")+"/daemon.pid", fmt.Appendf(nil, "%d", os.Getpid()), 0o600)
	time.Sleep(time.Minute)
	return 0
}

// bench is a place to run hooks in: a folder for REC's notes and REC on PATH.
type bench struct {
	dir string // notes of REC
	cwd string
	env []string
}

// newBench makes a place of its own for one test.
func newBench(tb testing.TB) *bench {
	tb.Helper()
	b := &bench{dir: tb.TempDir(), cwd: tb.TempDir()}
	b.env = []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "HOME=" + b.cwd, "REC_DIR=" + b.dir}
	return b
}

// runner makes a Runner for one source.
func (b *bench) runner(tb testing.TB, settings hooks.Settings) *Runner {
	tb.Helper()
	return b.runnerWith(tb, Options{}, settingspkg.Source{Name: "test", Settings: settings})
}

// runnerWith makes a Runner with options; the environment is the bench's.
func (b *bench) runnerWith(tb testing.TB, opts Options, sources ...settingspkg.Source) *Runner {
	tb.Helper()
	opts.Env = append(opts.Env, b.env...)
	if opts.ProjectDir == "" {
		opts.ProjectDir = b.cwd
	}
	r, err := New(sources, &opts)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// fire runs an event and fails the test if that fails.
func (b *bench) fire(tb testing.TB, r *Runner, payload hooks.Payload) hooks.Outcome {
	tb.Helper()
	out, err := r.Run(tb.Context(), b.input(payload), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// input is the payload with common fields.
func (b *bench) input(payload hooks.Payload) hooks.Input {
	return hooks.Input{Payload: payload, Common: hooks.Common{SessionID: "11111111-1111-4111-8111-111111111111",
		TranscriptPath: "/transcripts/s.jsonl", Cwd: b.cwd, PermissionMode: "default"}}
}

// recorded is what REC read in its n-th call under tag.
func (b *bench) recorded(tb testing.TB, tag string, n int) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, fmt.Sprintf("%x.%d", tag, n)))
	if err != nil {
		tb.Fatalf("REC %s was not called %d times: %v", tag, n+1, err)
	}
	return bytes.Clone(data)
}

// tags lists who called REC.
func (b *bench) tags(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(b.dir, "*.0"))
	if err != nil {
		tb.Fatal(err)
	}
	var tags []string
	for _, file := range files {
		var tag []byte
		if _, err := fmt.Sscanf(strings.TrimSuffix(filepath.Base(file), ".0"), "%x", &tag); err == nil {
			tags = append(tags, string(tag))
		}
	}
	return tags
}

// TestPluginIsNamed: a model reads which plugin a hook comes from, and where its script is (HOOKS.md
// section 12, point 3). Results keep the configured command, by which hooks are counted.
func TestPluginIsNamed(t *testing.T) {
	b := newBench(t)
	command := "echo no >&2; exit 2 # ${CLAUDE_PLUGIN_ROOT}/stop.sh ${CLAUDE_PROJECT_DIR}"
	source := settingspkg.Source{Name: "ralph", Root: b.dir, Settings: on(hooks.Stop, command)}
	out := b.fire(t, b.runnerWith(t, Options{}, source), hooks.StopInput{})
	shown := strings.Replace(command, "${CLAUDE_PLUGIN_ROOT}", b.dir, 1)
	if want := "Stop hook feedback:\n[" + shown + "]: no"; !slices.Equal(out.Feedback, []string{want}) ||
		!slices.Equal(out.Messages, []string{hooks.Framed("ralph", want)}) || !strings.Contains(out.Messages[0], "the plugin ralph.") {
		t.Errorf("feedback %q, messages %q", out.Feedback, out.Messages)
	}
	if out.Results[0].Command != command {
		t.Errorf("command %q", out.Results[0].Command)
	}
	source.Settings = on(hooks.Stop, "echo '{\"decision\":\"block\"}' # ${CLAUDE_PLUGIN_ROOT}")
	if out = b.fire(t, b.runnerWith(t, Options{}, source), hooks.StopInput{}); !strings.Contains(out.Messages[0], "# "+b.dir) {
		t.Errorf("the reminder: %q", out.Messages[0])
	}
}
