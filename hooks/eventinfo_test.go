package hooks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// eventRow is one row of HOOKS.md section 1, written down once more by hand: the
// test is that code and page agree.
type eventRow struct {
	event   Event
	exit2   string // "model": fed back; "result": beside the result; "tool": the call's error; "user"; "none"
	block   bool   // decision:block refuses
	halt    bool   // continue:false counts
	plain   bool   // plain stdout is context
	context bool   // additionalContext counts
	mode    bool   // permission_mode is sent
	types   string // the handler types that run: c, h, m, p, a
}

func eventRows() []eventRow {
	const all, some, few = "chmpa", "chm", "cm"
	return []eventRow{
		{SessionStart, "none", false, false, true, true, false, few},
		{Setup, "none", false, false, false, true, false, few},
		{SessionEnd, "none", false, false, false, false, false, some},
		{UserPromptSubmit, "user", true, true, true, true, true, all},
		{UserPromptExpansion, "user", true, true, true, true, true, all},
		{PreToolUse, "tool", true, true, false, true, true, all},
		{PermissionRequest, "none", false, false, false, false, true, all},
		{PermissionDenied, "none", false, false, false, false, true, all},
		{PostToolUse, "result", true, true, false, true, true, all},
		{PostToolUseFailure, "result", true, true, false, true, true, all},
		{PostToolBatch, "result", true, true, false, true, true, all},
		{Notification, "none", false, false, false, false, false, some},
		{MessageDisplay, "none", false, false, false, false, false, some},
		{SubagentStart, "none", false, false, false, true, false, some},
		{SubagentStop, "model", true, true, false, true, true, all},
		{Stop, "model", true, true, false, true, true, all},
		{StopFailure, "none", false, false, false, false, false, some},
		{TeammateIdle, "model", true, true, false, false, true, all},
		{TaskCreated, "model", true, false, false, false, false, all},
		{TaskCompleted, "model", true, true, false, false, true, all},
		{PreCompact, "user", true, false, false, false, false, some},
		{PostCompact, "none", false, false, false, false, false, some},
		{PreModelSwitch, "user", true, false, false, false, false, some},
		{PostModelSwitch, "none", false, false, false, true, false, some},
		{ConfigChange, "user", true, false, false, false, false, some},
		{InstructionsLoaded, "none", false, false, false, false, false, some},
		{CwdChanged, "none", false, false, false, false, false, some},
		{DirectoryAdded, "none", false, false, false, false, false, some},
		{FileChanged, "none", false, false, false, false, false, some},
		{WorktreeCreate, "user", false, false, false, false, false, some},
		{WorktreeRemove, "none", false, false, false, false, false, some},
		{Elicitation, "user", false, false, false, false, false, some},
		{ElicitationResult, "user", false, false, false, false, false, some},
	}
}

// decide judges one answer and merges it, as a run with one hook does.
func decide(event Event, code int, stdout, stderr string) Outcome {
	known := InfoOf(event)
	v := judge(known, &Handler{Type: "command"}, end(event, code, stdout, stderr))
	v.Command = "cmd"
	return merge(known, string(event), []verdict{v})
}

// TestEveryEventOnExit2: who reads what a hook says, and whether it refuses.
func TestEveryEventOnExit2(t *testing.T) {
	for _, row := range eventRows() {
		out := decide(row.event, 2, "", "why")
		var want string
		switch row.exit2 {
		case "model":
			want = strings.Replace(string(row.event), "SubagentStop", "Stop", 1) + " hook feedback:\n[cmd]: why"
		case "tool":
			want = string(row.event) + " hook error: [cmd]: why"
		case "result":
			want = reminder(string(row.event) + ` hook blocking error from command: "cmd": [cmd]: why`)
		}
		if got := strings.Join(out.Feedback, "|"); got != want {
			t.Errorf("%s: feedback %q, want %q", row.event, got, want)
		}
		if (out.Decision == Block) != (row.exit2 != "none") {
			t.Errorf("%s: decision %s", row.event, out.Decision)
		}
		if told := len(out.SystemMessages) == 1; told != (row.exit2 == "user") {
			t.Errorf("%s: people are told %q", row.event, out.SystemMessages)
		}
		if r := out.Results[0]; row.exit2 == "none" && (r.Outcome != NonBlockingError || !strings.Contains(r.Warning, "why")) {
			t.Errorf("%s: result %+v", row.event, r)
		}
	}
}

// discards reports whether nobody reads what the event's hooks say for people.
func discards(event Event) bool {
	return slices.Contains([]Event{SessionEnd, Notification, StopFailure, PreCompact}, event)
}

// TestEveryEventOnAnswers: which fields of a JSON answer count where.
func TestEveryEventOnAnswers(t *testing.T) {
	for _, row := range eventRows() {
		out := decide(row.event, 0, `{"decision":"block","reason":"r"}`, "")
		if (out.Decision == Block) != row.block || (out.Results[0].Warning == "") != row.block {
			t.Errorf("%s, block: %s, warning %q", row.event, out.Decision, out.Results[0].Warning)
		}
		out = decide(row.event, 0, `{"continue":false,"stopReason":"enough"}`, "")
		if (out.Decision == Halt) != row.halt || (out.StopReason == "enough") != row.halt ||
			(out.Results[0].Warning == "") != row.halt {
			t.Errorf("%s, halt: %s %q, warning %q", row.event, out.Decision, out.StopReason, out.Results[0].Warning)
		}
		out = decide(row.event, 0, "plain words\n", "")
		if (len(out.AdditionalContext) == 1) != row.plain {
			t.Errorf("%s, plain: %q", row.event, out.AdditionalContext)
		}
		out = decide(row.event, 0, hso(row.event, `"additionalContext":"ctx"`), "")
		want := []string{reminder(string(row.event) + " hook additional context: ctx")}
		if row.context && !slices.Equal(out.AdditionalContext, want) || !row.context && out.AdditionalContext != nil {
			t.Errorf("%s, context: %q", row.event, out.AdditionalContext)
		}
		out = decide(row.event, 0, `{"systemMessage":"m"}`, "")
		if told := slices.Equal(out.SystemMessages, []string{"m"}); told == discards(row.event) {
			t.Errorf("%s, message: %q", row.event, out.SystemMessages)
		}
	}
}

// TestEveryEventsInput: permission_mode goes where it was recorded.
func TestEveryEventsInput(t *testing.T) {
	for _, row := range eventRows() {
		wire, err := Input{Common: Common{PermissionMode: "plan"}, Payload: RawPayload{Name: row.event}}.Wire()
		if err != nil || strings.Contains(string(wire), "permission_mode") != row.mode {
			t.Errorf("%s: %s, %v", row.event, wire, err)
		}
	}
}

// TestEveryEventsTypes: a type that an event does not run is a mistake.
func TestEveryEventsTypes(t *testing.T) {
	for _, row := range eventRows() {
		for _, handlerType := range HandlerTypes() {
			text := checkType(InfoOf(row.event), handlerType)
			runs := strings.Contains(row.types, handlerType[:1])
			switch {
			case !runs && !strings.Contains(text, fmt.Sprintf("%s runs no %s hooks", row.event, handlerType)):
				t.Errorf("%s, %s: %q", row.event, handlerType, text)
			case runs && text != "":
				t.Errorf("%s, %s: %q", row.event, handlerType, text)
			}
		}
	}
	if rows := eventRows(); len(rows) != len(catalog()) {
		t.Errorf("%d rows for %d events", len(rows), len(catalog()))
	}
}

// TestSpecificOutputs: each field of hookSpecificOutput is checked by type and
// reaches the outcome.
func TestSpecificOutputs(t *testing.T) {
	tests := []struct {
		event     Event
		good, bad string
		output    string // the field that Output then holds; "": it has a field of its own
	}{
		{SessionStart, `"initialUserMessage":"hi"`, `"initialUserMessage":1`, "initialUserMessage"},
		{SessionStart, `"watchPaths":["a"]`, `"watchPaths":"a"`, "watchPaths"},
		{SessionStart, `"watchPaths":[]`, `"watchPaths":[1]`, "watchPaths"},
		{SessionStart, `"reloadSkills":true`, `"reloadSkills":"yes"`, "reloadSkills"},
		{UserPromptSubmit, `"sessionTitle":"t"`, `"sessionTitle":[]`, "sessionTitle"},
		{UserPromptSubmit, `"suppressOriginalPrompt":true`, `"suppressOriginalPrompt":1`, "suppressOriginalPrompt"},
		{PreToolUse, `"permissionDecision":"defer"`, `"permissionDecision":"maybe"`, ""},
		{PreToolUse, `"updatedInput":{}`, `"updatedInput":[]`, ""},
		{PreModelSwitch, `"permissionDecision":"ask"`, `"permissionDecision":"defer"`, ""},
		{PermissionDenied, `"retry":true`, `"retry":"true"`, "retry"},
		{PermissionRequest, `"decision":{"behavior":"deny","message":"no"}`, `"decision":"deny"`, "decision"},
		{PermissionRequest, `"decision":{"behavior":"allow","updatedPermissions":[]}`, `"decision":{"behavior":"maybe"}`, "decision"},
		{PermissionRequest, `"decision":{"behavior":"deny","interrupt":true}`, `"decision":{}`, "decision"},
		{PostToolUse, `"updatedToolOutput":5`, `"additionalContext":5`, "updatedToolOutput"},
		{PostToolUse, `"updatedMCPToolOutput":[]`, `"classifierContext":[]`, "updatedMCPToolOutput"},
		{MessageDisplay, `"displayContent":"x"`, `"displayContent":{}`, "displayContent"},
		{FileChanged, `"watchPaths":["x","y"]`, `"watchPaths":null`, "watchPaths"},
		{WorktreeCreate, `"worktreePath":"/w"`, `"worktreePath":7`, "worktreePath"},
		{Elicitation, `"action":"accept"`, `"action":"maybe"`, "action"},
		{Elicitation, `"content":{"a":1}`, `"content":"a"`, "content"},
	}
	for _, test := range tests {
		out := decide(test.event, 0, hso(test.event, test.good), "")
		if r := out.Results[0]; r.Outcome == NonBlockingError || r.Warning != "" {
			t.Errorf("%s %s: %+v", test.event, test.good, r)
		}
		if test.output != "" && out.Output[test.output] == nil {
			t.Errorf("%s %s is not in Output", test.event, test.good)
		}
		out = decide(test.event, 0, hso(test.event, test.bad), "")
		r := out.Results[0]
		if r.Outcome != NonBlockingError || !strings.Contains(r.Warning, "validation failed — hookSpecificOutput.") || out.Output != nil {
			t.Errorf("%s %s: %+v", test.event, test.bad, r)
		}
	}
}
