//go:build unix

package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// background starts a command and returns its id.
func (b *bench) background(command string) string {
	b.t.Helper()
	r := b.call(b.t.Context(), "Bash",
		fields{"command": command, "description": "d", "run_in_background": true})
	var out bashOutput
	if err := json.Unmarshal(r.Response, &out); err != nil || out.BackgroundTaskID == "" {
		b.t.Fatalf("not started: %s", r.Content)
	}
	return out.BackgroundTaskID
}

// ended waits for the end of a background run.
func (b *bench) ended(id string) {
	b.t.Helper()
	r, err := b.tools.find(id)
	if err != nil {
		b.t.Fatal(err)
	}
	select {
	case <-r.ended:
	case <-time.After(time.Minute):
		b.t.Fatalf("%s does not end", id)
	}
}

// fifo makes a named pipe that blocks a command until the test releases it.
func (b *bench) fifo(name string) (release func()) {
	b.t.Helper()
	b.ok("Bash", fields{"command": "mkfifo " + name})
	return func() { b.ok("Bash", fields{"command": "echo go >" + name}) }
}

func TestABackgroundRun(t *testing.T) {
	b := newBench(t, nil)
	release := b.fifo("gate")
	b.ok("Bash", fields{"command": "mkdir sub && cd sub"})
	id := b.background("cd ..; echo one; printf 'half '; echo err >&2; read x <gate; echo line; echo " +
		"last; exit 3")
	if id != "bash_1" {
		t.Errorf("the first run is %s", id)
	}
	list := b.tools.Background()
	if len(list) != 1 || list[0].ID != id || list[0].Description != "d" || list[0].Started.IsZero() {
		t.Errorf("running: %+v", list)
	}
	var seen string
	for deadline := time.Now().Add(time.Minute); !strings.Contains(seen, "err") &&
		time.Now().Before(deadline); {
		got := b.ok("BashOutput", fields{"bash_id": id})
		if !strings.HasPrefix(got, "Status: running\n") {
			t.Fatalf("got %q", got)
		}
		seen += strings.TrimPrefix(strings.TrimPrefix(got, "Status: running\n"), "(no new output)") + "\n"
	}
	if strings.Join(strings.Fields(seen), " ") != "one half err" {
		t.Errorf("so far: %q", seen)
	}
	if b.wd.Dir() != filepath.Join(b.root, "sub") {
		t.Errorf("a background run has moved the member to %s", b.wd.Dir())
	}
	b.ok("Bash", fields{"command": "cd .."})
	release()
	b.ended(id)
	got := b.call(t.Context(), "BashOutput", fields{"bash_id": id, "filter": "^l.*t$"})
	want := `{"shellId":"bash_1","command":"cd ..; echo one; printf 'half '; echo err >&2; read x <gate; echo line; echo last; exit 3",` +
		`"status":"failed","exitCode":3,"stdout":"last","stderr":""}`
	if got.Content != "Status: failed, exit code 3\nlast" || string(got.Response) != want {
		t.Errorf("got %q\n%s\nwant\n%s", got.Content, got.Response, want)
	}
	b.shows("BashOutput", fields{"bash_id": id}, "Status: failed, exit code 3\n(no new output)")
	if len(b.tools.Background()) != 0 {
		t.Error("it still counts as running")
	}
	b.shows("KillShell", fields{"shell_id": id}, "bash_1 is failed")
}

func TestKillShellEndsTheWholeTree(t *testing.T) {
	b := newBench(t, func(e *Env) { e.Grace = 50 * time.Millisecond })
	release := b.fifo("began")
	id := b.background(strings.Replace(family, "touch ready", "read x <began", 1))
	release()
	b.shows("KillShell", fields{"shell_id": id}, "bash_1 is killed")
	for _, pid := range pids(t, filepath.Join(b.root, "pids")) {
		if alive(pid) {
			t.Errorf("process %d lives on", pid)
		}
	}
	got := b.ok("BashOutput", fields{"bash_id": id})
	if !strings.HasPrefix(got, "Status: killed, exit code 137\n") {
		t.Errorf("got %q", got)
	}
}

func TestCloseEndsBackgroundRunsAndStartsNoMore(t *testing.T) {
	b := newBench(t, nil)
	for range 3 {
		b.background("sleep 300")
	}
	for range 2 {
		if err := b.tools.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(b.tools.Background()); n != 0 {
		t.Errorf("%d still run", n)
	}
	b.refuses("Bash", fields{"command": "true", "run_in_background": true}, "being stopped")
}

func TestCloseBeforeAnythingRan(t *testing.T) {
	tools := newBench(t, nil).tools
	if err := tools.Close(); err != nil {
		t.Error(err)
	}
}

func TestIDsGoOnAfterARestart(t *testing.T) {
	b := newBench(t, nil)
	b.ended(b.background("true"))
	b.ended(b.background("true"))
	env := b.tools.env
	again := newBench(t, func(e *Env) { *e = env })
	if id := again.background("true"); id != "bash_3" {
		t.Errorf("after a restart the next run is %s", id)
	}
	again.refuses("BashOutput", fields{"bash_id": "bash_1"}, "there are bash_3")
}

func TestTooManyBackgroundRuns(t *testing.T) {
	b := newBench(t, nil)
	for range maxRuns {
		b.background("exec sleep 300")
	}
	b.refuses("Bash", fields{"command": "true", "run_in_background": true}, "KillShell first")
}

func TestAFloodOfBackgroundOutput(t *testing.T) {
	b := newBench(t, nil)
	id := b.background("seq 1 2000000")
	b.ended(id)
	got := b.ok("BashOutput", fields{"bash_id": id})
	if len(got) > outputChars+500 || !strings.HasSuffix(got, "\n2000000") ||
		!strings.Contains(got, "bytes before this are in") {
		t.Errorf("%d bytes, beginning with %.200q", len(got), got)
	}
}

func TestTheOutputOfARunIsBounded(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "o"))
	if err != nil {
		t.Fatal(err)
	}
	out := &runFile{path: f.Name(), file: f, kept: spoolFile - 3}
	for range 2 {
		if n, err := out.Write([]byte("12345")); n != 5 || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
	}
	out.close()
	if _, err := out.Write([]byte("late")); err != nil {
		t.Errorf("late: %v", err)
	}
	if data, _ := os.ReadFile(f.Name()); string(data) != "123" {
		t.Errorf("kept %q", data)
	}
}

func TestBackgroundToolsRefuseUnknownRuns(t *testing.T) {
	b := newBench(t, nil)
	for _, test := range []struct{ tool, field string }{{"BashOutput", "bash_id"},
		{"KillShell", "shell_id"}} {
		b.refuses(test.tool, fields{test.field: "x"}, `no background command "x", nor any other`)
	}
	id := b.background("true")
	b.refuses("BashOutput", fields{"bash_id": id, "filter": "("}, "no regular expression")
	b.tools.env.OutputDir = "/proc/nowhere"
	b.refuses("Bash", fields{"command": "true", "run_in_background": true}, "outputs")
}

func TestSpool(t *testing.T) {
	long := strings.Repeat("ü", 300_000)
	tests := []struct {
		name   string
		writes []string
		limit  int
		want   string // %s: the file
	}{
		{"nothing", nil, 10, ""},
		{"short", []string{"ab", "c\n\n"}, 10, "abc"},
		{"just fitting", []string{"üüüüü\n"}, 5, "üüüüü"},
		{
			"too many characters", []string{"0123456789"}, 4,
			"01\n… (the output has 10 bytes; all of it is in %s) …\n89",
		},
		{
			"beyond the memory", []string{long, "end\n"}, 8,
			"üüüü\n… (the output has 600004 bytes; all of it is in %s) …\nend",
		},
		{"in pieces", strings.SplitAfter(strings.Repeat("0123456789\n", 40_000), "\n"), 6,
			"012\n… (the output has 440000 bytes; all of it is in %s) …\n89"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := &spool{dir: t.TempDir(), name: "stdout"}
			for _, w := range test.writes {
				if n, err := s.Write([]byte(w)); n != len(w) || err != nil {
					t.Fatalf("wrote %d, %v", n, err)
				}
			}
			got, path := s.text(test.limit)
			want := test.want
			if path != "" {
				want = fmt.Sprintf(want, path)
				if data, err := os.ReadFile(path); string(data) != strings.Join(test.writes, "") {
					t.Errorf("the file holds %d bytes, %v", len(data), err)
				}
			}
			if got != want {
				t.Errorf("got %q\nwant %q", got, want)
			}
		})
	}
}

func TestSpoolWithoutRoom(t *testing.T) {
	s := &spool{dir: filepath.Join(t.TempDir(), "none"), name: "stdout"}
	for range 5 {
		if n, err := s.Write(make([]byte, spoolMemory)); n != spoolMemory || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
	}
	s.Write([]byte("the end"))
	got, path := s.text(20)
	if path != "" || !strings.Contains(got, "could not be kept: no such file") ||
		!strings.HasSuffix(got, "the end") {
		t.Errorf("%q in %q", got, path)
	}
	full := &spool{dir: t.TempDir(), name: "stdout"}
	full.spill()
	full.kept, full.size = spoolFile-2, spoolFile-2
	full.Write([]byte("12345"))
	if got, _ := full.text(2); !strings.Contains(got, "; the first 67108864 are in") {
		t.Errorf("a full file: %q", got)
	}
}
