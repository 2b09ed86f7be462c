//go:build unix

package runner

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// goldenCase is one recorded run of one event: how hooks were configured, and
// what the recorded host made of them.
type goldenCase struct {
	Name  string
	Event hooks.Event
	Hooks json.RawMessage
	Tool  struct {
		Name  string
		Input json.RawMessage
	}
	Outcomes  [][2]any // exit code and outcome of each hook
	Halt      bool     // the host ended the turn
	UserBlock bool     `json:"user_block"` // the host told its user of a refusal
	Messages  []string // what the model saw, in order
	System    []string // what the host's user saw
	Fired     []string // who was called; nil: not recorded in a form that can be compared

	// What cases of conformance.jsonl have besides.
	Input      json.RawMessage            // the recorded input, without the common fields
	Decision   hooks.Decision             // if the recording shows it
	Permission string                     // likewise
	Output     map[string]json.RawMessage // fields of hookSpecificOutput that the host acted on
	Background int                        // hooks that nobody waited for
	Free       bool                       // the recording does not show what the model saw
}

// input is an input as recorded, with the bench's common fields where those of the
// recording were left out.
func (c goldenCase) input(t *testing.T, b *bench) hooks.Input {
	if c.Input == nil {
		return b.input(c.payload())
	}
	in, err := hooks.ParseInput(c.Event, c.Input, b.input(nil).Common)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// payload is what is particular to an event's input.
func (c goldenCase) payload() hooks.Payload {
	switch c.Event {
	case hooks.PreToolUse:
		return hooks.PreToolUseInput{ToolName: c.Tool.Name, ToolInput: c.Tool.Input, ToolUseID: "toolu_1"}
	case hooks.PostToolUse:
		return hooks.PostToolUseInput{ToolName: c.Tool.Name, ToolInput: c.Tool.Input, ToolUseID: "toolu_1",
			ToolResponse: json.RawMessage(`{"stdout":"TOOLRAN"}`)}
	case hooks.PostToolUseFailure:
		return hooks.PostToolUseFailureInput{ToolName: c.Tool.Name, ToolInput: c.Tool.Input, ToolUseID: "toolu_1",
			Error: "Exit code 3"}
	case hooks.UserPromptSubmit:
		return hooks.UserPromptSubmitInput{Prompt: "a please"}
	case hooks.SessionStart:
		return hooks.SessionStartInput{Source: "startup"}
	case hooks.TaskCreated:
		return hooks.TaskCreatedInput{TaskInput: hooks.TaskInput{TaskID: "1", TaskSubject: "T"}}
	case hooks.TaskCompleted:
		return hooks.TaskCompletedInput{TaskInput: hooks.TaskInput{TaskID: "1", TaskSubject: "T one"}}
	}
	return hooks.StopInput{LastAssistantMessage: "first answer"}
}

// keptIn is where a long text was put, which differs from run to run.
var keptIn = regexp.MustCompile(`saved to: \S+`)

// checkGolden runs one case, and wants the same said to the model and the same
// decided.
func checkGolden(t *testing.T, c goldenCase) {
	b := newBench(t)
	file, warnings := settings.Parse("golden", slices.Concat([]byte(`{"hooks":`), c.Hooks, []byte("}")))
	for _, w := range warnings {
		t.Logf("warning: %v", w)
	}
	opts := Options{SpillDir: filepath.Join(b.dir, "spill")}
	if !slices.ContainsFunc(c.Outcomes, func(o [2]any) bool { return o[1] == string(hooks.Cancelled) }) {
		opts.Env = []string{"CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS=60000"} // a busy machine passes the usual limit
	}
	r := b.runnerWith(t, opts, settings.Source{Name: "test", Settings: file.Hooks})
	out, behind := b.fireAllOf(t, r, c.input(t, b))
	checkGoldenTexts(t, c, out, b.said(out, behind))
	if c.Halt != (out.Decision == hooks.Halt) || c.Decision != "" && c.Decision != out.Decision {
		t.Errorf("decision %s, but the host halted: %v, decided: %s", out.Decision, c.Halt, c.Decision)
	}
	if c.Permission != "" && c.Permission != out.Permission.Decision {
		t.Errorf("permission %q, want %q", out.Permission.Decision, c.Permission)
	}
	for name, want := range c.Output {
		if got := out.Output[name]; !sameJSON(got, want) {
			t.Errorf("output %s is %s, want %s", name, got, want)
		}
	}
	if c.Fired != nil {
		fired := b.tags(t)
		slices.Sort(fired)
		if !slices.Equal(fired, c.Fired) {
			t.Errorf("fired %q, want %q", fired, c.Fired)
		}
	}
	if c.Input != nil && c.Background != out.Background {
		t.Errorf("%d hooks in the background, want %d", out.Background, c.Background)
	}
	if c.Background == 0 || c.Outcomes != nil {
		checkGoldenResults(t, c, out)
	}
}

// said is what the model sees, with what differs from run to run left out.
func (b *bench) said(out hooks.Outcome, behind []string) []string {
	messages := slices.Concat(out.Messages, behind)
	if out.Event == hooks.TaskCompleted { // recorded as a tool's result, where reminders have no place
		messages = slices.Clone(out.Feedback)
	}
	for i := range messages {
		messages[i] = keptIn.ReplaceAllString(strings.ReplaceAll(messages[i], b.cwd, "<CWD>"), "saved to: <FILE>")
	}
	return messages
}

// checkGoldenTexts compares what the model and people see.
func checkGoldenTexts(t *testing.T, c goldenCase, out hooks.Outcome, messages []string) {
	if !c.Halt && !c.Free && !slices.Equal(messages, c.Messages) {
		t.Errorf("the model sees\n%q\nwant\n%q", messages, c.Messages)
	}
	if c.UserBlock != (out.Decision == hooks.Block && len(out.Feedback) == 0) {
		t.Errorf("decision %s, feedback %q; the host told its user alone: %v", out.Decision, out.Feedback,
			c.UserBlock)
	}
	if !c.UserBlock && !slices.Equal(out.SystemMessages, c.System) {
		t.Errorf("people see %q, want %q", out.SystemMessages, c.System)
	}
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// checkGoldenResults compares how each hook ended. A recorded "error" of exit 2
// is a block here, a recorded "success" may be one (by JSON), and what did not
// exit by itself has no exit code of its own.
func checkGoldenResults(t *testing.T, c goldenCase, out hooks.Outcome) {
	var got, want []string
	for _, o := range c.Outcomes {
		word := o[1].(string)
		if word == "error" && o[0].(float64) == 2 && hooks.InfoOf(c.Event).Exit2 >= hooks.Refuses {
			word = "refused"
		}
		want = append(want, word)
	}
	for _, r := range out.Results {
		word := map[hooks.Status]string{hooks.Success: "success", hooks.Blocking: "success", hooks.NonBlockingError: "error",
			hooks.Cancelled: "cancelled"}[r.Outcome]
		if r.ExitCode == 2 && r.Outcome == hooks.Blocking {
			word = "refused"
		}
		if r.Outcome == hooks.NonBlockingError && r.Warning == "" {
			t.Errorf("%s failed open and nobody is told", r.Command)
		}
		got = append(got, word)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("hooks ended as %q, want %q", got, want)
	}
}
