package orchestrator

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testrun"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/testkit"
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

// alone runs the tests apart from what this machine's git is set to, from a repository
// around the temporary folders, and from the teams of whoever runs them.
func alone(m *testing.M) int {
	testrun.Begin(40)
	home, err := os.MkdirTemp("", "covey-state")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer os.RemoveAll(home)
	testkit.QuietGit()
	programs, err := filepath.Abs("testdata/bin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	for name, value := range map[string]string{
		"GIT_CEILING_DIRECTORIES": os.TempDir(), "COVEY_STATE_HOME": home,
		"PATH":   programs + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"GORACE": "atexit_sleep_ms=0", // programs that are built for the race detector sleep at their end
	} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	return m.Run()
}

func runForCrash(spec string) int {
	team, err := configs.Load(spec)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	o, err := New(team, Options{StateHome: os.Getenv(crashHomeVariable),
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

// runAndKill runs the team in a process of its own and kills it with SIGKILL
// once the journal has grown by this many lines and each of first has returned. It
// reports whether the team ended before.
func (r *rig) runAndKill(lines int, first ...func()) (ended bool) {
	r.t.Helper()
	cmd := r.ownProcess()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
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
			r.t.Fatal(err)
		}
	}
	err = cmd.Wait()
	if seen == lines && cmd.ProcessState.ExitCode() < 0 {
		return false
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		r.t.Fatalf("the team ended with %d (%v): %s", code, err, stderr.String())
	}
	return true
}

// ownProcess is a command that runs the team in a process of its own.
func (r *rig) ownProcess() *exec.Cmd {
	cmd := exec.Command(testkit.Binary(r.t))
	cmd.Env = append(os.Environ(), crashVariable+"="+filepath.Join(r.dir, "team.yaml"), crashHomeVariable+"="+r.home)
	return cmd
}

// TestKilledAtAnyMoment kills a team again and again until it comes to its
// end, and then looks whether anything was lost or happened twice.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it kills processes at random, again and again; other tests kill them at a moment and go on in this one")
	}
	rounds := 1
	if *allRounds {
		rounds = 3
	}
	for round := range rounds {
		seed := uint64(round) + 1
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := newRig(t, crashTeam())
			random := rand.New(rand.NewPCG(seed, 7))
			kills := 0
			for {
				ended := r.runAndKill(3 + random.IntN(25))
				if ended {
					break
				}
				if kills++; kills > 200 {
					t.Fatal("the team never ends")
				}
			}
			t.Logf("killed %d times", kills)
			r.checkAfterCrash()
		})
	}
}

// crashTeam does its work in many small steps, each of which leaves a trace
// that tells if it happened twice.
func crashTeam() map[string]string {
	var dev strings.Builder
	dev.WriteString("steps:\n")
	for id := 1; id <= 4; id++ {
		fmt.Fprintf(&dev, `  - call: [{tool: TaskUpdate, input: {taskId: "%[1]d", status: in_progress}}]
    when: '(You own task|claimed task|own open tasks|cut off)(.|\n)*#%[1]d'
  - call: [{tool: TaskCreate, input: {subject: "after %[1]d", description: made by dev}}]
  - call: [{tool: SendMessage, input: {to: ops, message: "%[1]d is done"}}]
  - call: [{tool: TaskUpdate, input: {taskId: "%[1]d", status: completed}}]
  - say: "%[1]d is done."
`, id)
	}
	return map[string]string{
		"team.yaml": `covey: 1
name: crew
goal: Ship it.
models:
  lead: {provider: script, script: lead.yaml}
  dev: {provider: script, script: dev.yaml}
  ops: {provider: script, script: ops.yaml}
lead: {model: lead}
teammates:
  dev: {model: dev, self_claim: false}
  ops: {model: ops}
tasks:
  - {id: a, subject: one, owner: dev}
  - {id: b, subject: two, owner: dev, blocked_by: [a]}
  - {id: c, subject: three, owner: dev, blocked_by: [b]}
  - {id: d, subject: four, owner: dev, blocked_by: [c]}
hooks:
  Stop: [{hooks: [{type: command, command: "true"}]}]
  TaskCompleted: [{hooks: [{type: command, command: "true"}]}]
`,
		"lead.yaml": `steps: [{say: Noted., times: -1}]`,
		"dev.yaml":  dev.String(),
		"ops.yaml": `steps:
  - when: 'claimed task #5'
    call: [{tool: TaskUpdate, input: {taskId: "5", status: completed}}]
  - when: 'claimed task #6'
    call: [{tool: TaskUpdate, input: {taskId: "6", status: completed}}]
  - when: 'claimed task #7'
    call: [{tool: TaskUpdate, input: {taskId: "7", status: completed}}]
  - when: 'claimed task #8'
    call: [{tool: TaskUpdate, input: {taskId: "8", status: completed}}]
  - when: 'own open tasks(.|\n)*#5'
    call: [{tool: TaskUpdate, input: {taskId: "5", status: completed}}]
  - when: 'own open tasks(.|\n)*#6'
    call: [{tool: TaskUpdate, input: {taskId: "6", status: completed}}]
  - when: 'own open tasks(.|\n)*#7'
    call: [{tool: TaskUpdate, input: {taskId: "7", status: completed}}]
  - when: 'own open tasks(.|\n)*#8'
    call: [{tool: TaskUpdate, input: {taskId: "8", status: completed}}]
  - {say: Fine., times: -1}
`,
	}
}

// checkAfterCrash looks at all that a crashed and resumed team has left.
func (r *rig) checkAfterCrash() {
	t := r.t
	t.Helper()
	all := r.list()
	if len(all) != 8 {
		t.Errorf("%d tasks; each of the 4 given ones makes exactly one more", len(all))
	}
	for _, task := range all {
		if task.Status != tasks.Completed {
			t.Errorf("task %s is %s", task.ID, task.Status)
		}
	}
	place := r.place()
	for id, n := range r.checkJournal(place) {
		if n != 1 {
			t.Errorf("task %s was completed %d times", id, n)
		}
	}
	shown := map[string]int{}
	for _, path := range globAll(t, place.Transcripts()) {
		r.checkTranscript(path, shown)
	}
	for id := 1; id <= 4; id++ {
		if n := shown[fmt.Sprintf("%d is done</teammate-message>", id)]; n != 1 {
			t.Errorf("ops was shown the message about task %d %d times", id, n)
		}
	}
}

func globAll(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no transcripts in %s (%v)", dir, err)
	}
	return paths
}

// checkJournal: numbers rise strictly, and every committed event stands in it
// exactly once. It returns how often each task was completed.
func (r *rig) checkJournal(place state.Place) (completed map[string]int) {
	r.t.Helper()
	data, err := os.ReadFile(place.Journal())
	if err != nil {
		r.t.Fatal(err)
	}
	var seq uint64
	stored := map[uint64]int{}
	completed = map[string]int{}
	for text := range strings.Lines(string(data)) {
		var l events.Line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			r.t.Fatalf("a torn line in the journal: %q", text)
		}
		if l.Seq <= seq {
			r.t.Fatalf("line %d comes after line %d", l.Seq, seq)
		}
		seq = l.Seq
		if l.Store == 0 {
			continue
		}
		stored[l.Store]++
		var change tasks.Change
		if l.Type == "task" && json.Unmarshal(l.Data, &change) == nil && change.Op == tasks.TaskCompleted {
			completed[change.Task.ID]++
		}
	}
	for id, n := range stored {
		if n != 1 {
			r.t.Errorf("event %d of the store stands in the journal %d times", id, n)
		}
	}
	for id := 1; id <= len(stored); id++ {
		if stored[uint64(id)] == 0 {
			r.t.Errorf("event %d of the store is not in the journal", id)
		}
	}
	return completed
}

// checkTranscript: every tool call has exactly one result. Shown counts the
// last line of each message that the transcript shows. Calls of the last line may
// have none: a team whose work was all done when it was killed ends at once in its
// next run, and its members do not come back to learn what had become of them.
func (r *rig) checkTranscript(path string, shown map[string]int) {
	r.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	results := map[string]int{}
	var last []agent.ToolCall
	for text := range strings.Lines(string(data)) {
		var l struct{ Message agent.Message }
		if !strings.HasSuffix(text, "\n") {
			continue // torn; a team that was done by then has not opened it again, which cuts it
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			r.t.Fatalf("%s: a torn line: %q", path, text)
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
			r.t.Errorf("%s: call %s has %d results", filepath.Base(filepath.Dir(path)), id, n)
		}
	}
}
