package hooks

import (
	"encoding/json"
	"reflect"
	"testing"
)

// refusal is a verdict that refuses with text, by exit code.
func refusal(how Effect, command, text string) verdict {
	return verdict{Result: Result{Command: command, Outcome: Blocking, Feedback: text}, refused: how}
}

// denial is a verdict that denies a tool call.
func denial(command, text string) verdict {
	v := refusal(ToolError, command, text)
	v.permission = Permission{Decision: "deny", Reason: text}
	return v
}

// TestMerge: what hooks decided one by one becomes one outcome. The verdicts
// stand in the order in which the hooks finished.
func TestMerge(t *testing.T) {
	byJSON := refusal(ToFeedback, "c2", "r2")
	byJSON.byAnswer = true
	halt := verdict{Result: Result{Outcome: Success}, halt: true, stop: "enough"}
	halt2 := verdict{halt: true, stop: "later"}
	context := verdict{contexts: []note{{additionalContext, "ctx"}}}
	tests := []struct {
		name     string
		event    Event
		verdicts []verdict
		want     Outcome // Results and Matched are filled in
	}{
		{"nothing", Stop, nil, Outcome{Decision: Pass}},
		{"all pass", Stop, []verdict{{}, {}}, Outcome{Decision: Pass}},
		{"one refuses", Stop, []verdict{{}, refusal(ToFeedback, "c", "[c]: no")}, Outcome{Decision: Block,
			Feedback: []string{"Stop hook feedback:\n[c]: no"},
			Messages: []string{"Stop hook feedback:\n[c]: no"}}},
		{"two refuse, in order of finish, JSON with a reminder", TeammateIdle, []verdict{byJSON,
			refusal(ToFeedback, "c1", "r1")},
			Outcome{Decision: Block,
				Feedback: []string{"TeammateIdle hook feedback:\nr2", "TeammateIdle hook feedback:\nr1"},
				Messages: []string{
					"<system-reminder>\nTeammateIdle hook blocking error from command: \"c2\": r2\n</system-reminder>",
					"TeammateIdle hook feedback:\nr2", "TeammateIdle hook feedback:\nr1"}}},
		{"a tool's refusal has no reminder", TaskCreated, []verdict{byJSON}, Outcome{Decision: Block,
			Feedback: []string{"TaskCreated hook feedback:\nr2"},
			Messages: []string{"TaskCreated hook feedback:\nr2"}}},
		{"a helper's stop is called Stop", SubagentStop, []verdict{refusal(ToFeedback, "c", "x")},
			Outcome{Decision: Block,
				Feedback: []string{"Stop hook feedback:\nx"}, Messages: []string{"Stop hook feedback:\nx"}}},
		{"a halt outweighs refusals, first", TaskCompleted, []verdict{halt, refusal(ToFeedback, "c", "x")},
			Outcome{
				Decision: Halt, StopReason: "enough", Feedback: []string{"TaskCompleted hook feedback:\nx"},
				Messages: []string{"<system-reminder>\nTaskCompleted hook stopped continuation: enough\n</system-reminder>",
					"TaskCompleted hook feedback:\nx"}}},
		{"a halt outweighs refusals, last", Stop, []verdict{refusal(ToFeedback, "c", "x"), halt, halt2},
			Outcome{
				Decision: Halt, StopReason: "enough", Feedback: []string{"Stop hook feedback:\nx"},
				Messages: []string{"Stop hook feedback:\nx",
					"<system-reminder>\nStop hook stopped continuation: enough\n</system-reminder>",
					"<system-reminder>\nStop hook stopped continuation: later\n</system-reminder>"}}},
		{"context on Stop", Stop, []verdict{context}, Outcome{Decision: Pass,
			AdditionalContext: []string{"<system-reminder>\nStop hook additional context: ctx\n</system-reminder>"},
			Messages:          []string{"<system-reminder>\nStop hook additional context: ctx\n</system-reminder>"}}},
		{"a refused prompt is told to people", UserPromptSubmit, []verdict{refusal(Refuses, "c",
			"bad words")}, Outcome{
			Decision:       Block,
			SystemMessages: []string{"UserPromptSubmit operation blocked by hook:\nbad words"}}},
		{"the strictest permission", PreToolUse, []verdict{
			{permission: Permission{"allow", "a"}}, {permission: Permission{"ask", "b"}},
			{permission: Permission{"defer", "c"}},
			{permission: Permission{"ask", "d"}}}, Outcome{Decision: Pass, Permission: Permission{"defer",
			"c"}}},
		{"the last reason among equals", PreToolUse, []verdict{{permission: Permission{"ask", "1"}},
			{permission: Permission{"ask", "2"}}, {permission: Permission{"allow", "3"}}}, Outcome{Decision: Pass,
			Permission: Permission{"ask", "2"}}},
		{"the first answer to a request", PermissionRequest, []verdict{{permission: Permission{"deny", "1"}},
			{permission: Permission{"deny", "2"}}}, Outcome{Decision: Pass, Permission: Permission{"deny", "1"}}},
		{"two deny a call: the last reason alone", PreToolUse, []verdict{denial("c1", "r1"), context, denial("c2", "r2"), {}},
			Outcome{
				Decision: Block, Permission: Permission{"deny", "r2"}, Feedback: []string{"PreToolUse hook error: r2"},
				AdditionalContext: []string{"<system-reminder>\nPreToolUse hook additional context: ctx\n</system-reminder>"},
				Messages: []string{"<system-reminder>\nPreToolUse hook additional context: ctx\n</system-reminder>",
					"PreToolUse hook error: r2"}}},
		{"the last input", PreToolUse, []verdict{{input: json.RawMessage(`{"a":1}`)}, {},
			{input: json.RawMessage(`{"a":2}`)}},
			Outcome{Decision: Pass, UpdatedInput: json.RawMessage(`{"a":2}`)}},
		{"outputs: the last wins, watched paths add up", FileChanged, []verdict{
			{output: map[string]json.RawMessage{"watchPaths": json.RawMessage(`["a"]`),
				"x": json.RawMessage(`1`)}},
			{output: map[string]json.RawMessage{"watchPaths": json.RawMessage(`["b"]`),
				"x": json.RawMessage(`2`)}}},
			Outcome{Decision: Pass, Output: map[string]json.RawMessage{
				"watchPaths": json.RawMessage(`["a","b"]`), "x": json.RawMessage(`2`)}}},
		{"messages for people", Stop, []verdict{{message: "m1"}, {message: "m2"}}, Outcome{Decision: Pass,
			SystemMessages: []string{"m1", "m2"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := merge(InfoOf(test.event), string(test.event), test.verdicts)
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
	v := refusal(ToolError, "c", "[c]: no")
	if got := merge(InfoOf(PreToolUse), "PreToolUse:Bash",
		[]verdict{v}).Feedback[0]; got != "PreToolUse:Bash hook error: [c]: no" {
		t.Errorf("before: %q", got)
	}
	v.refused = Beside
	want := "<system-reminder>\nPostToolUse:Bash hook blocking error from command: \"c\": [c]: no\n</system-reminder>"
	if got := merge(InfoOf(PostToolUse), "PostToolUse:Bash", []verdict{v}).Feedback[0]; got != want {
		t.Errorf("after: %q", got)
	}
}

func TestOutcomeContinues(t *testing.T) {
	context := []string{"ctx"}
	for _, test := range []struct {
		out  Outcome
		want bool
	}{
		{Outcome{Event: Stop, Decision: Pass}, false},
		{Outcome{Event: Stop, Decision: Block}, true},
		{Outcome{Event: Stop, Decision: Halt, AdditionalContext: context}, false},
		{Outcome{Event: Stop, Decision: Pass, AdditionalContext: context}, true},
		{Outcome{Event: SubagentStop, Decision: Pass, AdditionalContext: context}, true},
		{Outcome{Event: TeammateIdle, Decision: Pass, AdditionalContext: context}, false},
	} {
		if got := test.out.Continues(); got != test.want {
			t.Errorf("%+v: %v", test.out, got)
		}
	}
}
