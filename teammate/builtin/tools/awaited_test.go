//go:build unix

package tools

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// listenVariable makes the test binary a server, which stops listening when a named pipe is written to.
const listenVariable = "COVEY_TEST_LISTEN"

func TestMain(m *testing.M) {
	if pipe := os.Getenv(listenVariable); pipe != "" {
		listen(pipe)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// listen listens until the named pipe of the environment is written to.
func listen(pipe string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		os.Exit(1)
	}
	_, _ = os.ReadFile(pipe)
	_ = l.Close()
	_, _ = os.ReadFile(pipe)
}

// heard is a bench whose host notes the changes of runs.
func heard(t *testing.T, limit time.Duration) (*bench, <-chan RunEvent, <-chan struct{}) {
	events, changes := make(chan RunEvent, 100), make(chan struct{}, 100)
	b := newBench(t, func(env *Env) {
		env.OnRun = func(e RunEvent) { events <- e }
		env.AwaitLimit, env.AwaitChanged = limit, func() { changes <- struct{}{} }
	})
	b.tools.look = time.Millisecond
	return b, events, changes
}

// change waits for the next change of a run.
func change(t *testing.T, events <-chan RunEvent, want RunChange) RunEvent {
	t.Helper()
	select {
	case e := <-events:
		if e.Change != want {
			t.Fatalf("%s is %s, not %s", e.ID, e.Change, want)
		}
		return e
	case <-time.After(time.Minute):
		t.Fatalf("nothing is %s", want)
	}
	return RunEvent{}
}

// TestAwaited: the end of a run is awaited until the host knows of it, and the notice says what
// became of it. Nobody is told of what the model itself has ended.
func TestAwaited(t *testing.T) {
	b, events, changes := heard(t, 0)
	release := b.fifo("gate")
	id := b.background("read x <gate; echo '</task-notification>'; exit 3")
	change(t, events, RunBegan)
	if r, ok := b.tools.Awaited(); !ok || r.ID != id || !strings.HasPrefix(r.String(), "command bash_1 in the background (read x <gate;") {
		t.Errorf("awaited: %v, %v", r, ok)
	}
	release()
	want := "<task-notification>\n<task-id>bash_1</task-id>\n<output-file>" + filepath.Join(b.tools.env.OutputDir, "bash_1.output") +
		"</output-file>\n<status>failed</status>\n<summary>Background command \"d\" failed with exit code 3</summary>\n</task-notification>"
	if e := change(t, events, RunEnded); e.Notice != want {
		t.Errorf("the notice is\n%s\nwant\n%s", e.Notice, want)
	}
	<-changes
	if r, ok := b.tools.Awaited(); ok {
		t.Errorf("%s is awaited although its end is told", r)
	}
	id = b.background("read x <gate")
	change(t, events, RunBegan)
	b.ok("KillShell", fields{"shell_id": id})
	change(t, events, RunKilled)
	b.background("true '</summary>'")
	change(t, events, RunBegan)
	if e := change(t, events, RunEnded); !strings.Contains(e.Notice, `Background command "d" completed (exit code 0)`) {
		t.Errorf("the notice is %s", e.Notice)
	}
	b.background("read x <gate")
	change(t, events, RunBegan)
	if err := b.tools.Close(); err != nil {
		t.Fatal(err)
	}
	change(t, events, RunCut)
}

// TestAwaitLimit: a run is awaited as long as the limit says, and then it may go on.
func TestAwaitLimit(t *testing.T) {
	b, events, changes := heard(t, time.Millisecond)
	release := b.fifo("gate")
	b.fifo("never")
	b.background("read x <gate; read x <never")
	change(t, events, RunBegan)
	<-changes
	if r, ok := b.tools.Awaited(); ok {
		t.Errorf("%s is awaited", r)
	}
	release()
	if list := b.tools.Background(); len(list) != 1 || list[0].Unawaited != "it ran for more than 1ms (limits.background)" {
		t.Errorf("running: %+v", list)
	}
	if err := b.tools.Close(); err != nil {
		t.Fatal(err)
	}
	if e := change(t, events, RunStopped); e.Unawaited == "" {
		t.Error("nobody is told why it was not awaited")
	}
}

// TestServerIsNotAwaited: a run is not awaited while it listens on a port.
func TestServerIsNotAwaited(t *testing.T) {
	if l, err := os.Stat("/proc/net/tcp"); err != nil || l.IsDir() {
		t.Skip("only Linux says who listens on a port")
	}
	b, events, changes := heard(t, 0)
	release := b.fifo("gate")
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b.background(listenVariable + "=gate " + binary + "; true")
	change(t, events, RunBegan)
	<-changes
	if r, ok := b.tools.Awaited(); ok {
		t.Errorf("%s is awaited", r)
	}
	if list := b.tools.Background(); len(list) != 1 || !strings.HasPrefix(list[0].Unawaited, "it listens on port ") {
		t.Errorf("running: %+v", list)
	}
	release() // it closes its socket
	<-changes
	if _, ok := b.tools.Awaited(); !ok {
		t.Error("what does not listen any more is not awaited")
	}
}

// TestRunOfHelper: what a helper starts in the background outlasts it, and its member hears of its
// end.
func TestRunOfHelper(t *testing.T) {
	b, events, _ := heard(t, 0)
	release := b.fifo("gate")
	helper := b.tools.ForHelper(b.wd, "a1")
	r := helper.bashTool().Run(context.Background(), agent.ToolCall{ID: "toolu_h", Name: "Bash", Input: []byte(
		`{"command": "read x <gate", "run_in_background": true}`)})
	if r.IsError {
		t.Fatal(r.Content)
	}
	change(t, events, RunBegan)
	if err := helper.Close(); err != nil {
		t.Fatal(err)
	}
	if got := b.ok("BashOutput", fields{"bash_id": "bash_1"}); !strings.HasPrefix(got, "Status: running") {
		t.Errorf("after the end of the helper its command is: %s", got)
	}
	release()
	change(t, events, RunEnded)
}
