//go:build unix

package hooks

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// goldenCase is one recorded run of one event: how hooks were configured, and
// what the recorded host made of them.
type goldenCase struct {
	Name  string
	Event Event
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
}

// payload is an input as recorded.
func (c goldenCase) payload() Payload {
	switch c.Event {
	case PreToolUse:
		return PreToolUseInput{ToolName: c.Tool.Name, ToolInput: c.Tool.Input, ToolUseID: "toolu_1"}
	case PostToolUse:
		return PostToolUseInput{ToolName: c.Tool.Name, ToolInput: c.Tool.Input, ToolUseID: "toolu_1",
			ToolResponse: json.RawMessage(`{"stdout":"TOOLRAN"}`)}
	case PostToolUseFailure:
		return PostToolUseFailureInput{ToolName: c.Tool.Name, ToolInput: c.Tool.Input, ToolUseID: "toolu_1",
			Error: "Exit code 3"}
	case UserPromptSubmit:
		return UserPromptSubmitInput{Prompt: "a please"}
	case SessionStart:
		return SessionStartInput{Source: "startup"}
	case TaskCreated:
		return TaskCreatedInput{TaskInput{TaskID: "1", TaskSubject: "T"}}
	case TaskCompleted:
		return TaskCompletedInput{TaskInput{TaskID: "1", TaskSubject: "T one"}}
	}
	return StopInput{LastAssistantMessage: "first answer"}
}

// TestGolden runs what was recorded of a real host, and wants the same said to
// the model and the same decided.
func TestGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			checkGolden(t, c)
		})
	}
}

// checkGolden runs one case.
func checkGolden(t *testing.T, c goldenCase) {
	b := newBench(t)
	file, warnings := ParseSettings("golden", slices.Concat([]byte(`{"hooks":`), c.Hooks, []byte("}")))
	for _, w := range warnings {
		t.Logf("warning: %v", w)
	}
	out, behind := b.fireAll(t, b.runner(t, file.Hooks), c.payload())

	messages := slices.Concat(out.Messages, behind)
	for i := range messages {
		messages[i] = strings.ReplaceAll(messages[i], b.cwd, "<CWD>")
	}
	if c.Event == TaskCompleted { // recorded as a tool's result, where reminders have no place
		messages = out.Feedback
	}
	if c.Halt != (out.Decision == Halt) {
		t.Errorf("decision %s, but the host halted: %v", out.Decision, c.Halt)
	}
	if !c.Halt && !slices.Equal(messages, c.Messages) {
		t.Errorf("the model sees\n%q\nwant\n%q", messages, c.Messages)
	}
	if c.UserBlock != (out.Decision == Block && len(out.Feedback) == 0) {
		t.Errorf("decision %s, feedback %q; the host told its user alone: %v", out.Decision, out.Feedback,
			c.UserBlock)
	}
	if !c.UserBlock && !slices.Equal(out.SystemMessages, c.System) {
		t.Errorf("people see %q, want %q", out.SystemMessages, c.System)
	}
	if c.Fired != nil {
		fired := b.tags(t)
		slices.Sort(fired)
		if !slices.Equal(fired, c.Fired) {
			t.Errorf("fired %q, want %q", fired, c.Fired)
		}
	}
	checkGoldenResults(t, c, out)
}

// checkGoldenResults compares how each hook ended. A recorded "error" of exit 2
// is a block here, a recorded "success" may be one (by JSON), and what did not
// exit by itself has no exit code of its own.
func checkGoldenResults(t *testing.T, c goldenCase, out Outcome) {
	var got, want []string
	for _, o := range c.Outcomes {
		word := o[1].(string)
		if word == "error" && o[0].(float64) == 2 {
			word = "refused"
		}
		want = append(want, word)
	}
	for _, r := range out.Results {
		word := map[Status]string{Success: "success", Blocking: "success", NonBlockingError: "error",
			Cancelled: "cancelled"}[r.Outcome]
		if r.ExitCode == 2 && r.Outcome == Blocking {
			word = "refused"
		}
		if r.Outcome == NonBlockingError && r.Warning == "" {
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
