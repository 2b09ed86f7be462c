//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coveyteam/covey/teammate/workspace"
)

func TestBashAnswersAsTheRecordedHost(t *testing.T) {
	tests := []struct{ command, content, response string }{
		{
			"echo TOOLRAN", "TOOLRAN",
			`{"stdout":"TOOLRAN","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}`,
		},
		{
			"touch made_by_tool", "(Bash completed with no output)",
			`{"stdout":"","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":true}`,
		},
		{
			"echo '<a> & b' >&2; echo out", "out\n<a> & b",
			`{"stdout":"out","stderr":"<a> & b","interrupted":false,"isImage":false,"noOutputExpected":false}`,
		},
		{
			"touch zz; echo 3", "3",
			`{"stdout":"3","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}`,
		},
	}
	b := newBench(t, nil)
	for _, test := range tests {
		r := b.call(t.Context(), "Bash", fields{"command": test.command, "description": "d"})
		if r.Content != test.content || string(r.Response) != test.response || r.IsError {
			t.Errorf("%s\n got %q %s\nwant %q %s", test.command, r.Content, r.Response, test.content,
				test.response)
		}
	}
	got := b.fails("Bash", fields{"command": "echo out; echo err >&2; exit 3"})
	if got != "Exit code 3\nout\nerr" {
		t.Errorf("a failure reads %q", got)
	}
}

func TestBashResults(t *testing.T) {
	b := newBench(t, nil)
	tests := []struct{ name, command, want string }{
		{"false", "false", "Exit code 1"},
		{"a signal", "kill -9 $$", "Exit code 137"},
		{"a failing function", "f() { return 3; }; f", "Exit code 3"},
		{"exit takes the last status", "false; exit", "Exit code 1"},
		{"exit in a subshell", "(exit 4)", "Exit code 4"},
		{
			"an open quote", "echo 'x",
			"Exit code 2\n/bin/bash: eval: line 1: unexpected EOF while looking for matching `''",
		},
		{
			"an unknown command", "\n\nnosuchcommand",
			"Exit code 127\n/bin/bash: line 3: nosuchcommand: command not found",
		},
		{"traces show the command only", "set -x; true; exit 5", "Exit code 5\n++ true\n++ exit 5"},
		{"an EXIT trap", "trap 'echo bye' EXIT; echo hi; exit 2", "Exit code 2\nhi\nbye"},
		{"no terminal", "[ -t 0 ] || (: </dev/tty) 2>/dev/null || exit 9", "Exit code 9"},
		{"no input", "read x || exit 7", "Exit code 7"},
		{"invalid UTF-8", `printf 'a\377b'; exit 1`, "Exit code 1\na\uFFFDb"},
		{"quotes", `echo "it's" 'a "b"' \$x; exit 1`, "Exit code 1\nit's a \"b\" $x"},
		{"errexit", "set -eu; echo a; false; echo b", "Exit code 1\na"},
		{"exec", "exec sh -c 'exit 6'", "Exit code 6"},
		{"a heredoc", "cat <<'X'\n$HOME\nX\nexit 1", "Exit code 1\n$HOME"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := b.fails("Bash", fields{"command": test.command}); got != test.want {
				t.Errorf("got %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestTheDirectoryLastsHoweverACommandEnds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command, want string
		bash                bool // other shells stay where they were
	}{
		{"cd", "cd sub", "sub", false},
		{"a failure after it", "cd sub; false", "sub", false},
		{"exit", "cd sub; exit 3", "sub", false},
		{"exit with a trap of the command's own", "trap 'true' EXIT; cd sub; exit 3", "sub", true},
		{"an EXIT trap that goes elsewhere", "trap 'cd ..' EXIT; cd sub", "sub", false},
		{"set -e", "set -e; cd sub; false; cd ..", "sub", false},
		{"set -x", "set -x; cd sub", "sub", false},
		{"set -u", "set -u; cd sub; echo $nosuch", "sub", false},
		{"noclobber", "set -C; cd sub", "sub", false},
		{"a subshell's is its own", "(cd sub; exit 3)", "", false},
		{"a pipe's is its own", "cd sub | cat", "", false},
		{"one that was killed by TERM", "cd sub; kill $$; sleep 9", "sub", true},
		{"exec forgets it", "cd sub; exec true", "", false},
		{"a directory with odd signs", "cd sub/*odd*", "sub/an odd\n'dir", false},
		{"a redirected stdout", "exec >/dev/null 2>&1; cd sub", "sub", false},
		{"a syntax error after it", "cd sub; eval 'if'", "sub", false},
		{"a link stays in its workspace", "cd link", "sub", false},
	}
	for _, shell := range []string{"/bin/bash", "/bin/sh"} {
		for _, test := range tests {
			t.Run(filepath.Base(shell)+"/"+test.name, func(t *testing.T) {
				b := newBench(t, nil)
				b.tools.shell.path = shell
				b.write("sub/an odd\n'dir/x", "")
				if err := os.Symlink("sub", filepath.Join(b.root, "link")); err != nil {
					t.Fatal(err)
				}
				r := b.call(t.Context(), "Bash", fields{"command": test.command})
				want := filepath.Join(b.root, test.want)
				if test.bash && shell != "/bin/bash" {
					want = b.root
				}
				if b.wd.Dir() != want {
					t.Errorf("in %q, want %q; the result is %s", b.wd.Dir(), want, r.Content)
				}
				if left, _ := filepath.Glob(filepath.Join(b.tools.env.OutputDir, "*")); len(left) != 1 {
					t.Errorf("left behind: %v", left)
				}
			})
		}
	}
}

// What a command leaves in the file for its directory is not read whole, because covey would lack the memory.
func TestADirectoryThatIsTooLong(t *testing.T) {
	b := newBench(t, nil)
	b.write("sub/x", "")
	file := filepath.Join(b.tools.env.OutputDir, "cwd")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.call(t.Context(), "Bash", fields{"command": "truncate -s 1G '" + file + "'; kill -9 $$"})
	runtime.ReadMemStats(&after)
	if info, err := os.Stat(file); err != nil || info.Size() != 1<<30 {
		t.Errorf("the command has not left the file: %v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<28 || b.wd.Dir() != b.root {
		t.Errorf("in %s, with %d bytes of memory", b.wd.Dir(), took)
	}
}

func TestTheDirectoryStaysInTheWorkspace(t *testing.T) {
	b := newBench(t, nil)
	b.ok("Bash", fields{"command": "mkdir a && cd a"})
	want := "Shell cwd was reset to " + b.root
	b.shows("Bash", fields{"command": "cd /"}, want)
	if b.wd.Dir() != b.root {
		t.Errorf("in %s", b.wd.Dir())
	}
	if err := os.Symlink("/", filepath.Join(b.root, "out")); err != nil {
		t.Fatal(err)
	}
	b.refuses("Bash", fields{"command": "cd out; pwd; exit 1"}, "Exit code 1\n"+b.root+"/out\n"+want)
	if b.wd.Dir() != b.root {
		t.Errorf("through a link: in %s", b.wd.Dir())
	}
	// A folder whose name has the workspace's name as a prefix is not inside it.
	beside := b.root + "-beside"
	if err := os.Mkdir(beside, 0o755); err != nil {
		t.Fatal(err)
	}
	b.shows("Bash", fields{"command": "cd " + beside}, want)
	b.ok("Bash", fields{"command": "mkdir -p gone && cd gone"})
	if err := os.Remove(filepath.Join(b.root, "gone")); err != nil {
		t.Fatal(err)
	}
	got := b.ok("Bash", fields{"command": "pwd"})
	if !strings.HasPrefix(got, b.root+"\n") || !strings.Contains(got, "gone is not there any more") {
		t.Errorf("a directory that was removed: %q", got)
	}
	if err := os.RemoveAll(b.root); err != nil {
		t.Fatal(err)
	}
	b.refuses("Bash", fields{"command": "pwd"}, "the workspace")
}

func TestAWorkspaceThatIsALink(t *testing.T) {
	real := t.TempDir()
	link := filepath.Join(t.TempDir(), "ws")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, func(e *Env) { e.Workdir = workspace.NewWorkdir(link) })
	b.ok("Bash", fields{"command": "mkdir a && cd a && echo x > f"})
	if want := filepath.Join(link, "a"); b.wd.Dir() != want {
		t.Errorf("in %s, want %s", b.wd.Dir(), want)
	}
	b.shows("Read", fields{"file_path": filepath.Join(real, "a/f")}, "1\tx\n2\t")
	b.ok("Read", fields{"file_path": filepath.Join(link, "a/f")})
	b.ok("Write", fields{"file_path": "f", "content": "y"})
}

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	return !strings.HasPrefix(rest, " Z")
}

// waitDead waits until a killed process has ended.
func (b *bench) waitDead(pid int) {
	b.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); alive(pid) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // another's child: there is nothing else to wait for
	}
	if alive(pid) {
		b.t.Errorf("process %d lives on", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// pids reads the process ids that a command has written to a file.
func pids(t *testing.T, path string) []int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []int
	for _, word := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, pid)
	}
	return list
}

// family is a command of four processes, of which two leave the group.
const family = `sleep 300 & echo $! >>pids
setsid sh -c 'echo $$ >>pids; trap "" TERM; sleep 300; sleep 300' &
(setsid setsid sleep 300 & echo $! >>pids) &
trap '' TERM
echo started
touch ready
sleep 300; sleep 300`

func TestATimeoutKillsTheWholeTree(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(e *Env) { e.Grace = 50 * time.Millisecond })
	var got string
	limit := 700
	for ; ; limit *= 4 { // until it is enough for this machine to start the family
		begin := time.Now()
		got = b.fails("Bash", fields{"command": family, "timeout": limit})
		if took := time.Since(begin); took > 2*time.Minute { // the family sleeps for longer
			t.Errorf("took %v", took)
		}
		if _, err := os.Stat(filepath.Join(b.root, "ready")); err == nil || limit > 60_000 {
			break
		}
	}
	want := fmt.Sprintf("Exit code 137\nCommand timed out after %v", time.Duration(limit)*time.Millisecond)
	if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "\nstarted") {
		t.Errorf("result %q", got)
	}
	for _, pid := range pids(t, filepath.Join(b.root, "pids")) {
		if alive(pid) {
			t.Errorf("process %d lives on", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestAnInterruptKillsTheWholeTree(t *testing.T) {
	b := newBench(t, func(e *Env) { e.Grace = 50 * time.Millisecond })
	ctx, cancel := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(b.root, "ready")); err == nil {
				return
			}
			time.Sleep(5 * time.Millisecond) // a file is all that a process outside can tell us by
		}
	})
	r := b.call(ctx, "Bash", fields{"command": family})
	watch.Wait()
	if !r.IsError || !strings.HasPrefix(r.Content, "Interrupted") || !strings.HasSuffix(r.Content, "\nstarted") {
		t.Errorf("result %q", r.Content)
	}
	for _, pid := range pids(t, filepath.Join(b.root, "pids")) {
		if alive(pid) {
			t.Errorf("process %d lives on", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if r := b.call(ctx, "Bash", fields{"command": "touch never"}); !r.IsError || !strings.HasPrefix(r.Content, "Interrupted") {
		t.Errorf("after the end: %q", r.Content)
	}
	if _, err := os.Stat(filepath.Join(b.root, "never")); err == nil {
		t.Error("a command ran after the end of its context")
	}
}

func TestWhatACommandLeavesRunningEndsWithItsMember(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	known := map[int]int{}
	b := newBench(t, func(e *Env) {
		e.Started = func(pid int) func() {
			mu.Lock()
			defer mu.Unlock()
			known[pid]++
			return func() {
				mu.Lock()
				defer mu.Unlock()
				known[pid]--
			}
		}
	})
	got := b.ok("Bash", fields{"command": "sleep 300 & echo $! >pids; (setsid sleep 300 >/dev/null 2>&1 " +
		"& echo $! >>pids); echo ok"})
	left := pids(t, filepath.Join(b.root, "pids"))
	if !strings.HasPrefix(got, "ok\n(still running: process ") || len(left) != 2 || !alive(left[0]) || !alive(left[1]) {
		t.Fatalf("result %q, left %v", got, left)
	}
	b.ok("Bash", fields{"command": "true"})
	if !alive(left[0]) || !alive(left[1]) {
		t.Error("the next command has killed it")
	}
	if err := b.tools.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range left {
		b.waitDead(pid)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(known) < 3 {
		t.Errorf("the host heard of %d processes", len(known))
	}
	for pid, n := range known {
		if n != 0 {
			t.Errorf("process %d was not released", pid)
		}
	}
}

func TestLongOutputGoesToAFile(t *testing.T) {
	b := newBench(t, nil)
	r := b.call(t.Context(), "Bash", fields{"command": "seq 1 100000; seq 1 20000 >&2"})
	var out bashOutput
	if err := json.Unmarshal(r.Response, &out); err != nil {
		t.Fatal(err)
	}
	if n := len([]rune(r.Content)); n > outputChars+500 {
		t.Errorf("the model sees %d characters", n)
	}
	if !strings.HasPrefix(out.Stdout, "1\n2\n") || !strings.HasSuffix(out.Stdout, "\n100000") {
		t.Errorf("stdout begins %.20q and ends %q", out.Stdout, out.Stdout[len(out.Stdout)-20:])
	}
	whole, err := os.ReadFile(out.OutputPath)
	if err != nil || int64(len(whole)) != out.OutputSize || strings.Count(string(whole), "\n") != 100000 {
		t.Errorf("%s holds %d bytes of %d, %v", out.OutputPath, len(whole), out.OutputSize, err)
	}
	if !strings.Contains(out.Stdout, out.OutputPath) || !strings.HasSuffix(out.Stderr, "\n20000") {
		t.Errorf("stdout does not name its file, or stderr has no end: %q", out.Stderr)
	}
	if info, err := os.Stat(b.tools.env.OutputDir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info, err)
	}
}

func TestTheEnvironmentIsTheOneGiven(t *testing.T) {
	t.Setenv("COVEY_SECRET", "leaked")
	envFile := filepath.Join(t.TempDir(), "it's env")
	b := newBench(t, func(e *Env) { e.EnvFile = envFile; e.Environ = append(e.Environ, "FOO=bar") })
	b.shows("Bash", fields{"command": "echo $FOO-$COVEY_SECRET-$RIGVAR"}, "bar--")
	if err := os.WriteFile(envFile, []byte("export RIGVAR=from_ss\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.shows("Bash", fields{"command": `echo "RIGVAR=$RIGVAR"`}, "RIGVAR=from_ss")
	first := b.ok("Bash", fields{"command": "echo $COVEY_CALL"})
	if second := b.ok("Bash", fields{"command": "echo $COVEY_CALL"}); first == second || first == "" {
		t.Errorf("two commands have the marker %q", first)
	}
}

func TestAVeryLongCommand(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	text := strings.Repeat("0123456789abcde\n", 700_000) // 10 MiB, as a here document
	got := b.ok("Bash", fields{"command": "cd /; cat <<'X' | wc -c\n" + text + "X\ncd - >/dev/null"})
	if got != fmt.Sprint(len(text)) {
		t.Errorf("got %q", got)
	}
}

func TestBashRefusesWhatNoShellCanDo(t *testing.T) {
	b := newBench(t, nil)
	for want, in := range map[string]fields{
		"command is empty":              {"command": " \n"},
		"zero byte":                     {"command": "a\x00b"},
		"milliseconds":                  {"command": "true", "timeout": -1},
		`field "command" is missing`:    {"description": "x"},
		`unknown field "cmd"`:           {"command": "true", "cmd": "x"},
		`unknown field "Command"`:       {"command": "true", "Command": "rm"},
		`"timeout" must be a whole num`: {"command": "true", "timeout": "5"},
		`true or false, not a string`:   {"command": "true", "run_in_background": "yes"},
	} {
		b.refuses("Bash", in, want)
	}
	b.tools.shell.path = "/nonexistent/sh"
	b.refuses("Bash", fields{"command": "true"}, "could not be started")
}

func TestTimeoutsHaveAMaximum(t *testing.T) {
	tools := New(Env{Workdir: workspace.NewWorkdir("/")})
	for ms, want := range map[int64]time.Duration{
		0: 2 * time.Minute, 5: 5 * time.Millisecond, 600_000: 10 * time.Minute, 600_001: 10 * time.Minute,
		1 << 62: 10 * time.Minute,
	} {
		if got := tools.env.timeout(bashInput{Timeout: ms}); got != want {
			t.Errorf("%d ms: %v", ms, got)
		}
	}
}

func TestExpectsNoOutput(t *testing.T) {
	for command, want := range map[string]bool{
		"touch a": true, "mkdir -p a && cd a": true, "rm a; ls": false, "": false, "echo a": false, "cp a b | cat": false,
		"touch a\nmv a b\n": true,
	} {
		if got := expectsNoOutput(command); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
}
