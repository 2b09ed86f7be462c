package tasks

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/mail"
	"github.com/coveyteam/covey/tasks/store"
)

// kills is how often TestKill kills its child; a night's worth is 1000.
var kills = flag.Int("kills", 4, "how often TestKill kills a process that writes to the store")

const (
	childEnv = "COVEY_TASKS_TEST_CHILD" // what this binary does instead of running tests
	pathEnv  = "COVEY_TASKS_TEST_PATH"
)

// TestMain lets the test binary play the process that is killed, or whose disk
// is full.
func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		testkit.Begin(15)
		os.Exit(m.Run())
	case "load":
		exitWith(loadChild(os.Getenv(pathEnv)))
	case "overwritten":
		exitWith(overwrittenChild(os.Getenv(pathEnv)))
	case "history":
		exitWith(historyChild(os.Getenv(pathEnv)))
	case "host":
		exitWith(hostChild(os.Getenv(pathEnv)))
	case "requests":
		exitWith(requestChild(os.Getenv(pathEnv)))
	case "full disk":
		exitWith(fullDiskChild(os.Getenv(pathEnv)))
	case "file limit":
		exitWith(fileLimitChild(os.Getenv(pathEnv)))
	}
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child runs this binary in another role.
func child(ctx context.Context, role, path string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+role, pathEnv+"="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestKill kills a process that changes a store as fast as it can, again and
// again, and looks each time whether all it acknowledged is there.
func TestKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tasks.db")
	var acks []string
	for range *kills {
		acks = append(acks, loadAndKill(t, path)...)
		s, err := Open(path, nil)
		ok(t, s, err)
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
		finishCalls(t, s, acks)
		for _, fault := range verify(acks, stateOf(t, s)) {
			t.Error(fault)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			break
		}
	}
	if len(acks) < 20**kills {
		t.Errorf("only %d lines in %d rounds: that proves little", len(acks), *kills)
	}
	t.Logf("%d lines in %d rounds", len(acks), *kills)
}

// loadAndKill runs a child until a random moment and gives its whole lines.
func loadAndKill(t *testing.T, path string) []string {
	t.Helper()
	// At least so many lines, counted because a slow machine writes few in a fixed time.
	return killChild(t, "load", path, 20+rand.IntN(200), time.Duration(rand.IntN(10))*time.Millisecond)
}

// killChild runs a child in a role, kills it some time after its nth line, and gives its
// whole lines.
func killChild(t *testing.T, role, path string, nth int, after time.Duration) []string {
	t.Helper()
	cmd := child(t.Context(), role, path)
	out, err := cmd.StdoutPipe()
	ok(t, out, err)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break // what follows the last newline was cut off
		}
		if lines = append(lines, strings.TrimSuffix(line, "\n")); len(lines) == nth {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child was not killed: %v", err)
	}
	return lines
}

// loadChild changes the store until it is killed. It writes what it is going
// to add ("try"), and a line for each change once that is acknowledged.
func loadChild(path string) error {
	s, err := Open(path, nil)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for w := range cap(errs) {
		wg.Go(func() { errs <- (&loader{s: s, name: fmt.Sprint("w", w)}).run(context.Background()) })
	}
	wg.Wait()
	return <-errs
}

type loader struct {
	s    *Store
	name string
}

// say writes a line in one write, so that lines of several goroutines do not mix.
func (l *loader) say(words ...any) {
	fmt.Print(strings.TrimSuffix(fmt.Sprintln(words...), "\n") + "\n")
}

func (l *loader) run(ctx context.Context) error {
	for i := 0; ; i++ {
		key := fmt.Sprintf("%s-%d-%d", l.name, os.Getpid(), i)
		for _, step := range []func(context.Context, string) error{l.add, l.work, l.mail} {
			if err := step(ctx, key); err != nil {
				return err
			}
		}
	}
}

// newTask is what a loader adds under a key; some have a long description.
func newTask(key string) New {
	n := New{Subject: key}
	if strings.HasSuffix(key, "3") {
		n.Description = strings.Repeat(key, store.InlineLimit/len(key)+1)
	}
	return n
}

func (l *loader) add(ctx context.Context, key string) error {
	l.say("try", key)
	list, err := l.s.Add(ctx, actors.Actor{Name: l.name, CallID: key}, []New{newTask(key)})
	if err != nil {
		return err
	}
	l.say("add", list[0].ID, key)
	return nil
}

func (l *loader) work(ctx context.Context, key string) error {
	ready, err := l.s.Ready(ctx)
	if err != nil {
		return err
	}
	for _, task := range ready {
		task, err := l.s.Claim(ctx, as(l.name), task.ID, Claim{Max: 1})
		if errors.Is(err, ErrOwned) || errors.Is(err, ErrDone) {
			continue
		}
		if errors.Is(err, ErrBusy) { // in progress since before the last kill
			_, err = l.s.Release(ctx, actors.Actor{}, l.name, "")
			return err
		}
		if err != nil {
			return err
		}
		l.say("claim", task.ID, l.name, task.Epoch)
		done := Patch{Status: ptr(Completed), Epoch: task.Epoch}
		if _, _, err := l.s.Update(ctx, as(l.name), task.ID, done); err != nil {
			return err
		}
		l.say("done", task.ID)
		return nil
	}
	return nil
}

func (l *loader) mail(ctx context.Context, key string) error {
	sent, err := l.s.mail.Send(ctx, as(l.name), mail.Outgoing{To: []string{"reader"}, Text: key})
	if err != nil {
		return err
	}
	l.say("send", sent[0].ID, key)
	if !strings.HasSuffix(key, "0") {
		return nil
	}
	if err := l.s.mail.Deliver(ctx, as("reader"), []string{sent[0].ID}); err != nil {
		return err
	}
	l.say("read", sent[0].ID)
	return nil
}

// finishCalls repeats the calls whose answer was cut off, as a resumed member does.
func finishCalls(t *testing.T, s *Store, acks []string) {
	t.Helper()
	answered := map[string]bool{}
	for _, line := range acks {
		if f := strings.Fields(line); f[0] == "add" {
			answered[f[2]] = true
		}
	}
	for _, line := range acks {
		f := strings.Fields(line)
		if f[0] != "try" || answered[f[1]] {
			continue
		}
		name, _, _ := strings.Cut(f[1], "-")
		_, err := s.Add(t.Context(), actors.Actor{Name: name, CallID: f[1]}, []New{newTask(f[1])})
		ok(t, 0, err)
	}
}

// state is what verify compares with.
type state struct {
	tasks  []Task
	unread []mail.Message
	events []Change
}

func stateOf(t *testing.T, s *Store) state {
	t.Helper()
	var st state
	var err error
	if st.tasks, err = s.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st.unread, err = s.mail.Unread(t.Context(), "reader"); err != nil {
		t.Fatal(err)
	}
	for after := uint64(0); ; {
		list, err := s.outbox.Events(t.Context(), after, 0)
		if len(ok(t, list, err)) == 0 {
			return st
		}
		for _, e := range list {
			if c, ok := e.Data.(Change); ok {
				st.events = append(st.events, c)
			}
		}
		after = list[len(list)-1].ID
	}
}

// verify gives what was acknowledged and is not so.
func verify(acks []string, st state) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	tasks, subjects := map[string]Task{}, map[string]int{}
	for _, task := range st.tasks {
		tasks[task.ID] = task
		subjects[task.Subject]++
		if task.Description != newTask(task.Subject).Description {
			fault("task %s has another description", task.ID)
		}
	}
	unread := map[string]int{}
	for _, m := range st.unread {
		unread[m.ID]++
	}
	claims := map[string]string{} // task and epoch -> owner
	for _, c := range st.events {
		if c.Op == Claimed {
			key := c.Task.ID + "@" + strconv.FormatUint(c.Task.Epoch, 10)
			if claims[key] != "" {
				fault("two claims of %s in the outbox", key)
			}
			claims[key] = c.Task.Owner
		}
	}
	for i, line := range acks {
		f := strings.Fields(line)
		switch f[0] {
		case "try":
			if n := subjects[f[1]]; n != 1 {
				fault("%d tasks for call %s", n, f[1])
			}
		case "add":
			if tasks[f[1]].Subject != f[2] {
				fault("lost: %s", line)
			}
		case "claim":
			if claims[f[1]+"@"+f[3]] != f[2] {
				fault("lost or double: %s, the outbox says %q", line, claims[f[1]+"@"+f[3]])
			}
		case "done":
			if tasks[f[1]].Status != Completed {
				fault("lost: %s", line)
			}
		case "send":
			want := 1
			if slices.Contains(acks[i:], "read "+f[1]) {
				want = 0
			}
			if n := unread[f[1]]; n != want && !strings.HasSuffix(f[2], "0") {
				fault("%s: unread %d times, want %d", line, n, want)
			}
		case "read":
			if unread[f[1]] != 0 {
				fault("shown again: %s", line)
			}
		default:
			fault("what is %q?", line)
		}
	}
	return faults
}

// TestVerifySees is the control of TestKill: forged lines are found out.
func TestVerifySees(t *testing.T) {
	st := state{
		tasks:  []Task{{ID: "1", Subject: "w0-1", Status: Completed}, {ID: "2", Subject: "w0-2", Status: Pending}},
		unread: []mail.Message{{ID: "m1"}, {ID: "m2"}},
		events: []Change{{Op: Claimed, Task: Task{ID: "1", Owner: "w0", Epoch: 1}}},
	}
	honest := []string{"try w0-1", "add 1 w0-1", "claim 1 w0 1", "done 1", "send m1 w0-1", "send m0 w0-20", "read m0"}
	if faults := verify(honest, st); len(faults) != 0 {
		t.Errorf("honest lines: %q", faults)
	}
	for _, forged := range []string{"try w0-9", "add 3 w0-9", "add 2 w0-9", "claim 1 w1 1", "claim 2 w0 1", "done 2",
		"send m9 w0-1", "read m2"} {
		if faults := verify(append(slices.Clone(honest), forged), st); len(faults) != 1 {
			t.Errorf("%q: faults %q", forged, faults)
		}
	}
}
