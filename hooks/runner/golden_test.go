//go:build unix

package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
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
	// Input is the recorded input without the session, the folder and the event's name; nil:
	// none of the hooks was the one that records.
	Input     json.RawMessage
	Outcomes  [][2]any // exit code and outcome of each hook
	Halt      bool     // the host ended the turn
	UserBlock bool     `json:"user_block"` // the host told its user of a refusal
	Messages  []string // what the model saw, in order
	System    []string // what the host's user saw
	Fired     []string // who was called; nil: not recorded in a form that can be compared

	// What cases of conformance.jsonl have besides.
	Decision   hooks.Decision             // if the recording shows it
	Permission string                     // likewise
	Output     map[string]json.RawMessage // fields of hookSpecificOutput that the host acted on
	Background int                        // hooks that nobody waited for
	Free       bool                       // the recording does not show what the model saw
}

// input is the recorded input. It is read into the payload that covey itself has for the
// event, which has to know each of its fields.
func (c goldenCase) input(t *testing.T, b *bench) hooks.Input {
	if c.Input == nil {
		return b.input(c.unrecorded())
	}
	common := b.input(nil).Common
	common.PermissionMode = ""
	in, err := hooks.ParseInput(c.Event, c.Input, common)
	if err != nil {
		t.Fatal(err)
	}
	if read, ok := payloads[c.Event]; ok {
		fields, err := json.Marshal(in.Payload)
		if err == nil {
			in.Payload, err = read(fields)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return in
}

// unrecorded stands for the input of a case whose hooks have recorded none.
func (c goldenCase) unrecorded() hooks.Payload {
	switch c.Event {
	case hooks.PreToolUse:
		return hooks.PreToolUseInput{ToolName: "Bash", ToolInput: json.RawMessage(`{"command":"true"}`), ToolUseID: "toolu_1"}
	case hooks.UserPromptSubmit:
		return hooks.UserPromptSubmitInput{Prompt: "a please"}
	}
	return hooks.StopInput{LastAssistantMessage: "first answer"}
}

// payloads read the inputs of events that covey fires.
var payloads = map[hooks.Event]func([]byte) (hooks.Payload, error){
	hooks.SessionStart: payloadAs[hooks.SessionStartInput], hooks.SessionEnd: payloadAs[hooks.SessionEndInput],
	hooks.UserPromptSubmit: payloadAs[hooks.UserPromptSubmitInput], hooks.PreToolUse: payloadAs[hooks.PreToolUseInput],
	hooks.PostToolUse: payloadAs[hooks.PostToolUseInput], hooks.PostToolUseFailure: payloadAs[hooks.PostToolUseFailureInput],
	hooks.PostToolBatch: payloadAs[hooks.PostToolBatchInput], hooks.PermissionRequest: payloadAs[hooks.PermissionRequestInput],
	hooks.PermissionDenied: payloadAs[hooks.PermissionDeniedInput], hooks.Stop: payloadAs[hooks.StopInput],
	hooks.StopFailure: payloadAs[hooks.StopFailureInput], hooks.SubagentStart: payloadAs[hooks.SubagentStartInput],
	hooks.SubagentStop: payloadAs[hooks.SubagentStopInput], hooks.TaskCreated: payloadAs[hooks.TaskCreatedInput],
	hooks.TaskCompleted: payloadAs[hooks.TaskCompletedInput],
}

func payloadAs[P hooks.Payload](fields []byte) (hooks.Payload, error) {
	var p P
	d := json.NewDecoder(bytes.NewReader(fields))
	d.DisallowUnknownFields()
	err := d.Decode(&p)
	return p, err
}

// leftOut are fields that the recordings leave out, and a hook reads all the same.
var leftOut = []string{"session_id", "transcript_path", "cwd", "session_crons"}

// checkGoldenInput holds what a hook has read to the recording, field by field.
func checkGoldenInput(t *testing.T, c goldenCase, read []byte) {
	t.Helper()
	var got, want map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(read, &got), json.Unmarshal(c.Input, &want)); err != nil {
		t.Fatal(err)
	}
	want["hook_event_name"] = json.RawMessage(strconv.Quote(string(c.Event)))
	for name, value := range want {
		if !sameJSON(got[name], value) {
			t.Errorf("a hook read %s as %s, want %s", name, got[name], value)
		}
	}
	for name, value := range got {
		if _, ok := want[name]; !ok && !slices.Contains(leftOut, name) {
			t.Errorf("a hook read %s as %s, which the recording does not have", name, value)
		}
	}
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
	if c.Input != nil {
		for _, tag := range b.tags(t) {
			checkGoldenInput(t, c, b.recorded(t, tag, 0))
		}
	}
	if c.Background != out.Background {
		t.Errorf("%d hooks in the background, want %d", out.Background, c.Background)
	}
	if c.Background == 0 || c.Outcomes != nil {
		checkGoldenResults(t, c, out)
	}
}

// said is what the model sees, with what differs from run to run left out.
func (b *bench) said(out hooks.Outcome, behind []string) []string {
	messages := slices.Concat(out.Messages, behind)
	for i := range messages { // the recorded host had no frame around feedback yet
		messages[i] = hooks.Unframed(messages[i])
	}
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
