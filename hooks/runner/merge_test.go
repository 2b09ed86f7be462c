package runner

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// refusal is a verdict that refuses with text, by exit code.
func refusal(how hooks.Effect, command, text string) Verdict {
	return Verdict{Result: hooks.Result{Command: command, Outcome: hooks.Blocking, Feedback: text}, Refused: how}
}

// denial is a verdict that denies a tool call.
func denial(command, text string) Verdict {
	v := refusal(hooks.ToolError, command, text)
	v.permission = hooks.Permission{Decision: "deny", Reason: text}
	return v
}

// TestMerge: what hooks decided one by one becomes one outcome. The verdicts
// stand in the order in which the hooks finished.
func TestMerge(t *testing.T) {
	byJSON := refusal(hooks.ToFeedback, "c2", "r2")
	byJSON.byAnswer = true
	halt := Verdict{Result: hooks.Result{Outcome: hooks.Success}, Halt: true, stop: "enough"}
	halt2 := Verdict{Halt: true, stop: "later"}
	context := Verdict{Contexts: []contextText{{additionalContext, "ctx"}}}
	tests := []struct {
		name     string
		event    hooks.Event
		verdicts []Verdict
		want     hooks.Outcome // Results and Matched are filled in
	}{
		{"nothing", hooks.Stop, nil, hooks.Outcome{Decision: hooks.Pass}},
		{"all pass", hooks.Stop, []Verdict{{}, {}}, hooks.Outcome{Decision: hooks.Pass}},
		{"one refuses", hooks.Stop, []Verdict{{}, refusal(hooks.ToFeedback, "c", "[c]: no")}, hooks.Outcome{Decision: hooks.Block,
			Feedback: []string{"Stop hook feedback:\n[c]: no"},
			Messages: []string{"Stop hook feedback:\n[c]: no"}}},
		{"two refuse, in order of finish, JSON with a reminder", hooks.TeammateIdle, []Verdict{byJSON,
			refusal(hooks.ToFeedback, "c1", "r1")},
			hooks.Outcome{Decision: hooks.Block,
				Feedback: []string{"TeammateIdle hook feedback:\nr2", "TeammateIdle hook feedback:\nr1"},
				Messages: []string{
					"<system-reminder>\nTeammateIdle hook blocking error from command: \"c2\": r2\n</system-reminder>",
					"TeammateIdle hook feedback:\nr2", "TeammateIdle hook feedback:\nr1"}}},
		{"a tool's refusal has no reminder", hooks.TaskCreated, []Verdict{byJSON}, hooks.Outcome{Decision: hooks.Block,
			Feedback: []string{"TaskCreated hook feedback:\nr2"},
			Messages: []string{"TaskCreated hook feedback:\nr2"}}},
		{"a helper's stop is called Stop", hooks.SubagentStop, []Verdict{refusal(hooks.ToFeedback, "c", "x")},
			hooks.Outcome{Decision: hooks.Block,
				Feedback: []string{"Stop hook feedback:\nx"}, Messages: []string{"Stop hook feedback:\nx"}}},
		{"a halt outweighs refusals, first", hooks.TaskCompleted, []Verdict{halt, refusal(hooks.ToFeedback, "c", "x")},
			hooks.Outcome{
				Decision: hooks.Halt, StopReason: "enough", Feedback: []string{"TaskCompleted hook feedback:\nx"},
				Messages: []string{"<system-reminder>\nTaskCompleted hook stopped continuation: enough\n</system-reminder>",
					"TaskCompleted hook feedback:\nx"}}},
		{"a halt outweighs refusals, last", hooks.Stop, []Verdict{refusal(hooks.ToFeedback, "c", "x"), halt, halt2},
			hooks.Outcome{
				Decision: hooks.Halt, StopReason: "enough", Feedback: []string{"Stop hook feedback:\nx"},
				Messages: []string{"<system-reminder>\nStop hook stopped continuation: enough\n</system-reminder>",
					"<system-reminder>\nStop hook stopped continuation: later\n</system-reminder>",
					"Stop hook feedback:\nx"}}},
		{"two contexts of a call are one reminder", hooks.PreToolUse, []Verdict{context, {Contexts: []contextText{
			{additionalContext, "more"}}}}, hooks.Outcome{Decision: hooks.Pass,
			AdditionalContext: []string{"<system-reminder>\nPreToolUse hook additional context: ctx\nmore\n</system-reminder>"},
			Messages:          []string{"<system-reminder>\nPreToolUse hook additional context: ctx\nmore\n</system-reminder>"}}},
		{"several refusals: reminders and contexts, then all feedback", hooks.Stop, []Verdict{byJSON, context,
			refusal(hooks.ToFeedback, "c1", "r1")}, hooks.Outcome{Decision: hooks.Block,
			AdditionalContext: []string{"<system-reminder>\nStop hook additional context: ctx\n</system-reminder>"},
			Feedback:          []string{"Stop hook feedback:\nr2", "Stop hook feedback:\nr1"},
			Messages: []string{"<system-reminder>\nStop hook blocking error from command: \"c2\": r2\n</system-reminder>",
				"<system-reminder>\nStop hook additional context: ctx\n</system-reminder>",
				"Stop hook feedback:\nr2", "Stop hook feedback:\nr1"}}},
		{"context on Stop", hooks.Stop, []Verdict{context}, hooks.Outcome{Decision: hooks.Pass,
			AdditionalContext: []string{"<system-reminder>\nStop hook additional context: ctx\n</system-reminder>"},
			Messages:          []string{"<system-reminder>\nStop hook additional context: ctx\n</system-reminder>"}}},
		{"a refused prompt is told to people", hooks.UserPromptSubmit, []Verdict{refusal(hooks.Refuses, "c",
			"bad words")}, hooks.Outcome{
			Decision:       hooks.Block,
			SystemMessages: []string{"UserPromptSubmit operation blocked by hook:\nbad words"}}},
		{"the strictest permission", hooks.PreToolUse, []Verdict{
			{permission: hooks.Permission{Decision: "allow", Reason: "a"}}, {permission: hooks.Permission{Decision: "ask", Reason: "b"}},
			{permission: hooks.Permission{Decision: "defer", Reason: "c"}},
			{permission: hooks.Permission{Decision: "ask", Reason: "d"}}}, hooks.Outcome{Decision: hooks.Pass, Permission: hooks.Permission{Decision: "defer",
			Reason: "c"}}},
		{"the last reason among equals", hooks.PreToolUse, []Verdict{{permission: hooks.Permission{Decision: "ask", Reason: "1"}},
			{permission: hooks.Permission{Decision: "ask", Reason: "2"}}, {permission: hooks.Permission{Decision: "allow", Reason: "3"}}}, hooks.Outcome{Decision: hooks.Pass,
			Permission: hooks.Permission{Decision: "ask", Reason: "2"}}},
		{"the first answer to a request", hooks.PermissionRequest, []Verdict{{permission: hooks.Permission{Decision: "deny", Reason: "1"}},
			{permission: hooks.Permission{Decision: "deny", Reason: "2"}}}, hooks.Outcome{Decision: hooks.Pass, Permission: hooks.Permission{Decision: "deny", Reason: "1"}}},
		{"two deny a call: the last reason alone", hooks.PreToolUse, []Verdict{denial("c1", "r1"), context, denial("c2", "r2"), {}},
			hooks.Outcome{
				Decision: hooks.Block, Permission: hooks.Permission{Decision: "deny", Reason: "r2"}, Feedback: []string{"PreToolUse hook error: r2"},
				AdditionalContext: []string{"<system-reminder>\nPreToolUse hook additional context: ctx\n</system-reminder>"},
				Messages: []string{"<system-reminder>\nPreToolUse hook additional context: ctx\n</system-reminder>",
					"PreToolUse hook error: r2"}}},
		{"the last input", hooks.PreToolUse, []Verdict{{input: json.RawMessage(`{"a":1}`)}, {},
			{input: json.RawMessage(`{"a":2}`)}},
			hooks.Outcome{Decision: hooks.Pass, UpdatedInput: json.RawMessage(`{"a":2}`)}},
		{"outputs: the last wins, watched paths add up", hooks.FileChanged, []Verdict{
			{output: map[string]json.RawMessage{"watchPaths": json.RawMessage(`["a"]`),
				"x": json.RawMessage(`1`)}},
			{output: map[string]json.RawMessage{"watchPaths": json.RawMessage(`["b"]`),
				"x": json.RawMessage(`2`)}}},
			hooks.Outcome{Decision: hooks.Pass, Output: map[string]json.RawMessage{
				"watchPaths": json.RawMessage(`["a","b"]`), "x": json.RawMessage(`2`)}}},
		{"messages for people", hooks.Stop, []Verdict{{Message: "m1"}, {Message: "m2"}}, hooks.Outcome{Decision: hooks.Pass,
			SystemMessages: []string{"m1", "m2"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Merge(hooks.InfoOf(test.event), string(test.event), test.verdicts)
			for i, m := range got.Messages {
				got.Messages[i] = hooks.Unframed(m)
				framed := got.Messages[i] != m
				if feedback := slices.Contains(got.Feedback, got.Messages[i]); framed != (feedback && got.Event != hooks.TaskCreated &&
					got.Event != hooks.PreToolUse) {
					t.Errorf("framed: %v, %q", framed, m)
				}
			}
			want := test.want
			want.Event, want.Matched = test.event, len(test.verdicts)
			for _, v := range test.verdicts {
				want.Results = append(want.Results, v.Result)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestMergeNamesTools(t *testing.T) {
	v := refusal(hooks.ToolError, "c", "[c]: no")
	if got := Merge(hooks.InfoOf(hooks.PreToolUse), "PreToolUse:Bash",
		[]Verdict{v}).Feedback[0]; got != "PreToolUse:Bash hook error: [c]: no" {
		t.Errorf("before: %q", got)
	}
	v.Refused = hooks.WithResult
	want := "<system-reminder>\nPostToolUse:Bash hook blocking error from command: \"c\": [c]: no\n</system-reminder>"
	if got := Merge(hooks.InfoOf(hooks.PostToolUse), "PostToolUse:Bash", []Verdict{v}).Feedback[0]; got != want {
		t.Errorf("after: %q", got)
	}
}

func TestOutcomeContinues(t *testing.T) {
	context := []string{"ctx"}
	for _, test := range []struct {
		out  hooks.Outcome
		want bool
	}{
		{hooks.Outcome{Event: hooks.Stop, Decision: hooks.Pass}, false},
		{hooks.Outcome{Event: hooks.Stop, Decision: hooks.Block}, true},
		{hooks.Outcome{Event: hooks.Stop, Decision: hooks.Halt, AdditionalContext: context}, false},
		{hooks.Outcome{Event: hooks.Stop, Decision: hooks.Pass, AdditionalContext: context}, true},
		{hooks.Outcome{Event: hooks.SubagentStop, Decision: hooks.Pass, AdditionalContext: context}, true},
		{hooks.Outcome{Event: hooks.TeammateIdle, Decision: hooks.Pass, AdditionalContext: context}, false},
	} {
		if got := test.out.Continues(); got != test.want {
			t.Errorf("%+v: %v", test.out, got)
		}
	}
}
