package teamtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
)

// crashVariable makes the test binary run the team of the spec it names, and
// print the journal's lines, instead of running tests: a process to kill.
const crashVariable = "COVEY_TEST_CRASH_SPEC"

// crashHomeVariable is where that team has its state.
const crashHomeVariable = "COVEY_TEST_CRASH_HOME"

// crashLineVariable names the type of the line at which that process kills itself, if any.
const crashLineVariable = "COVEY_TEST_CRASH_LINE"

// runForCrash is the main of that process.
func runForCrash(spec string) int {
	team, err := configs.Load(spec)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	o, err := orchestrator.New(team, orchestrator.Options{StateHome: os.Getenv(crashHomeVariable),
		OnLine: func(l events.Line) {
			fmt.Printf("%d %s %s\n", l.Seq, l.Member, l.Type)
			if l.Type == os.Getenv(crashLineVariable) && l.Member != "lead" {
				if self, err := os.FindProcess(os.Getpid()); err == nil {
					_ = self.Kill() // it does not return
				}
			}
		}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	e, err := o.Run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	fmt.Fprintln(os.Stderr, e.Reason)
	return e.Code
}

// RunAndKill runs the team in a process of its own and kills it with SIGKILL
// once the journal has grown by this many lines and each of first has returned. It
// reports whether the team ended before.
func (r *Rig) RunAndKill(lines int, first ...func()) (ended bool) {
	r.T.Helper()
	cmd := r.OwnProcess()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.T.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }() // if one of first has given up
	seen := 0
	for in := bufio.NewScanner(out); seen < lines && in.Scan(); {
		seen++
	}
	if seen == lines {
		for _, wait := range first {
			wait()
		}
		if err := cmd.Process.Kill(); err != nil {
			r.T.Fatal(err)
		}
	}
	err = cmd.Wait()
	if seen == lines && cmd.ProcessState.ExitCode() < 0 {
		return false
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		r.T.Fatalf("the team ended with %d (%v): %s", code, err, stderr.String())
	}
	return true
}

// OwnProcess is a command that runs the team in a process of its own.
func (r *Rig) OwnProcess() *exec.Cmd {
	cmd := exec.Command(testkit.Binary(r.T))
	cmd.Env = append(os.Environ(), crashVariable+"="+filepath.Join(r.Dir, "team.yaml"), crashHomeVariable+"="+r.Home)
	return cmd
}

func GlobAll(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no transcripts in %s (%v)", dir, err)
	}
	return paths
}

// CheckJournal: numbers rise strictly, and every committed event stands in it
// exactly once. It returns how often each task was completed.
func (r *Rig) CheckJournal(place state.Place) (completed map[string]int) {
	r.T.Helper()
	data, err := os.ReadFile(place.Journal())
	if err != nil {
		r.T.Fatal(err)
	}
	var seq uint64
	stored := map[uint64]int{}
	completed = map[string]int{}
	for text := range strings.Lines(string(data)) {
		var l events.Line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			r.T.Fatalf("a torn line in the journal: %q", text)
		}
		if l.Seq <= seq {
			r.T.Fatalf("line %d comes after line %d", l.Seq, seq)
		}
		seq = l.Seq
		if l.Store == 0 {
			continue
		}
		stored[l.Store]++
		if change, ok := l.Event().Data.(events.TaskChanged); ok && change.Op == tasks.TaskCompleted {
			completed[change.Task.ID]++
		}
	}
	for id, n := range stored {
		if n != 1 {
			r.T.Errorf("event %d of the store stands in the journal %d times", id, n)
		}
	}
	for id := 1; id <= len(stored); id++ {
		if stored[uint64(id)] == 0 {
			r.T.Errorf("event %d of the store is not in the journal", id)
		}
	}
	return completed
}

// CheckTranscript: every tool call has exactly one result. Shown counts the
// last line of each message that the transcript shows. Calls of the last line may
// have none: a team whose work was all done when it was killed ends at once in its
// next run, and its members do not come back to learn what had become of them.
func (r *Rig) CheckTranscript(path string, shown map[string]int) {
	r.T.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		r.T.Fatal(err)
	}
	results := map[string]int{}
	var last []agent.ToolCall
	for text := range strings.Lines(string(data)) {
		var l struct{ Message agent.Message }
		if !strings.HasSuffix(text, "\n") {
			continue // torn; a team that was done by then has not opened it again, which cuts it
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			r.T.Fatalf("%s: a torn line: %q", path, text)
		}
		last = l.Message.ToolCalls()
		for _, b := range l.Message.Content {
			switch b.Type {
			case agent.ToolUseBlock:
				results[b.ID] += 0
			case agent.ToolResultBlock:
				results[b.ToolUseID]++
			case agent.TextBlock:
				if _, body, ok := strings.Cut(b.Text, `">`); ok && l.Message.Role == agent.User {
					shown[body]++
				}
			}
		}
	}
	for id, n := range results {
		open := slices.ContainsFunc(last, func(c agent.ToolCall) bool { return c.ID == id })
		if n != 1 && !(n == 0 && open) {
			r.T.Errorf("%s: call %s has %d results", filepath.Base(filepath.Dir(path)), id, n)
		}
	}
}
