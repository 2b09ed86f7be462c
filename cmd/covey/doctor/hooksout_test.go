package doctor

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/coveyteam/covey/hooks"
)

// TestFiredWire holds `covey hooks run` to its one object, byte for
// byte: every field, in its order, empty or not.
func TestFiredWire(t *testing.T) {
	for _, tc := range []struct {
		name    string
		outcome hooks.Outcome
		want    string
	}{
		{"nothing matched", hooks.Outcome{Event: hooks.Stop, ToolUseID: "id"},
			`{"event":"Stop","tool_use_id":"id","matched":0,"results":[],"decision":"pass","feedback":[],"stop_reason":"",` +
				`"additional_context":[],"system_messages":[],"permission":{"decision":"","reason":""},"updated_input":null,"output":{}}`},
		{"everything", hooks.Outcome{
			Event: hooks.PreToolUse, ToolUseID: "toolu_1", Matched: 2, Decision: hooks.Halt,
			Results: []hooks.Result{{
				Type: "command", Command: "./a <b>", Outcome: hooks.Blocking, ExitCode: 2, Duration: 1500 * time.Microsecond,
				Stdout: "o", Stderr: "e\x1b", Feedback: "f", Warning: "w",
			}},
			Feedback: []string{"Stop hook feedback:\nno & no"}, StopReason: "enough", AdditionalContext: []string{"c"},
			SystemMessages: []string{"m"}, Permission: hooks.Permission{Decision: "deny", Reason: "r"},
			UpdatedInput: json.RawMessage(`{"command":"ls"}`), Output: map[string]json.RawMessage{"retry": json.RawMessage("true")},
		}, `{"event":"PreToolUse","tool_use_id":"toolu_1","matched":2,"results":[{"type":"command","command":"./a \u003cb\u003e",` +
			`"outcome":"blocking","exit_code":2,"duration_ms":1,"stdout":"o","stderr":"e\u001b"}],"decision":"stop",` +
			`"feedback":["Stop hook feedback:\nno \u0026 no"],"stop_reason":"enough","additional_context":["c"],"system_messages":["m"],` +
			`"permission":{"decision":"deny","reason":"r"},"updated_input":{"command":"ls"},"output":{"retry":true}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := json.Marshal(fired(tc.outcome))
			if err != nil || strings.TrimSpace(string(got)) != tc.want {
				t.Errorf("got\n%s\nwant\n%s (%v)", got, tc.want, err)
			}
		})
	}
}

// TestAbsentPolicy: fired by hand, a policy refuses and says why.
func TestAbsentPolicy(t *testing.T) {
	r := absentPolicy("report-sent")(t.Context(), hooks.Input{})
	if r.Outcome == hooks.Success || !strings.Contains(r.Feedback, "report-sent looks at a running team") {
		t.Errorf("%+v", r)
	}
}

func TestUnknownEvent(t *testing.T) {
	if got := unknownEvent("PreTooluse").Error(); !strings.Contains(got, "did you mean PreToolUse?") {
		t.Errorf("a near one: %s", got)
	}
	if got := unknownEvent("Xyzzyxyzzyxyzzyxyzzy").Error(); !strings.Contains(got, "covey hooks list --events") {
		t.Errorf("a far one: %s", got)
	}
}
