package hooks

import (
	"encoding/json"
	"strings"
	"testing"
)

// end is how a hook ended, for the tables below.
func end(event Event, code int, stdout, stderr string) finding {
	return finding{name: string(event), command: "cmd", code: code, stderr: stderr,
		answer: readAnswer(event, stdout, false)}
}

// hso is a JSON answer with hookSpecificOutput for event.
func hso(event Event, fields string) string {
	return `{"hookSpecificOutput":{"hookEventName":"` + string(event) + `",` + fields + `}}`
}

// TestJudge: exit code and stdout together decide (HOOKS.md section 5).
func TestJudge(t *testing.T) {
	tests := []struct {
		name           string
		event          Event
		code           int
		stdout, stderr string
		status         Status
		refused        Effect
		feedback       string
		warning        string // part of it
	}{
		{"agrees", Stop, 0, "", "noise", Success, Ignored, "", ""},
		{"exit 2", Stop, 2, "out", " why\n", Blocking, ToFeedback, "[cmd]:  why", ""},
		{"exit 2, blank stderr", Stop, 2, "", " \n", Blocking, ToFeedback, "[cmd]: No stderr output", ""},
		{"exit 2 and a reason of its own", Stop, 2, `{"decision":"block","reason":"json"}`, "err", Blocking,
			ToFeedback, "json", ""},
		{"exit 2 and a broken answer", Stop, 2, `{"decision":7}`, "err", Blocking, ToFeedback, "[cmd]: err",
			"decision"},
		{"other code with an answer", Stop, 7, `{"decision":"block","reason":"r"}`, "", Blocking,
			ToFeedback, "r", ""},
		{"other code with an answer that agrees", Stop, 7, `{}`, "", Success, Ignored, "", ""},
		{"other code", Stop, 7, "text", "one\ntwo", NonBlockingError, Ignored, "", "status code 7: one …"},
		{"no reason", Stop, 0, `{"decision":"block"}`, "", Blocking, ToFeedback, "Blocked by hook", ""},
		{"unknown decision", Stop, 0, `{"decision":"stop"}`, "", NonBlockingError, Ignored, "",
			`decision: Invalid option: expected one of "approve"|"block"`},
		{"null is no string", Stop, 0, `{"reason":null}`, "", NonBlockingError, Ignored, "",
			"reason: expected string, received null"},
		{"exit 2 where nothing can be refused", SessionStart, 2, "", "no", NonBlockingError, Ignored, "",
			"refuses nothing"},
		{"exit 2 on Notification", Notification, 2, "", "no", NonBlockingError, Ignored, "",
			"refuses nothing"},
		{"a block where nothing can be refused", SessionStart, 0, `{"decision":"block"}`, "", Success,
			Ignored, "", "refuses nothing"},
		{"a halt where it does not count", TaskCreated, 0, `{"continue":false}`, "", Success, Ignored, "",
			"no effect on TaskCreated"},
		{"a deny", PreToolUse, 0, hso(PreToolUse, `"permissionDecision":"deny"`), "", Blocking, ToolError,
			"Blocked by hook", ""},
		{"a legacy block", PreToolUse, 0, `{"decision":"block","reason":"old"}`, "", Blocking, ToolError,
			"old", ""},
		{"after the tool", PostToolUse, 0, `{"decision":"block","reason":"late"}`, "", Blocking, Beside,
			"late", ""},
		{"a prompt", UserPromptSubmit, 2, "", "bad", Blocking, Refuses, "[cmd]: bad", ""},
		{"output for another event", PreToolUse, 0, hso(Stop, `"additionalContext":"x"`), "",
			NonBlockingError, Ignored, "",
			"expected 'PreToolUse' but got 'Stop'"},
		{"a block is not lost by output for another event", Stop, 0,
			`{"decision":"block","reason":"r","hookSpecificOutput":{"hookEventName":"PreToolUse"}}`, "",
			Blocking, ToFeedback, "r",
			"left out"},
		{"output without its event", Stop, 0, `{"hookSpecificOutput":{"additionalContext":"x"}}`, "",
			NonBlockingError, Ignored, "",
			"hookEventName"},
		{"output that is no object", Stop, 0, `{"hookSpecificOutput":"x"}`, "", NonBlockingError, Ignored,
			"", "expected object"},
		{"a field of another event", Stop, 0, hso(Stop, `"updatedInput":{}`), "", Success, Ignored, "",
			"takes no hookSpecificOutput.updatedInput"},
		{"async", Stop, 0, `{"async":true}`, "", Success, Ignored, "", "was waited for"},
		{"a worktree hook that fails", WorktreeCreate, 2, "", "no", Blocking, Refuses, "[cmd]: no", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := judge(InfoOf(test.event), &Handler{Type: "command"}, end(test.event, test.code,
				test.stdout, test.stderr))
			if v.Outcome != test.status || v.refused != test.refused || v.Feedback != test.feedback ||
				v.ExitCode != test.code {
				t.Errorf("got %s, Effect %d, feedback %q, code %d", v.Outcome, v.refused, v.Feedback,
					v.ExitCode)
			}
			if open := test.status == NonBlockingError && test.code != 2; v.FailedOpen != open {
				t.Errorf("failed open: %v", v.FailedOpen)
			}
			if !strings.Contains(v.Warning, test.warning) || test.warning == "" && v.Warning != "" {
				t.Errorf("warning %q, want %q", v.Warning, test.warning)
			}
		})
	}
}

func TestJudgeTakesOver(t *testing.T) {
	v := judge(InfoOf(PreToolUse), &Handler{}, end(PreToolUse, 0,
		hso(PreToolUse,
			`"permissionDecision":"ask","permissionDecisionReason":"hm","updatedInput":{"a":1},"additionalContext":"c"`), ""))
	if v.permission != (Permission{"ask", "hm"}) || string(v.input) != `{"a":1}` || len(v.contexts) != 1 {
		t.Errorf("%+v", v)
	}
	v = judge(InfoOf(Stop), &Handler{}, end(Stop, 2,
		`{"continue":false,"systemMessage":"m","terminalSequence":"\u0007"}`, "e"))
	if !v.halt || v.stop != "Stop hook prevented continuation" || v.message != "m" ||
		v.refused != ToFeedback ||
		string(v.output["terminalSequence"]) != `"\u0007"` {
		t.Errorf("%+v", v)
	}
	v = judge(InfoOf(PermissionRequest), &Handler{}, end(PermissionRequest, 0, hso(PermissionRequest,
		`"decision":{"behavior":"allow","updatedInput":{"command":"ls"},"updatedPermissions":[]}`), ""))
	if v.permission.Decision != "allow" || string(v.input) != `{"command":"ls"}` ||
		v.output["decision"] == nil {
		t.Errorf("%+v", v)
	}
	v = judge(InfoOf(SessionStart), &Handler{}, end(SessionStart, 0, "  plain words\n", ""))
	if len(v.contexts) != 1 || v.contexts[0] != (note{"success", "plain words"}) {
		t.Errorf("%+v", v)
	}
	v = judge(InfoOf(UserPromptSubmit), &Handler{}, end(UserPromptSubmit, 0, `{"half":`, ""))
	if len(v.contexts) != 1 || v.contexts[0].text != `{"half":` || !v.FailedOpen {
		t.Errorf("half an answer is plain text, and is counted: %+v", v)
	}
	v = judge(InfoOf(PostToolUse), &Handler{}, end(PostToolUse, 0, hso(PostToolUse,
		`"updatedToolOutput":[1]`), ""))
	if string(v.output["updatedToolOutput"]) != "[1]" {
		t.Errorf("%+v", v)
	}
}

// TestOnFailure: a hook that could not judge refuses if it says so, where the
// protocol lets it.
func TestOnFailure(t *testing.T) {
	found := finding{command: "cmd", code: -1, fault: "timed out after 1s", timedOut: true}
	strict := &Handler{OnFailure: "block"}
	if v := judge(InfoOf(PreToolUse), strict, found); v.Outcome != Blocking ||
		v.Feedback != "[cmd]: timed out after 1s" ||
		v.permission.Decision != "deny" {
		t.Errorf("PreToolUse: %+v", v)
	}
	for _, event := range []Event{Stop, TaskCompleted, TeammateIdle, SubagentStop, SessionStart} {
		if v := judge(InfoOf(event), strict, found); v.Outcome != Cancelled ||
			!strings.Contains(v.Warning, "no effect") {
			t.Errorf("%s: %+v", event, v)
		}
	}
	if v := judge(InfoOf(PreToolUse), strict, end(PreToolUse, 1, "", "oops")); v.Outcome != Blocking {
		t.Errorf("exit 1: %+v", v)
	}
	if v := judge(InfoOf(PreToolUse), strict, end(PreToolUse, 0, `{"continue":"x"}`,
		"")); v.Outcome != Blocking {
		t.Errorf("broken answer: %+v", v)
	}
	if v := judge(InfoOf(PreToolUse), strict, end(PreToolUse, 0, `{"decision":`, "")); v.Outcome != Blocking ||
		v.FailedOpen || !strings.Contains(v.Feedback, "[cmd]: stdout begins like a JSON answer") {
		t.Errorf("half an answer: %+v", v)
	}
	if v := judge(InfoOf(Stop), strict, end(Stop, 0, `{"decision":`, "")); v.Outcome != Success || !v.FailedOpen {
		t.Errorf("half an answer at the turn end: %+v", v)
	}
}

// TestJudgeGate: a gate agrees by exit code 0 alone.
func TestJudgeGate(t *testing.T) {
	tests := []struct {
		name     string
		code     int
		stdout   string
		tail     string
		fault    string
		status   Status
		halt     bool
		feedback string
	}{
		{"agrees", 0, "all fine\n", "all fine", "", Success, false, ""},
		{"any other exit", 1, "FAIL x\n", "FAIL x", "", Blocking, false, "[cmd]: FAIL x"},
		{"exit 2 like any other", 2, "o", "o\ne", "", Blocking, false, "[cmd]: o\ne"},
		{"silent", 4, "", "", "", Blocking, false, "[cmd]: exit code 4, without any output"},
		{"agrees by JSON but not by exit", 1, `{"decision":"approve"}`, `{"decision":"approve"}`, "",
			Blocking, false,
			`[cmd]: {"decision":"approve"}`},
		{"refuses by JSON", 0, `{"decision":"block","reason":"json"}`, "x", "", Blocking, false, "json"},
		{"refuses by both, with JSON's reason", 1, `{"decision":"block","reason":"json"}`, "x", "",
			Blocking, false, "json"},
		{"halts", 0, `{"continue":false}`, "x", "", Blocking, true,
			"[cmd]: TaskCompleted hook prevented continuation"},
		{"half an answer", 0, `{"decision":`, `{"decision":`, "", Blocking, false, ""},
		{"an answer of the wrong type", 0, `{"continue":"false"}`, "x", "", Blocking, false, ""},
		{"reports of a test runner", 0, "{\"Action\":\"run\"}\n{\"Action\":\"pass\"}\n", "x", "", Success,
			false, ""},
		{"two answers", 0, "{\"decision\":\"block\"}\n{\"decision\":\"block\"}\n", "x", "", Blocking, false,
			""},
		{"cannot start", -1, "", "", "cannot start x", Blocking, false, "[cmd]: cannot start x"},
		{"timed out", -1, "", "so far", "timed out after 1s", Blocking, false,
			"[cmd]: timed out after 1s\nso far"},
		{"timed out after an answer", -1, `{"decision":"approve"}`, "", "timed out after 1s", Blocking,
			false, "[cmd]: timed out after 1s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := end(TaskCompleted, test.code, test.stdout, "")
			found.tail, found.fault = test.tail, test.fault
			v := judgeGate(InfoOf(TaskCompleted), found)
			if v.Outcome != test.status || v.halt != test.halt {
				t.Errorf("got %s, halt %v: %+v", v.Outcome, v.halt, v)
			}
			if test.feedback != "" && v.Feedback != test.feedback || test.status == Blocking &&
				v.Feedback == "" {
				t.Errorf("feedback %q, want %q", v.Feedback, test.feedback)
			}
		})
	}
}

func TestReadAnswer(t *testing.T) {
	for stdout, want := range map[string]string{ // what people are told
		"":                                    "",
		"plain":                               "",
		"[1,2]":                               "",
		`"quoted"`:                            "",
		`{"a":1}`:                             "",
		" \n\t{\"decision\":\"block\"}\n ":    "",
		`{"decision":"block"} x`:              "begins like a JSON answer",
		`{`:                                   "begins like a JSON answer",
		"profile noise\n{\"decision\":\"x\"}": "counts as plain text",
		"text\n{not json}":                    "",
	} {
		a := readAnswer(Stop, stdout, false)
		if !strings.Contains(a.note, want) || want == "" && a.note != "" {
			t.Errorf("%q: note %q, want %q", stdout, a.note, want)
		}
		if a.fields == nil && a.plain != strings.TrimSpace(stdout) {
			t.Errorf("%q: plain %q", stdout, a.plain)
		}
	}
	if a := readAnswer(Stop, "{\"async\":true,\"asyncTimeout\":5}\n{\"decision\":\"block\"}",
		false); a.fields == nil || !a.fields.async {
		t.Errorf("async on the first line: %+v", a)
	}
	if a := readAnswer(Stop, `{"Continue":false,"DECISION":"block"}`, false); a.fields.halt ||
		a.fields.decision != "" {
		t.Errorf("names have one spelling: %+v", a.fields)
	}
}

// FuzzAnswer: whatever a hook prints, nothing panics, nothing is lost in
// silence, and a refusal needs a whole answer.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"decision":"block","reason":"r"}`, `{"continue":false}`,
		`{"a":`, "x\n{}", `{"async":true}` + "\n",
		hso(PreToolUse, `"permissionDecision":"deny"`), hso(PermissionRequest,
			`"decision":{"behavior":"deny"}`), "{\"a\":1}\n{\"b\":2}"} {
		f.Add(seed, 0, false)
		f.Add(seed, 2, true)
	}
	f.Fuzz(func(t *testing.T, stdout string, code int, gate bool) {
		for _, known := range catalog() {
			found := end(known.Event, code, stdout, "err")
			var v verdict
			if gate {
				v = judgeGate(&known, found)
				if code != 0 && v.refused < Refuses {
					t.Fatalf("%s: a gate agreed by exit code %d", known.Event, code)
				}
			} else {
				v = judge(&known, &Handler{Type: "command"}, found)
			}
			if v.Outcome == NonBlockingError && v.Warning == "" {
				t.Fatalf("%s: failed open in silence", known.Event)
			}
			if !gate && code == 0 && v.refused >= Refuses && !json.Valid([]byte(strings.TrimSpace(stdout))) {
				t.Fatalf("%s: refused by %q", known.Event, stdout)
			}
			merge(&known, string(known.Event), []verdict{v})
		}
	})
}
