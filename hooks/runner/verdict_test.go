package runner

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks"
)

// end is how a hook ended, for the tables below.
func end(event hooks.Event, code int, stdout, stderr string) Finding {
	return Finding{Command: "cmd", Code: code, Stderr: stderr,
		Answer: Read(event, stdout, false)}
}

// hso is a JSON answer with hookSpecificOutput for event.
func hso(event hooks.Event, fields string) string {
	return `{"hookSpecificOutput":{"hookEventName":"` + string(event) + `",` + fields + `}}`
}

// TestJudge: exit code and stdout together decide (HOOKS.md section 5).
func TestJudge(t *testing.T) {
	tests := []struct {
		name           string
		event          hooks.Event
		code           int
		stdout, stderr string
		status         hooks.Status
		refused        hooks.Effect
		feedback       string
		warning        string // part of it
	}{
		{"agrees", hooks.Stop, 0, "", "noise", hooks.Success, hooks.Ignored, "", ""},
		{"exit 2", hooks.Stop, 2, "out", " why\n", hooks.Blocking, hooks.ToFeedback, "[cmd]:  why", ""},
		{"exit 2, blank stderr", hooks.Stop, 2, "", " \n", hooks.Blocking, hooks.ToFeedback, "[cmd]: No stderr output", ""},
		{"exit 2 and a reason of its own", hooks.Stop, 2, `{"decision":"block","reason":"json"}`, "err", hooks.Blocking,
			hooks.ToFeedback, "json", ""},
		{"exit 2 and a broken answer", hooks.Stop, 2, `{"decision":7}`, "err", hooks.Blocking, hooks.ToFeedback, "[cmd]: err",
			"decision"},
		{"other code with an answer", hooks.Stop, 7, `{"decision":"block","reason":"r"}`, "", hooks.Blocking,
			hooks.ToFeedback, "r", ""},
		{"other code with an answer that agrees", hooks.Stop, 7, `{}`, "", hooks.Success, hooks.Ignored, "", ""},
		{"other code", hooks.Stop, 7, "text", "one\ntwo", hooks.NonBlockingError, hooks.Ignored, "", "status code 7: one …"},
		{"no reason", hooks.Stop, 0, `{"decision":"block"}`, "", hooks.Blocking, hooks.ToFeedback, "Blocked by hook", ""},
		{"unknown decision", hooks.Stop, 0, `{"decision":"stop"}`, "", hooks.NonBlockingError, hooks.Ignored, "",
			`decision: Invalid option: expected one of "approve"|"block"`},
		{"null is no string", hooks.Stop, 0, `{"reason":null}`, "", hooks.NonBlockingError, hooks.Ignored, "",
			"reason: expected string, received null"},
		{"exit 2 where nothing can be refused", hooks.SessionStart, 2, "", "no", hooks.NonBlockingError, hooks.Ignored, "",
			"refuses nothing"},
		{"exit 2 on Notification", hooks.Notification, 2, "", "no", hooks.NonBlockingError, hooks.Ignored, "",
			"refuses nothing"},
		{"a block where nothing can be refused", hooks.SessionStart, 0, `{"decision":"block"}`, "", hooks.Success,
			hooks.Ignored, "", "refuses nothing"},
		{"a halt where it does not count", hooks.TaskCreated, 0, `{"continue":false}`, "", hooks.Success, hooks.Ignored, "",
			"no effect on TaskCreated"},
		{"a deny", hooks.PreToolUse, 0, hso(hooks.PreToolUse, `"permissionDecision":"deny"`), "", hooks.Blocking, hooks.ToolError,
			"Blocked by hook", ""},
		{"a legacy block", hooks.PreToolUse, 0, `{"decision":"block","reason":"old"}`, "", hooks.Blocking, hooks.ToolError,
			"old", ""},
		{"after the tool", hooks.PostToolUse, 0, `{"decision":"block","reason":"late"}`, "", hooks.Blocking, hooks.WithResult,
			"late", ""},
		{"a prompt", hooks.UserPromptSubmit, 2, "", "bad", hooks.Blocking, hooks.Refuses, "[cmd]: bad", ""},
		{"output for another event", hooks.PreToolUse, 0, hso(hooks.Stop, `"additionalContext":"x"`), "",
			hooks.NonBlockingError, hooks.Ignored, "",
			"expected 'PreToolUse' but got 'Stop'"},
		{"a block is not lost by output for another event", hooks.Stop, 0,
			`{"decision":"block","reason":"r","hookSpecificOutput":{"hookEventName":"PreToolUse"}}`, "",
			hooks.Blocking, hooks.ToFeedback, "r",
			"left out"},
		{"output without its event", hooks.Stop, 0, `{"hookSpecificOutput":{"additionalContext":"x"}}`, "",
			hooks.NonBlockingError, hooks.Ignored, "",
			"hookEventName"},
		{"output that is no object", hooks.Stop, 0, `{"hookSpecificOutput":"x"}`, "", hooks.NonBlockingError, hooks.Ignored,
			"", "expected object"},
		{"a field of another event", hooks.Stop, 0, hso(hooks.Stop, `"updatedInput":{}`), "", hooks.Success, hooks.Ignored, "",
			"takes no hookSpecificOutput.updatedInput"},
		{"async", hooks.Stop, 0, `{"async":true}`, "", hooks.Success, hooks.Ignored, "", "ran in the foreground"},
		{"a worktree hook that fails", hooks.WorktreeCreate, 2, "", "no", hooks.Blocking, hooks.Refuses, "[cmd]: no", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := Judge(hooks.InfoOf(test.event), &hooks.Handler{Type: "command"}, end(test.event, test.code,
				test.stdout, test.stderr))
			if v.Outcome != test.status || v.Refused != test.refused || v.Feedback != test.feedback ||
				v.ExitCode != test.code {
				t.Errorf("got %s, Effect %d, feedback %q, code %d", v.Outcome, v.Refused, v.Feedback,
					v.ExitCode)
			}
			if open := test.status == hooks.NonBlockingError && test.code != 2; v.FailedOpen != open {
				t.Errorf("failed open: %v", v.FailedOpen)
			}
			if !strings.Contains(v.Warning, test.warning) || test.warning == "" && v.Warning != "" {
				t.Errorf("warning %q, want %q", v.Warning, test.warning)
			}
		})
	}
}

func TestJudgeTakesOver(t *testing.T) {
	v := Judge(hooks.InfoOf(hooks.PreToolUse), &hooks.Handler{}, end(hooks.PreToolUse, 0,
		hso(hooks.PreToolUse,
			`"permissionDecision":"ask","permissionDecisionReason":"hm","updatedInput":{"a":1},"additionalContext":"c"`), ""))
	if v.permission != (hooks.Permission{Decision: "ask", Reason: "hm"}) || string(v.input) != `{"a":1}` || len(v.Contexts) != 1 {
		t.Errorf("%+v", v)
	}
	v = Judge(hooks.InfoOf(hooks.Stop), &hooks.Handler{}, end(hooks.Stop, 2,
		`{"continue":false,"systemMessage":"m","terminalSequence":"\u0007"}`, "e"))
	if !v.Halt || v.stop != "Stop hook prevented continuation" || v.Message != "m" ||
		v.Refused != hooks.ToFeedback ||
		string(v.output["terminalSequence"]) != `"\u0007"` {
		t.Errorf("%+v", v)
	}
	v = Judge(hooks.InfoOf(hooks.PermissionRequest), &hooks.Handler{}, end(hooks.PermissionRequest, 0, hso(hooks.PermissionRequest,
		`"decision":{"behavior":"allow","updatedInput":{"command":"ls"},"updatedPermissions":[]}`), ""))
	if v.permission.Decision != "allow" || string(v.input) != `{"command":"ls"}` ||
		v.output["decision"] == nil {
		t.Errorf("%+v", v)
	}
	v = Judge(hooks.InfoOf(hooks.SessionStart), &hooks.Handler{}, end(hooks.SessionStart, 0, "  plain words\n", ""))
	if len(v.Contexts) != 1 || v.Contexts[0] != (contextText{"success", "plain words"}) {
		t.Errorf("%+v", v)
	}
	v = Judge(hooks.InfoOf(hooks.UserPromptSubmit), &hooks.Handler{}, end(hooks.UserPromptSubmit, 0, `{"half":`, ""))
	if len(v.Contexts) != 1 || v.Contexts[0].Text != `{"half":` || !v.FailedOpen {
		t.Errorf("half an answer is plain text, and is counted: %+v", v)
	}
	v = Judge(hooks.InfoOf(hooks.PostToolUse), &hooks.Handler{}, end(hooks.PostToolUse, 0, hso(hooks.PostToolUse,
		`"updatedToolOutput":[1]`), ""))
	if string(v.output["updatedToolOutput"]) != "[1]" {
		t.Errorf("%+v", v)
	}
}

// TestOnFailure: a hook that could not judge refuses if it says so, where the
// protocol lets it.
func TestOnFailure(t *testing.T) {
	found := Finding{Command: "cmd", Code: -1, Fault: "timed out after 1s", TimedOut: true}
	strict := &hooks.Handler{OnFailure: "block"}
	if v := Judge(hooks.InfoOf(hooks.PreToolUse), strict, found); v.Outcome != hooks.Blocking ||
		v.Feedback != "[cmd]: timed out; blocking because onFailure is \"block\"\ntimed out after 1s" ||
		v.permission.Decision != "deny" {
		t.Errorf("PreToolUse: %+v", v)
	}
	for _, event := range []hooks.Event{hooks.Stop, hooks.TaskCompleted, hooks.TeammateIdle, hooks.SubagentStop, hooks.SessionStart} {
		if v := Judge(hooks.InfoOf(event), strict, found); v.Outcome != hooks.Cancelled ||
			!strings.Contains(v.Warning, "no effect") {
			t.Errorf("%s: %+v", event, v)
		}
	}
	if v := Judge(hooks.InfoOf(hooks.PreToolUse), strict, end(hooks.PreToolUse, 1, "", "oops")); v.Outcome != hooks.Blocking ||
		v.Feedback != "[cmd]: failed; blocking because onFailure is \"block\"\noops" || strings.Contains(v.Warning, "non-blocking") {
		t.Errorf("exit 1: %+v", v)
	}
	if v := Judge(hooks.InfoOf(hooks.PreToolUse), strict, end(hooks.PreToolUse, 0, `{"continue":"x"}`,
		"")); v.Outcome != hooks.Blocking {
		t.Errorf("broken answer: %+v", v)
	}
	if v := Judge(hooks.InfoOf(hooks.PreToolUse), strict, end(hooks.PreToolUse, 0, `{"decision":`, "")); v.Outcome != hooks.Blocking ||
		v.FailedOpen || !strings.HasSuffix(v.Feedback, "is \"block\"\n{\"decision\":") {
		t.Errorf("half an answer: %+v", v)
	}
	if v := Judge(hooks.InfoOf(hooks.Stop), strict, end(hooks.Stop, 0, `{"decision":`, "")); v.Outcome != hooks.Success || !v.FailedOpen {
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
		status   hooks.Status
		halt     bool
		feedback string
	}{
		{"agrees", 0, "all fine\n", "all fine", "", hooks.Success, false, ""},
		{"any other exit", 1, "FAIL x\n", "FAIL x", "", hooks.Blocking, false, "[cmd]: FAIL x"},
		{"exit 2 like any other", 2, "o", "o\ne", "", hooks.Blocking, false, "[cmd]: o\ne"},
		{"silent", 4, "", "", "", hooks.Blocking, false, "[cmd]: exit code 4, without any output"},
		{"agrees by JSON but not by exit", 1, `{"decision":"approve"}`, `{"decision":"approve"}`, "",
			hooks.Blocking, false,
			`[cmd]: {"decision":"approve"}`},
		{"refuses by JSON", 0, `{"decision":"block","reason":"json"}`, "x", "", hooks.Blocking, false, "json"},
		{"refuses by both, with JSON's reason", 1, `{"decision":"block","reason":"json"}`, "x", "",
			hooks.Blocking, false, "json"},
		{"halts", 0, `{"continue":false}`, "x", "", hooks.Blocking, true,
			"[cmd]: TaskCompleted hook prevented continuation"},
		{"half an answer", 0, `{"decision":`, `{"decision":`, "", hooks.Blocking, false, ""},
		{"an answer of the wrong type", 0, `{"continue":"false"}`, "x", "", hooks.Blocking, false, ""},
		{"reports of a test runner", 0, "{\"Action\":\"run\"}\n{\"Action\":\"pass\"}\n", "x", "", hooks.Success,
			false, ""},
		{"two answers", 0, "{\"decision\":\"block\"}\n{\"decision\":\"block\"}\n", "x", "", hooks.Blocking, false,
			""},
		{"cannot start", -1, "", "", "cannot start x", hooks.Blocking, false, "[cmd]: cannot start x"},
		{"timed out", -1, "", "so far", "timed out after 1s", hooks.Blocking, false,
			"[cmd]: timed out after 1s\nso far"},
		{"timed out after an answer", -1, `{"decision":"approve"}`, "", "timed out after 1s", hooks.Blocking,
			false, "[cmd]: timed out after 1s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := end(hooks.TaskCompleted, test.code, test.stdout, "")
			found.Tail, found.Fault = test.tail, test.fault
			v := Gate(hooks.InfoOf(hooks.TaskCompleted), found)
			if v.Outcome != test.status || v.Halt != test.halt {
				t.Errorf("got %s, halt %v: %+v", v.Outcome, v.Halt, v)
			}
			if test.feedback != "" && v.Feedback != test.feedback || test.status == hooks.Blocking &&
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
		a := Read(hooks.Stop, stdout, false)
		if !strings.Contains(a.note, want) || want == "" && a.note != "" {
			t.Errorf("%q: note %q, want %q", stdout, a.note, want)
		}
		if a.fields == nil && a.plain != strings.TrimSpace(stdout) {
			t.Errorf("%q: plain %q", stdout, a.plain)
		}
	}
	if a := Read(hooks.Stop, "{\"async\":true,\"asyncTimeout\":5}\n{\"decision\":\"block\"}",
		false); a.fields == nil || !a.fields.async {
		t.Errorf("async on the first line: %+v", a)
	}
	if a := Read(hooks.Stop, `{"Continue":false,"DECISION":"block"}`, false); a.fields.halt ||
		a.fields.decision != "" {
		t.Errorf("names have one spelling: %+v", a.fields)
	}
}

// FuzzAnswer: whatever a hook prints, nothing panics, nothing is lost in
// silence, and a refusal needs a whole answer.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"decision":"block","reason":"r"}`, `{"continue":false}`,
		`{"a":`, "x\n{}", `{"async":true}` + "\n",
		hso(hooks.PreToolUse, `"permissionDecision":"deny"`), hso(hooks.PermissionRequest,
			`"decision":{"behavior":"deny"}`), "{\"a\":1}\n{\"b\":2}"} {
		f.Add(seed, 0, false)
		f.Add(seed, 2, true)
	}
	f.Fuzz(func(t *testing.T, stdout string, code int, gate bool) {
		for _, known := range hooks.Events() {
			found := end(known.Event, code, stdout, "err")
			var v Verdict
			if gate {
				v = Gate(&known, found)
				if code != 0 && v.Refused < hooks.Refuses {
					t.Fatalf("%s: a gate agreed by exit code %d", known.Event, code)
				}
			} else {
				v = Judge(&known, &hooks.Handler{Type: "command"}, found)
			}
			if v.Outcome == hooks.NonBlockingError && v.Warning == "" {
				t.Fatalf("%s: failed open in silence", known.Event)
			}
			if !gate && code == 0 && v.Refused >= hooks.Refuses && !json.Valid([]byte(strings.TrimSpace(stdout))) {
				t.Fatalf("%s: refused by %q", known.Event, stdout)
			}
			Merge(&known, string(known.Event), []Verdict{v})
		}
	})
}
