//go:build unix

package teammate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/runner"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/permission"
	"github.com/coveyteam/covey/teammate/workspace"
)

// TestMain lets the test binary play REC, the program that recorded hooks run:
// it counts its calls and does what its specification says.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "REC" {
		os.Exit(rec(os.Args[1], os.Args[2]))
	}
	testkit.Begin(0)
	os.Exit(m.Run())
}

// recSpec is what REC does in one call.
type recSpec struct {
	Sleep      float64
	PreStdout  string `json:"pre_stdout"`
	BigStdout  int    `json:"big_stdout"`
	Stdout     json.RawMessage
	Stderr     string
	Exit       int
	Seq        []recSpec
	RepeatLast bool `json:"repeat_last"`
}

func rec(tag, text string) int {
	var spec recSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return 99
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return 98
	}
	call := 0
	for ; ; call++ { // side by side with others: each call takes a file of its own
		f, err := os.OpenFile(filepath.Join(os.Getenv("REC_DIR"), fmt.Sprintf("%x.%d", tag, call)),
			os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			f.Close()
			break
		}
		if !errors.Is(err, os.ErrExist) {
			return 97
		}
	}
	if len(spec.Seq) > 0 {
		switch {
		case call < len(spec.Seq):
			spec = spec.Seq[call]
		case spec.RepeatLast:
			spec = spec.Seq[len(spec.Seq)-1]
		default:
			spec = recSpec{}
		}
	}
	fmt.Print(spec.PreStdout)
	time.Sleep(time.Duration(spec.Sleep * float64(time.Second)))
	var plain string
	if json.Unmarshal(spec.Stdout, &plain) != nil {
		plain = string(spec.Stdout)
	}
	fmt.Print(plain, strings.Repeat("O", spec.BigStdout))
	fmt.Fprint(os.Stderr, spec.Stderr)
	return spec.Exit
}

// goldenCase is one recorded conversation of a real agent host.
type goldenCase struct {
	Name        string
	Mode        string
	MaxTurns    int `json:"max_turns"`
	Permissions settings.Permissions
	Hooks       json.RawMessage
	Prompt      string
	Script      []struct {
		Text  string
		Loop  bool // it is said again and again
		Tools []struct {
			Name  string
			Input json.RawMessage
		}
		Error *struct {
			Type    string
			Message string
		}
	}
	Model []string // what the model saw; null: the recording has gaps
	Fired []string // the events of the hooks that ran, in order; null: not recorded
	End   string   // why the turn ended
	// Besides are events that covey fires at the end and the recorded host does not: that a
	// member needs attention, and the end of a teammate's session, which is its own (deviation 1).
	Besides []string

	// What cases of conformance.jsonl have besides.
	Teammate bool           // the member is no lead
	Tasks    []tasks.Task   // what it takes into progress
	Called   map[string]int // calls of REC by tag that others have made before
	Then     []string       // what the person says, or is in the mail, after the first turn
	Blocks   string         // reason with which a callback on Stop refuses once
	Endless  bool           // no limit of refusals; the recorded host was killed
	// Deviation is the number of the deviation on purpose: 1, teammates fire Stop; 2,
	// a halt of TaskCompleted or TeammateIdle ends the member.
	Deviation int
}

func replay(t *testing.T, c goldenCase) {
	r := newRig(t)
	for i, s := range c.Script {
		answer := say{text: s.Text, loop: s.Loop}
		for j, call := range s.Tools {
			answer.calls = append(answer.calls, agent.ToolCall{ID: fmt.Sprintf("c%d.%d", i, j),
				Name: call.Name, Input: call.Input})
		}
		if s.Error != nil {
			answer.err = &agent.APIError{Type: errorType(s.Error.Type), Message: s.Error.Message}
		}
		r.agent.script = append(r.agent.script, answer)
	}
	r.inbox.work = []Work{{Cause: events.ByGoal, Inputs: []agent.Input{person(c.Prompt, "goal")}}}
	for _, more := range c.Then {
		r.inbox.work = append(r.inbox.work, Work{Cause: events.ByGoal, Inputs: []agent.Input{person(more, more)}})
	}
	if c.Teammate {
		r.inbox.work = nil
		for i, text := range append([]string{c.Prompt}, c.Then...) {
			mail := agent.Input{Kind: agent.FromMail, Text: text, MessageID: fmt.Sprint("m", i)}
			r.inbox.work = append(r.inbox.work, Work{Cause: events.ByMessage, Inputs: []agent.Input{mail}})
		}
	}
	ears := &listening{HookRunner: goldenRunner(t, c)}
	r.opts.Lead, r.opts.Hooks, r.opts.Tools = !c.Teammate, ears, []agent.Tool{shellTool(), r.taskTool(c), mailTool()}
	r.opts.Limits.MaxTurns = c.MaxTurns
	r.opts.Rights = permission.NewRights(permission.Policy{
		Mode: c.Mode, Allow: ruleList(t, c.Permissions.Allow...), Ask: ruleList(t, c.Permissions.Ask...),
		Deny: ruleList(t, c.Permissions.Deny...),
	}, nil)
	r.opts.Workdir = workspace.NewWorkdir(t.TempDir())
	want, listed := recordedInputs(t)[c.Name]
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	if c.Endless {
		r.opts.Limits.StopBlockCap = 0
		ears.after, ears.then = len(want), kill
	}
	if err := r.member(t).Run(ctx); err != nil && !c.Endless && !(c.Deviation == 2 && errors.Is(err, ErrHalted)) {
		t.Fatal(err)
	} else if c.Deviation == 2 && err == nil {
		t.Error("the member goes on after a halt")
	}

	if c.Model != nil {
		checkSeen(t, r.agent.seen, c)
	}
	if listed {
		ears.check(t, want, r.opts.Workdir.Dir())
	}
	if c.Fired == nil {
		return
	}
	var fired []string
	for _, s := range all[events.HookStarted](r.journal) {
		fired = append(fired, s.Event)
	}
	equal(t, "fired", strings.Join(fired, " "), strings.Join(slices.Concat(c.Fired, c.Besides), " "))
	if len(c.Then) > 0 {
		return
	}
	if end := one[events.TurnEnded](t, r.journal).Reason; c.End != "" && c.End != "api_error" && end != c.End {
		t.Errorf("the turn ended as %s, want %s", end, c.End)
	}
}

// checkSeen compares what the model saw. A recording ends with the last request,
// so the answer to it is not in it, nor the results that no request carried on.
func checkSeen(t *testing.T, seen []string, c goldenCase) {
	t.Helper()
	n := min(len(c.Model), len(seen))
	said := keptIn.ReplaceAllString(strings.Join(seen[:n], "\n--\n"), "saved to: <FILE>")
	said = ruleNamed.ReplaceAllString(said, "has been denied.")
	equal(t, "model", said, strings.Join(c.Model, "\n--\n"))
	for _, more := range seen[n:] {
		unsent := (strings.HasPrefix(more, "result: ") || more == "error: "+deferredText) &&
			(c.End == events.EndHookStopped || c.End == events.EndMaxTurns || c.End == events.EndToolDeferred)
		if !unsent && !strings.HasPrefix(more, "assistant: ") {
			t.Errorf("the model saw more than recorded: %q", more)
		}
	}
}

// ruleNamed is what covey adds to a denial on purpose, so that the model knows what to leave out.
var ruleNamed = regexp.MustCompile(`has been denied\. The rule .*`)

// keptIn is where a long text was put, which differs from run to run.
var keptIn = regexp.MustCompile(`saved to: \S+`)

// errorType is what StopFailure calls an error of the API.
func errorType(api string) string {
	if api == "rate_limit_error" {
		return "rate_limit"
	}
	return "unknown"
}

// taskTool is as much of TaskUpdate as the recordings need: it takes tasks of the
// case into progress.
func (r *rig) taskTool(c goldenCase) agent.Tool {
	return fakeTool{spec: agent.Spec{Name: "TaskUpdate"}, run: func(ctx context.Context,
		call agent.ToolCall) agent.ToolResult {
		var in struct{ TaskID, Status string }
		if err := json.Unmarshal(call.Input, &in); err != nil {
			return agent.Failed("%v", err)
		}
		i := slices.IndexFunc(c.Tasks, func(task tasks.Task) bool { return task.ID == in.TaskID })
		if i < 0 {
			return agent.Failed("no task %s", in.TaskID)
		}
		r.tasks.mu.Lock()
		defer r.tasks.mu.Unlock()
		task := c.Tasks[i]
		task.Owner, task.Status = "api", tasks.InProgress
		r.tasks.list = append(r.tasks.list, task)
		text := "Updated task #" + in.TaskID + " owner, status"
		return agent.ToolResult{Content: text, Response: json.RawMessage(
			`{"success":true,"taskId":"` + in.TaskID + `","updatedFields":["owner","status"],"statusChange":{"from":"pending","to":"in_progress"}}`)}
	}}
}

// mailTool is as much of SendMessage as the recordings need.
func mailTool() agent.Tool {
	text := `{"success":true,"message":"Message queued for the main conversation's next turn."}`
	return fakeTool{spec: agent.Spec{Name: "SendMessage"}, run: func(context.Context,
		agent.ToolCall) agent.ToolResult {
		return agent.ToolResult{Content: text, Response: json.RawMessage(text)}
	}}
}

// goldenRunner is a real runner for the hooks of a case.
func goldenRunner(t *testing.T, c goldenCase) HookRunner {
	t.Helper()
	section, warnings := settings.Parse(c.Name, slices.Concat([]byte(`{"hooks":`), c.Hooks, []byte("}")))
	for _, w := range warnings {
		t.Logf("warning: %v", w)
	}
	bin, dir := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "REC")); err != nil {
		t.Fatal(err)
	}
	for tag, n := range c.Called {
		for i := range n {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%x.%d", tag, i)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	callbacks := &hooks.Registry{}
	if c.Blocks != "" {
		once := hooks.Callback{Once: true, Do: func(context.Context, hooks.Input) (hooks.Answer, error) {
			return hooks.Answer{Decision: hooks.Block, Reason: c.Blocks}, nil
		}}
		if _, err := callbacks.Add(hooks.Stop, once); err != nil {
			t.Fatal(err)
		}
	}
	hookRunner, err := runner.New([]settings.Source{{Name: "spec", Settings: section.Hooks}}, &runner.Options{
		Callbacks: callbacks,
		SpillDir:  t.TempDir(),
		Env:       append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "REC_DIR="+dir),
	})
	if err != nil {
		t.Fatal(err)
	}
	// A hook in the background writes into its folder, which is taken away when the test has ended.
	t.Cleanup(func() { hookRunner.Drain(context.Background(), "") })
	return hookRunner
}

// shellTool is as much of a Bash tool as the recordings need.
func shellTool() agent.Tool {
	render := func(r json.RawMessage) (agent.ToolResult, error) {
		var out struct{ Stdout string }
		err := json.Unmarshal(r, &out)
		return agent.ToolResult{Content: out.Stdout}, err
	}
	return shell{fakeTool{spec: agent.Spec{Name: "Bash"}, run: func(ctx context.Context,
		call agent.ToolCall) agent.ToolResult {
		var in struct{ Command string }
		if err := json.Unmarshal(call.Input, &in); err != nil {
			return agent.Failed("%v", err)
		}
		cmd := exec.CommandContext(ctx, "sh", "-c", "exec 2>&1; "+in.Command)
		cmd.Dir = os.TempDir()
		if strings.Contains(in.Command, "made_by_tool") {
			cmd.Args[2] = "echo TOOLRAN"
		}
		out, err := cmd.Output()
		text := string(bytes.TrimSpace(out))
		if err != nil {
			return agent.Failed("%s", strings.TrimSpace(fmt.Sprintf("Exit code %d\n%s",
				cmd.ProcessState.ExitCode(), text)))
		}
		response, err := texts.Marshal(map[string]any{
			"stdout": text, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false})
		if err != nil {
			return agent.Failed("%v", err)
		}
		return agent.ToolResult{Content: text, Response: response}
	}}, render}
}

// shell is a fakeTool that can render another response.
type shell struct {
	fakeTool
	render func(json.RawMessage) (agent.ToolResult, error)
}

func (s shell) Render(response json.RawMessage) (agent.ToolResult, error) { return s.render(response) }
