package runner

import (
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// eventRow is one row of HOOKS.md section 1, written down once more by hand: the
// test is that code and page agree.
type eventRow struct {
	event   hooks.Event
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
		{hooks.SessionStart, "none", false, false, true, true, false, few},
		{hooks.Setup, "none", false, false, false, true, false, few},
		{hooks.SessionEnd, "none", false, false, false, false, false, some},
		{hooks.UserPromptSubmit, "user", true, true, true, true, true, all},
		{hooks.UserPromptExpansion, "user", true, true, true, true, true, all},
		{hooks.PreToolUse, "tool", true, true, false, true, true, all},
		{hooks.PermissionRequest, "none", false, false, false, false, true, all},
		{hooks.PermissionDenied, "none", false, false, false, false, true, all},
		{hooks.PostToolUse, "result", true, true, false, true, true, all},
		{hooks.PostToolUseFailure, "result", true, false, false, true, true, all},
		{hooks.PostToolBatch, "result", true, true, false, true, true, all},
		{hooks.Notification, "none", false, false, false, true, false, some},
		{hooks.MessageDisplay, "none", false, false, false, false, false, some},
		{hooks.SubagentStart, "none", false, false, false, true, false, some},
		{hooks.SubagentStop, "model", true, true, false, true, true, all},
		{hooks.Stop, "model", true, true, false, true, true, all},
		{hooks.StopFailure, "none", false, false, false, false, false, some},
		{hooks.TeammateIdle, "model", true, true, false, false, true, all},
		{hooks.TaskCreated, "model", true, false, false, false, false, all},
		{hooks.TaskCompleted, "model", true, true, false, false, true, all},
		{hooks.PreCompact, "user", true, false, false, false, false, some},
		{hooks.PostCompact, "none", false, false, false, false, false, some},
		{hooks.PreModelSwitch, "user", true, false, false, false, false, some},
		{hooks.PostModelSwitch, "none", false, false, false, true, false, some},
		{hooks.ConfigChange, "user", true, false, false, false, false, some},
		{hooks.InstructionsLoaded, "none", false, false, false, false, false, some},
		{hooks.CwdChanged, "none", false, false, false, false, false, some},
		{hooks.DirectoryAdded, "none", false, false, false, false, false, some},
		{hooks.FileChanged, "none", false, false, false, false, false, some},
		{hooks.WorktreeCreate, "user", false, false, false, false, false, some},
		{hooks.WorktreeRemove, "none", false, false, false, false, false, some},
		{hooks.Elicitation, "user", false, false, false, false, false, some},
		{hooks.ElicitationResult, "user", false, false, false, false, false, some},
	}
}

// decide judges one answer and merges it, as a run with one hook does.
func decide(event hooks.Event, code int, stdout, stderr string) hooks.Outcome {
	known := hooks.InfoOf(event)
	v := Judge(known, &hooks.Handler{Type: "command"}, end(event, code, stdout, stderr))
	v.Command = "cmd"
	return Merge(known, string(event), []Verdict{v})
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
			want = Reminder(string(row.event) + ` hook blocking error from command: "cmd": [cmd]: why`)
		}
		if got := strings.Join(out.Feedback, "|"); got != want {
			t.Errorf("%s: feedback %q, want %q", row.event, got, want)
		}
		if (out.Decision == hooks.Block) != (row.exit2 != "none") {
			t.Errorf("%s: decision %s", row.event, out.Decision)
		}
		if told := len(out.SystemMessages) == 1; told != (row.exit2 == "user") {
			t.Errorf("%s: people are told %q", row.event, out.SystemMessages)
		}
		if r := out.Results[0]; row.exit2 == "none" && (r.Outcome != hooks.NonBlockingError || !strings.Contains(r.Warning, "why")) {
			t.Errorf("%s: result %+v", row.event, r)
		}
	}
}

// discards reports whether nobody reads what the event's hooks say for people.
func discards(event hooks.Event) bool {
	return slices.Contains([]hooks.Event{hooks.SessionEnd, hooks.Notification, hooks.StopFailure, hooks.PreCompact}, event)
}

// TestEveryEventOnAnswers: which fields of a JSON answer count where.
func TestEveryEventOnAnswers(t *testing.T) {
	for _, row := range eventRows() {
		out := decide(row.event, 0, `{"decision":"block","reason":"r"}`, "")
		if (out.Decision == hooks.Block) != row.block || (out.Results[0].Warning == "") != row.block {
			t.Errorf("%s, block: %s, warning %q", row.event, out.Decision, out.Results[0].Warning)
		}
		out = decide(row.event, 0, `{"continue":false,"stopReason":"enough"}`, "")
		if (out.Decision == hooks.Halt) != row.halt || (out.StopReason == "enough") != row.halt ||
			(out.Results[0].Warning == "") != row.halt {
			t.Errorf("%s, halt: %s %q, warning %q", row.event, out.Decision, out.StopReason, out.Results[0].Warning)
		}
		out = decide(row.event, 0, "plain words\n", "")
		if (len(out.AdditionalContext) == 1) != row.plain {
			t.Errorf("%s, plain: %q", row.event, out.AdditionalContext)
		}
		out = decide(row.event, 0, hso(row.event, `"additionalContext":"ctx"`), "")
		want := []string{Reminder(string(row.event) + " hook additional context: ctx")}
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
		wire, err := hooks.Input{Common: hooks.Common{PermissionMode: "plan"}, Payload: hooks.RawPayload{Name: row.event}}.Wire()
		if err != nil || strings.Contains(string(wire), "permission_mode") != row.mode {
			t.Errorf("%s: %s, %v", row.event, wire, err)
		}
	}
}

// TestSpecificOutputs: each field of hookSpecificOutput is checked by type and
// reaches the outcome.
func TestSpecificOutputs(t *testing.T) {
	tests := []struct {
		event     hooks.Event
		good, bad string
		output    string // the field that Output then holds; "": it has a field of its own
	}{
		{hooks.SessionStart, `"initialUserMessage":"hi"`, `"initialUserMessage":1`, "initialUserMessage"},
		{hooks.SessionStart, `"watchPaths":["a"]`, `"watchPaths":"a"`, "watchPaths"},
		{hooks.SessionStart, `"watchPaths":[]`, `"watchPaths":[1]`, "watchPaths"},
		{hooks.SessionStart, `"reloadSkills":true`, `"reloadSkills":"yes"`, "reloadSkills"},
		{hooks.UserPromptSubmit, `"sessionTitle":"t"`, `"sessionTitle":[]`, "sessionTitle"},
		{hooks.UserPromptSubmit, `"suppressOriginalPrompt":true`, `"suppressOriginalPrompt":1`, "suppressOriginalPrompt"},
		{hooks.PreToolUse, `"permissionDecision":"defer"`, `"permissionDecision":"maybe"`, ""},
		{hooks.PreToolUse, `"updatedInput":{}`, `"updatedInput":[]`, ""},
		{hooks.PreModelSwitch, `"permissionDecision":"ask"`, `"permissionDecision":"defer"`, ""},
		{hooks.PermissionDenied, `"retry":true`, `"retry":"true"`, "retry"},
		{hooks.PermissionRequest, `"decision":{"behavior":"deny","message":"no"}`, `"decision":"deny"`, "decision"},
		{hooks.PermissionRequest, `"decision":{"behavior":"allow","updatedPermissions":[]}`, `"decision":{"behavior":"maybe"}`, "decision"},
		{hooks.PermissionRequest, `"decision":{"behavior":"deny","interrupt":true}`, `"decision":{}`, "decision"},
		{hooks.PostToolUse, `"updatedToolOutput":5`, `"additionalContext":5`, "updatedToolOutput"},
		{hooks.PostToolUse, `"updatedMCPToolOutput":[]`, `"classifierContext":[]`, "updatedMCPToolOutput"},
		{hooks.MessageDisplay, `"displayContent":"x"`, `"displayContent":{}`, "displayContent"},
		{hooks.FileChanged, `"watchPaths":["x","y"]`, `"watchPaths":null`, "watchPaths"},
		{hooks.WorktreeCreate, `"worktreePath":"/w"`, `"worktreePath":7`, "worktreePath"},
		{hooks.Elicitation, `"action":"accept"`, `"action":"maybe"`, "action"},
		{hooks.Elicitation, `"content":{"a":1}`, `"content":"a"`, "content"},
	}
	for _, test := range tests {
		out := decide(test.event, 0, hso(test.event, test.good), "")
		if r := out.Results[0]; r.Outcome == hooks.NonBlockingError || r.Warning != "" {
			t.Errorf("%s %s: %+v", test.event, test.good, r)
		}
		if test.output != "" && out.Output[test.output] == nil {
			t.Errorf("%s %s is not in Output", test.event, test.good)
		}
		out = decide(test.event, 0, hso(test.event, test.bad), "")
		r := out.Results[0]
		if r.Outcome != hooks.NonBlockingError || !strings.Contains(r.Warning, "validation failed — hookSpecificOutput.") || out.Output != nil {
			t.Errorf("%s %s: %+v", test.event, test.bad, r)
		}
	}
}

// TestEveryEventsTypes: the handler types that each event runs.
func TestEveryEventsTypes(t *testing.T) {
	for _, row := range eventRows() {
		for _, handlerType := range hooks.HandlerTypes() {
			runs := strings.Contains(row.types, handlerType[:1])
			if hooks.InfoOf(row.event).Takes(handlerType) != runs {
				t.Errorf("%s takes %s: %t", row.event, handlerType, !runs)
			}
		}
	}
	if rows := eventRows(); len(rows) != len(hooks.Events()) {
		t.Errorf("%d rows for %d events", len(rows), len(hooks.Events()))
	}
}
